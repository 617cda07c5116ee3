import type { JSX } from 'hono/jsx/jsx-runtime';
import { USER_FLAG_NAMES, USER_FLAGS } from '../../../src/domain/rights/user-flags.ts';
import { tryParseSteamId } from '../../../src/domain/steam-id.ts';
import { isolate } from '../../../src/domain/text/isolate.ts';
import { endOfDay, startOfDay } from '../../../src/domain/time-zone.ts';
import {
  AUDIT_ACTIONS,
  type AuditEntry,
  countAuditEntries,
  isAboutErasedPlayer,
  listAuditEntries,
} from '../../../src/queries/audit-log.ts';
import { listUsersBySteamId, type User } from '../../../src/queries/users/users.ts';
import { Card } from '../layout/card.tsx';
import { SelectField, TextField } from '../layout/form-fields.tsx';
import { ListTable } from '../layout/list-table.tsx';
import { FullMoment } from '../layout/moment.tsx';
import { PagesNav } from '../layout/pages-nav.tsx';
import { readDay, readSearchText, SearchButton, SearchField } from '../layout/search-form.tsx';
import { type Clock, formatInstant } from '../locales/locale.ts';
import { textsOf } from '../locales/texts.ts';
import { PlayerChoice } from '../penalties/player-choice.tsx';
import { tryParseRowId } from '../request/numbers.ts';
import type { MemberVisit } from '../request/visit.ts';
import { Frame, type Handler, pathOfTab } from './frame.tsx';
import { findNamedPlayer } from './named-people.ts';
import { PlayerLink } from './player-link.tsx';

const PATH = pathOfTab('audit');
const ENTRIES_PER_PAGE = 50;

/** The audit log: who changed what, newest first. */
export const showAudit: Handler = async (deps, visit) => {
  const { db, site } = deps;
  const parameters = visit.url.searchParams;
  const personText = readSearchText(parameters, 'person');
  const action = AUDIT_ACTIONS.find((each) => each === parameters.get('action'));
  const day = readDay(parameters, 'day');
  const { timeZone } = visit;
  const person = await findNamedPlayer(deps, personText, visit);
  const page = tryParseRowId(parameters.get('page')) ?? 1;
  const filter = {
    person: person.steamId64,
    action,
    day: day === '' ? undefined : { from: startOfDay(day, timeZone), to: endOfDay(day, timeZone) },
  };
  const offset = (page - 1) * ENTRIES_PER_PAGE;
  const [total, entries] = person.hasNoMatch
    ? [0, []]
    : await Promise.all([
        countAuditEntries(db, filter),
        listAuditEntries(db, filter, { limit: ENTRIES_PER_PAGE, offset }),
      ]);
  const subjects = entries.flatMap(({ subject }) => tryParseSteamId(subject) ?? []);
  const users = await listUsersBySteamId(db, subjects, visit.now);
  const { moderation: t, penalties } = textsOf(visit.locale);
  const columns = t.auditColumns;
  const actions: Record<string, string> = t.actions;
  return (
    <Frame site={site} visit={visit} tab="audit">
      <Card id="audit" title={t.tabs.audit} icon="info">
        <form method="get" action={PATH} class="search">
          <div class="filters">
            <SearchField name="person" label={penalties.search} value={personText} />
            <SelectField
              name="action"
              label={columns.what}
              options={[['', t.anyAction], ...AUDIT_ACTIONS.map((each) => [each, t.actions[each]] as const)]}
              value={action}
            />
            <TextField name="day" label={t.day(visit.timeZone)} type="date" value={day} />
          </div>
          <SearchButton label={penalties.find} />
        </form>
        <PlayerChoice candidates={person.candidates} parameter="person" visit={visit} />
        <ListTable
          rows={entries}
          empty={
            total === 0 &&
            person.candidates.length === 0 &&
            (person.isUnresolved ? t.unresolved : penalties.nothingFound)
          }
          columns={[
            [columns.what, ({ action: name }) => actions[name] ?? name],
            [columns.who, ({ actor }) => <ActorLink actor={actor} visit={visit} />, 'list-words'],
            [columns.whom, (entry) => <Subject entry={entry} users={users} visit={visit} />, 'list-words'],
            [
              columns.details,
              ({ details }) => <span>{describe(details, visit)}</span>,
              ({ details }) => (Object.keys(details).length > 0 ? 'details' : 'list-nothing'),
            ],
            [columns.at, ({ at }) => <FullMoment at={at} visit={visit} />],
          ]}
        />
        <PagesNav visit={visit} page={page} lastPage={Math.ceil(total / ENTRIES_PER_PAGE)} />
      </Card>
    </Frame>
  );
};

function ActorLink({ actor, visit }: { actor: AuditEntry['actor']; visit: MemberVisit }): JSX.Element {
  if (typeof actor === 'object') return <PlayerLink {...actor} visit={visit} />;
  return <span class="hint">{textsOf(visit.locale).moderation.actors[actor ?? 'operator']}</span>;
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

/** Formats details as `name: stats website · expires: 19 Feb 2027, 03:27 UTC`, in the order of the labels, without empty lists. */
function describe(details: Record<string, unknown>, visit: Clock): string {
  const { moderation, account } = textsOf(visit.locale);
  const flags = USER_FLAG_NAMES.map((name) => [name, account.badges[USER_FLAGS[name]]] as const);
  const labels: Record<string, string> = {
    ...moderation.detailLabels,
    ...account.badges,
    ...Object.fromEntries(flags),
  };
  const keys = Object.keys(labels);
  // Unknown keys come first.
  const placeOf = ([key]: [string, unknown]) => keys.indexOf(key);
  return Object.entries(details)
    .filter(([, value]) => !(Array.isArray(value) && value.length === 0))
    .sort((a, b) => placeOf(a) - placeOf(b))
    .map(([key, value]) => `${labels[key] ?? key}: ${describeValue(key, value, visit)}`)
    .join(' · ');
}

function describeValue(key: string, value: unknown, visit: Clock): string {
  const { moderation, webhooks } = textsOf(visit.locale);
  if (typeof value === 'boolean') return moderation.booleans[value ? 'true' : 'false'];
  // Without types, a webhook receives all events.
  if (value === null && key === 'types') return webhooks.allTypes;
  if (value === null && key === 'expiresAt') return moderation.neverExpires;
  if (value === null) return '–';
  const text = Array.isArray(value) ? value.join(', ') : String(value);
  const isInstant = /^\d{4}-\d{2}-\d{2}T[\d:.]+Z$/.test(text);
  return isInstant ? formatInstant(visit, new Date(text)) : isolate(text);
}
