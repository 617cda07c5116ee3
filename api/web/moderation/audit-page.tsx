import type { JSX } from 'hono/jsx/jsx-runtime';
import type { Language } from '../../../src/domain/language.ts';
import { tryParseSteamId } from '../../../src/domain/steam-id.ts';
import { isolate } from '../../../src/domain/text/isolate.ts';
import {
  AUDIT_ACTIONS,
  type AuditAction,
  type AuditEntry,
  isAboutErasedPlayer,
  listAuditEntries,
} from '../../../src/queries/audit-log.ts';
import { listUsersBySteamId, type User } from '../../../src/queries/users/users.ts';
import { Card } from '../layout/card.tsx';
import { SelectField } from '../layout/form-fields.tsx';
import { ListTable } from '../layout/list-table.tsx';
import { formatInstant } from '../layout/locales/locale.ts';
import { textsOf } from '../layout/locales/texts.ts';
import { FullMoment } from '../layout/moment.tsx';
import { addressWith, readDay, readSearchText, SearchButton, SearchField } from '../layout/search-form.tsx';
import { findNamedPlayer, PlayerChoice } from '../penalties/player-choice.tsx';
import { tryParsePositive } from '../request/numbers.ts';
import { respondWithPage } from '../request/page-response.ts';
import type { MemberVisit } from '../request/visit.ts';
import { Frame, type ModerationDeps, OlderPages, pathOfTab, toPage } from './frame.tsx';
import { PlayerLink } from './player-link.tsx';

const PATH = pathOfTab('audit');
const ENTRIES_PER_PAGE = 50;

/** The audit log: who changed what, newest first. */
export async function showAudit({ db, site }: ModerationDeps, visit: MemberVisit): Promise<Response> {
  const parameters = visit.url.searchParams;
  const before = tryParsePositive(parameters.get('before'));
  const filter: Filter = {
    person: readSearchText(parameters, 'person'),
    action: AUDIT_ACTIONS.find((action) => action === parameters.get('action')),
    day: readDay(parameters, 'day'),
  };
  const person = await findNamedPlayer(db, filter.person, { now: visit.now, scope: 'all' });
  const entries = person.hasNoMatch
    ? []
    : await listAuditEntries(db, {
        person: person.steamId64,
        action: filter.action,
        day: filter.day === '' ? undefined : new Date(filter.day),
        before,
        limit: ENTRIES_PER_PAGE + 1,
      });
  const list = toPage(entries, { before, size: ENTRIES_PER_PAGE });
  const subjects = list.rows.flatMap(({ subject }) => tryParseSteamId(subject) ?? []);
  const users = await listUsersBySteamId(db, subjects, visit.now);
  const t = textsOf(visit.locale).moderation;
  return respondWithPage(
    <Frame site={site} visit={visit} tab="audit">
      <Card id="audit" title={t.tabs.audit} icon="info">
        <FilterForm filter={filter} visit={visit} />
        <PlayerChoice
          candidates={person.candidates}
          addressOf={(steamId64) => addressOf({ ...filter, person: steamId64 })}
          visit={visit}
        />
        {list.rows.length === 0 && person.candidates.length === 0 && (
          <p class="empty">{addressOf(filter) === PATH ? t.noEntries : t.nobody}</p>
        )}
        {list.rows.length > 0 && <AuditTable entries={list.rows} users={users} visit={visit} />}
        <OlderPages
          list={list}
          label={t.tabs.audit}
          words={t}
          addressOf={(before) => addressOf(filter, before)}
        />
      </Card>
    </Frame>,
  );
}

/** The filters as they were entered; empty texts do not filter. */
type Filter = {
  /** Part of a name, a SteamID or a profile address. */
  person: string;
  action: AuditAction | undefined;
  /** In UTC: `2026-11-21`. */
  day: string;
};

function addressOf({ person, action, day }: Filter, before?: number): string {
  return addressWith(PATH, { person, action, day, before });
}

