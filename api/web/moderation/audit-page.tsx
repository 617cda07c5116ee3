import type { JSX } from 'hono/jsx/jsx-runtime';
import type { Db } from '../../../src/db/client.ts';
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
import type { Site } from '../layout/layout.tsx';
import { ListTable } from '../layout/list-table.tsx';
import { formatInstant } from '../layout/locales/locale.ts';
import { textsOf } from '../layout/locales/texts.ts';
import { FullMoment } from '../layout/moment.tsx';
import {
  addressWith,
  MAX_SEARCH_LENGTH,
  readDay,
  readSearchText,
  SearchButton,
  SelectField,
} from '../layout/search-form.tsx';
import { findNamedPlayer, type NamedPlayer, PlayerChoice } from '../penalties/player-choice.tsx';
import type { MemberRoute } from '../request/member-route.ts';
import { tryParsePositive } from '../request/numbers.ts';
import { respondWithPage } from '../request/page-response.ts';
import type { MemberVisit } from '../request/visit.ts';
import { Frame, OlderPages } from './frame.tsx';
import { PlayerLink } from './player-link.tsx';

export type AuditDeps = { db: Db; site: Site };

const PATH = '/account/moderation/audit';
const ENTRIES_PER_PAGE = 50;

/** Route of the audit log: who changed what, newest first. */
export function auditRoutes(deps: AuditDeps): MemberRoute[] {
  return [{ method: 'GET', path: '/moderation/audit', handle: (visit) => showAudit(deps, visit) }];
}

async function showAudit({ db, site }: AuditDeps, visit: MemberVisit): Promise<Response> {
  const given = visit.url.searchParams;
  const before = tryParsePositive(given.get('before'));
  const filter: Filter = {
    person: readSearchText(given, 'person'),
    action: AUDIT_ACTIONS.find((action) => action === given.get('action')),
    day: readDay(given, 'day'),
  };
  const person = await findNamedPlayer(db, filter.person, { now: visit.now, scope: 'all' });
  const found = person.hasNoMatch
    ? []
    : await listAuditEntries(db, {
        person: person.steamId64,
        action: filter.action,
        day: filter.day === '' ? undefined : new Date(filter.day),
        before,
        limit: ENTRIES_PER_PAGE + 1,
      });
  const entries = found.slice(0, ENTRIES_PER_PAGE);
  const subjects = entries.flatMap(({ subject }) => tryParseSteamId(subject) ?? []);
  return respondWithPage(
    <AuditPage
      site={site}
      visit={visit}
      filter={filter}
      person={person}
      entries={entries}
      users={await listUsersBySteamId(db, subjects, visit.now)}
      hasOlder={found.length > ENTRIES_PER_PAGE}
      isNewest={before === undefined}
    />,
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

function addressOf({ person, action, day }: Filter, before?: string): string {
  return addressWith(PATH, { person, action, day, before });
}

type AuditProps = {
  site: Site;
  visit: MemberVisit;
  filter: Filter;
  person: NamedPlayer;
  entries: AuditEntry[];
  /** The users among the subjects. */
  users: readonly User[];
  hasOlder: boolean;
  isNewest: boolean;
};

/** A page of the audit log, newest entries first. */
function AuditPage(props: AuditProps): JSX.Element {
  const { site, visit, filter, person, entries, users, hasOlder, isNewest } = props;
  const t = textsOf(visit.locale).moderation;
  const last = entries.at(-1);
  return (
    <Frame site={site} visit={visit} tab="audit">
      <Card id="audit" title={t.tabs.audit} icon="info">
        <FilterForm filter={filter} visit={visit} />
        <PlayerChoice
          candidates={person.candidates}
          addressOf={(steamId64) => addressOf({ ...filter, person: steamId64 })}
          visit={visit}
        />
        {entries.length === 0 && person.candidates.length === 0 && (
          <p class="empty">{addressOf(filter) === PATH ? t.noEntries : t.nobody}</p>
        )}
        {entries.length > 0 && <AuditTable entries={entries} users={users} visit={visit} />}
        <OlderPages
          label={t.tabs.audit}
          newest={isNewest ? undefined : { href: addressOf(filter), label: t.newest }}
          older={hasOlder && last ? { href: addressOf(filter, String(last.id)), label: t.older } : undefined}
        />
      </Card>
    </Frame>
  );
}

function FilterForm({ filter, visit }: { filter: Filter; visit: MemberVisit }): JSX.Element {
  const { moderation: t, penalties } = textsOf(visit.locale);
  return (
    <form method="get" action={PATH} class="search">
      <div class="filters">
        <div class="field">
          <label for="person">{penalties.search}</label>
          <input
            id="person"
            name="person"
            type="search"
            value={filter.person}
            maxlength={MAX_SEARCH_LENGTH}
            autocomplete="off"
          />
        </div>
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

type TableProps = Pick<AuditProps, 'entries' | 'users' | 'visit'>;

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
  const known = AUDIT_ACTIONS.find((name) => name === action);
  return known ? textsOf(locale).moderation.actions[known] : action;
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
