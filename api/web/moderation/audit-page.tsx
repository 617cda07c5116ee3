import type { Child } from 'hono/jsx';
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
import type { UserVisit } from '../request/visit.ts';
import { Frame, type Handler, pathOfTab } from './frame.tsx';
import { findNamedPlayer } from './named-people.ts';
import { PlayerLink } from './player-link.tsx';

const PATH = pathOfTab('audit');
const ENTRIES_PER_PAGE = 50;

/** The audit log: who changed what, newest first. */
export const showAudit: Handler = async (deps, visit) => {
  const { db, site } = deps;
  const parameters = visit.url.searchParams;
  const [whoText, whomText] = [readSearchText(parameters, 'who'), readSearchText(parameters, 'whom')];
  const action = AUDIT_ACTIONS.find((each) => each === parameters.get('action'));
  const day = readDay(parameters, 'day');
  const { timeZone } = visit;
  const who = await findNamedPlayer(deps, whoText, visit);
  const whom = await findNamedPlayer(deps, whomText, visit);
  const people = [who, whom];
  const page = tryParseRowId(parameters.get('page')) ?? 1;
  const filter = {
    who: who.steamId64,
    whom: whom.steamId64,
    action,
    day: day === '' ? undefined : { from: startOfDay(day, timeZone), to: endOfDay(day, timeZone) },
  };
  const offset = (page - 1) * ENTRIES_PER_PAGE;
  const [total, entries] = people.some(({ hasNoMatch }) => hasNoMatch)
    ? [0, []]
    : await Promise.all([
        countAuditEntries(db, filter),
        listAuditEntries(db, filter, { limit: ENTRIES_PER_PAGE, offset }),
      ]);
  const subjects = entries.flatMap(({ subject }) => tryParseSteamId(subject) ?? []);
  const users = await listUsersBySteamId(db, subjects, visit.now);
  const { moderation: t, penalties } = textsOf(visit.language);
  const columns = t.auditColumns;
  const actions: Record<string, string> = t.actions;
  return (
    <Frame site={site} visit={visit} tab="audit">
      <Card id="audit" title={t.tabs.audit} icon="info">
        <form method="get" action={PATH} class="search">
          <div class="filters">
            <SearchField name="who" label={columns.who} value={whoText} />
            <SearchField name="whom" label={columns.whom} value={whomText} />
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
        <PlayerChoice candidates={who.candidates} parameter="who" visit={visit} />
        <PlayerChoice candidates={whom.candidates} parameter="whom" visit={visit} />
        <ListTable
          rows={entries}
          empty={
            total === 0 &&
            people.every(({ candidates }) => candidates.length === 0) &&
            (people.some(({ isUnresolved }) => isUnresolved) ? t.unresolved : penalties.nothingFound)
          }
          columns={[
            [columns.what, ({ action: name }) => actions[name] ?? name],
            [columns.who, ({ actor }) => <ActorLink actor={actor} visit={visit} />, 'list-words'],
            [columns.whom, (entry) => <Subject entry={entry} users={users} visit={visit} />, 'list-words'],
            [
              columns.details,
              ({ details }) => <span>{joinParts(describe(details, visit))}</span>,
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

function ActorLink({ actor, visit }: { actor: AuditEntry['actor']; visit: UserVisit }): JSX.Element {
  if (typeof actor === 'object') return <PlayerLink {...actor} visit={visit} />;
  return <span class="hint">{textsOf(visit.language).moderation.actors[actor ?? 'operator']}</span>;
}

type SubjectProps = { entry: AuditEntry; users: readonly User[]; visit: UserVisit };

function Subject({ entry, users, visit }: SubjectProps): JSX.Element {
  const steamId64 = tryParseSteamId(entry.subject);
  if (steamId64) {
    const user = users.find((candidate) => candidate.steamId64 === steamId64);
    return <PlayerLink steamId64={steamId64} nickname={user?.nickname} visit={visit} />;
  }
  if (isAboutErasedPlayer(entry)) {
    return <span class="hint">{textsOf(visit.language).moderation.erasedPlayer}</span>;
  }
  return <span>{entry.subject}</span>;
}

/** `name: stats website · expires: 19 Feb 2027, 03:27 UTC` */
function joinParts(parts: readonly Child[]): Child {
  return parts.map((part, index) => [index > 0 && ' · ', part]);
}

/** The pages to which ids in details lead. */
const PAGES_OF_IDS: Record<string, string> = {
  penaltyId: pathOfTab('penalties'),
  appealId: pathOfTab('appeals'),
};

/** Describes each detail, such as `name: stats website`, in the order of the labels, without empty lists. */
function describe(details: Record<string, unknown>, visit: Clock): Child[] {
  const { moderation, account } = textsOf(visit.language);
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
    .map(([key, value]) => {
      const text = `${labels[key] ?? key}: ${describeValue(key, value, visit)}`;
      const page = PAGES_OF_IDS[key];
      return page === undefined ? text : <a href={`${page}/${value}`}>{text}</a>;
    });
}

function describeValue(key: string, value: unknown, visit: Clock): string {
  const { moderation, webhooks } = textsOf(visit.language);
  if (typeof value === 'boolean') return moderation.booleans[value ? 'true' : 'false'];
  // Without types, a webhook receives all events.
  if (value === null && key === 'types') return webhooks.allTypes;
  if (value === null && key === 'expiresAt') return moderation.neverExpires;
  if (value === null) return '–';
  const text = Array.isArray(value) ? value.join(', ') : String(value);
  const isInstant = /^\d{4}-\d{2}-\d{2}T[\d:.]+Z$/.test(text);
  return isInstant ? formatInstant(visit, new Date(text)) : isolate(text);
}