function FilterForm({ filter, visit }: { filter: Filter; visit: MemberVisit }): JSX.Element {
  const { moderation: t, penalties } = textsOf(visit.locale);
  return (
    <form method="get" action={PATH} class="search">
      <div class="filters">
        <SearchField name="person" label={penalties.search} value={filter.person} />
        <SelectField
          name="action"
          label={t.auditColumns.what}
          options={[
            ['', t.anyAction],
            ...AUDIT_ACTIONS.map((action) => [action, t.actions[action]] as const),
          ]}
          chosen={filter.action}
        />
        <div class="field">
          <label for="day">{t.day}</label>
          <input id="day" name="day" type="date" value={filter.day} />
        </div>
      </div>
      <SearchButton label={t.search} />
    </form>
  );
}

type TableProps = { entries: AuditEntry[]; users: readonly User[]; visit: MemberVisit };

function AuditTable({ entries, users, visit }: TableProps): JSX.Element {
  const t = textsOf(visit.locale).moderation;
  return (
    <ListTable
      rows={entries}
      columns={[
        [t.auditColumns.what, ({ action }) => actionText(action, visit.locale)],
        [
          t.auditColumns.who,
          ({ actor }) =>
            typeof actor === 'object' ? (
              <PlayerLink {...actor} visit={visit} />
            ) : (
              <span class="hint">{t.actors[actor ?? 'operator']}</span>
            ),
          'list-words',
        ],
        [t.auditColumns.whom, (entry) => <Subject entry={entry} users={users} visit={visit} />, 'list-words'],
        [
          t.auditColumns.details,
          ({ details }) => <span>{describe(details, visit.locale)}</span>,
          ({ details }) => (Object.keys(details).length > 0 ? 'details' : 'list-nothing'),
        ],
        [t.auditColumns.at, ({ at }) => <FullMoment at={at} locale={visit.locale} />],
      ]}
    />
  );
}

type SubjectProps = { entry: AuditEntry; users: readonly User[]; visit: MemberVisit };

function Subject({ entry, users, visit }: SubjectProps): JSX.Element {
  const steamId64 = tryParseSteamId(entry.subject);
  if (steamId64) {
    const user = users.find((candidate) => candidate.steamId64 === steamId64);
    return <PlayerLink steamId64={steamId64} nickname={user?.nickname} visit={visit} />;
  }
  if (isAboutErasedPlayer(entry)) {
    return <span class="hint">{textsOf(visit.locale).moderation.erasedPlayer}</span>;
  }
  return <span>{entry.subject}</span>;
}

function actionText(action: string, locale: Language): string {
  const knownAction = AUDIT_ACTIONS.find((name) => name === action);
  return knownAction ? textsOf(locale).moderation.actions[knownAction] : action;
}

/** Formats details as `name: stats website · expires: 19 Feb 2027, 03:27 UTC`, in the order of the labels, without empty lists. */
function describe(details: Record<string, unknown>, locale: Language): string {
  const labels: Record<string, string> = textsOf(locale).moderation.detailLabels;
  const keys = Object.keys(labels);
  // Unknown keys come first.
  const placeOf = ([key]: [string, unknown]) => keys.indexOf(key);
  return Object.entries(details)
    .filter(([, value]) => !(Array.isArray(value) && value.length === 0))
    .sort((a, b) => placeOf(a) - placeOf(b))
    .map(([key, value]) => `${labels[key] ?? key}: ${describeValue(key, value, locale)}`)
    .join(' · ');
}

function describeValue(key: string, value: unknown, locale: Language): string {
  const { moderation, webhooks } = textsOf(locale);
  if (typeof value === 'boolean') return moderation.booleans[value ? 'true' : 'false'];
  // Without types, a webhook receives all events.
  if (value === null && key === 'types') return webhooks.allTypes;
  if (value === null && key === 'expiresAt') return moderation.neverExpires;
  if (value === null) return '–';
  const text = Array.isArray(value) ? value.join(', ') : String(value);
  const isInstant = /^\d{4}-\d{2}-\d{2}T[\d:.]+Z$/.test(text);
  return isInstant ? formatInstant(locale, new Date(text)) : isolate(text);
}
