import type { JSX } from 'hono/jsx/jsx-runtime';
import { NotFound } from '../../../src/domain/errors.ts';
import { findPanelUrl } from '../../../src/domain/panel.ts';
import {
  isLiftedByRemoval,
  knownEnd,
  lifterNameOf,
  liftReasonOf,
  PENALTY_TYPES,
  serverNameOf,
} from '../../../src/domain/penalty.ts';
import { type SteamId64, UNKNOWN_STEAM_ID } from '../../../src/domain/steam-id.ts';
import { isolate } from '../../../src/domain/text/isolate.ts';
import { hasVisibleCharacter } from '../../../src/domain/text/visible-text.ts';
import { endOfDay, startOfDay } from '../../../src/domain/time-zone.ts';
import { listAppealsWithPenalties } from '../../../src/queries/appeals/queue.ts';
import { searchAdmins } from '../../../src/queries/penalties/admins.ts';
import { REASON_LENGTH } from '../../../src/queries/penalties/filter.ts';
import { findPendingLift } from '../../../src/queries/penalties/lifts.ts';
import { listPenalties } from '../../../src/queries/penalties/list.ts';
import { findPenalty, PENALTY_SORTS, type Penalty } from '../../../src/queries/penalties/row.ts';
import { listPenaltyServers, type PenaltyServer, shownNameOf } from '../../../src/queries/servers/servers.ts';
import { Card } from '../layout/card.tsx';
import { type Fact, Facts } from '../layout/facts.tsx';
import { SelectField, TextField } from '../layout/form-fields.tsx';
import { ListTable } from '../layout/list-table.tsx';
import { FullMoment, Moment } from '../layout/moment.tsx';
import { PagesNav } from '../layout/pages-nav.tsx';
import { MoreFilters, readDay, readSearchText, SearchButton, SearchField } from '../layout/search-form.tsx';
import { textsOf } from '../locales/texts.ts';
import {
  AdminName,
  lengthOf,
  numberedType,
  PenaltyStatusText,
  PlayerOfPenalty,
  ReasonText,
  readPenaltyFilter,
  ShortStatus,
  statusOptions,
} from '../penalties/penalty-words.tsx';
import { type NamedPlayer, PlayerChoice } from '../penalties/player-choice.tsx';
import { parsePenaltyId, tryParseRowId } from '../request/numbers.ts';
import type { UserVisit } from '../request/visit.ts';
import { AppealsCard } from './appeal-links.tsx';
import { Frame, type Handler, pathOfPenalty, pathOfTab, type Show } from './frame.tsx';
import { LiftCard } from './lifts.tsx';
import { findNamedPlayer } from './named-people.ts';
import { pathOfPlayer } from './player-link.tsx';
import { NotesCard } from './staff-notes.tsx';

const PATH = pathOfTab('penalties');
const PENALTIES_PER_PAGE = 50;
const DAY_PARAMETERS = { createdFrom: 'created_from', createdTo: 'created_to' } as const;

/** The path of the list of penalties that an admin gave. */
export function pathOfPenaltiesBy(steamId64: SteamId64): string {
  return `${PATH}?admin=${steamId64}`;
}

/** The list of all penalties, with the filters of the API. */
export const showPenalties: Handler = async (deps, visit) => {
  const { db, site } = deps;
  const { now, timeZone } = visit;
  const filter = readFilter(visit.url.searchParams);
  const [player, admin, servers] = await Promise.all([
    findNamedPlayer(deps, filter.player, visit),
    findNamedPlayer(deps, filter.admin, visit, searchAdmins),
    listPenaltyServers(db),
  ]);
  const problem = findProblem(filter, visit);
  const { rows: penalties, total } =
    problem !== undefined || player.hasNoMatch || admin.hasNoMatch
      ? { rows: [], total: 0 }
      : await listPenalties(
          db,
          {
            types: filter.types.length === 0 ? undefined : filter.types,
            status: filter.status,
            serverId: filter.serverId,
            playerSteamId: player.steamId64,
            adminSteamId: admin.steamId64,
            createdFrom: filter.createdFrom === '' ? undefined : startOfDay(filter.createdFrom, timeZone),
            createdTo: filter.createdTo === '' ? undefined : endOfDay(filter.createdTo, timeZone),
            reason: filter.reason === '' ? undefined : filter.reason,
          },
          { page: filter.page, perPage: PENALTIES_PER_PAGE, sort: filter.sort, now },
        );
  const { moderation, records, penalties: t } = textsOf(visit.language);
  const serverNames = new Map(servers.map(({ id, name }) => [id, name]));
  const nameOfServer = (serverId: number) =>
    serverNameOf({ serverId, serverName: serverNames.get(serverId) }) ?? t.noServer;
  const isAmbiguous = player.candidates.length + admin.candidates.length > 0;
  return (
    <Frame site={site} visit={visit} tab="penalties">
      <Card id="list" title={moderation.tabs.penalties} icon="shield" aside={!isAmbiguous && t.count(total)}>
        <FilterForm filter={filter} servers={servers} visit={visit} />
        <PlayerChoice candidates={player.candidates} parameter="player" visit={visit} />
        <PlayerChoice
          candidates={admin.candidates}
          lead={records.severalAdmins}
          parameter="admin"
          visit={visit}
        />
        <RecordLink {...player} otherName={penalties[0]?.playerName} visit={visit} />
        <RecordLink {...admin} otherName={penalties[0]?.adminName} visit={visit} />
        <ListTable
          isDense
          rows={penalties}
          empty={
            !isAmbiguous &&
            (problem ?? (player.isUnresolved || admin.isUnresolved ? moderation.unresolved : t.nothingFound))
          }
          columns={[
            [
              t.columns.player,
              (penalty) => <PlayerOfPenalty penalty={penalty} pathOf={pathOfPlayer} visit={visit} />,
              'list-words',
            ],
            [t.columns.type, (penalty) => <a href={pathOfPenalty(penalty)}>{numberedType(penalty, t)}</a>],
            [t.columns.reason, ({ reason }) => <ReasonText reason={reason} visit={visit} />, 'list-words'],
            [t.columns.status, (penalty) => <ShortStatus penalty={penalty} visit={visit} />],
            [t.columns.admin, (penalty) => <AdminName penalty={penalty} visit={visit} />, 'list-words'],
            [t.columns.issued, ({ createdAt }) => <Moment at={createdAt} visit={visit} />],
            [t.columns.server, ({ serverId }) => <bdi>{nameOfServer(serverId)}</bdi>, 'list-words'],
          ]}
        />
        <PagesNav visit={visit} page={filter.page} lastPage={Math.ceil(total / PENALTIES_PER_PAGE)} />
      </Card>
    </Frame>
  );
};

type Filter = ReturnType<typeof readFilter>;

/** The filters as they were entered; empty texts do not filter. */
function readFilter(parameters: URLSearchParams) {
  const server = parameters.get('server_id');
  return {
    ...readPenaltyFilter(parameters),
    player: readSearchText(parameters, 'player'),
    admin: readSearchText(parameters, 'admin'),
    serverId: server === '0' ? 0 : tryParseRowId(server),
    createdFrom: readDay(parameters, DAY_PARAMETERS.createdFrom),
    createdTo: readDay(parameters, DAY_PARAMETERS.createdTo),
    reason: readSearchText(parameters, 'reason'),
    sort: PENALTY_SORTS.find((sort) => sort === parameters.get('sort')) ?? '-created',
  };
}

/** Why a filter can match nothing, for the visitor; undefined if it can. */
function findProblem(
  { createdFrom, createdTo, reason }: Filter,
  { language }: UserVisit,
): string | undefined {
  const t = textsOf(language).records;
  if (createdFrom !== '' && createdTo !== '' && createdFrom > createdTo) return t.fromAfterTo;
  return reason !== '' && [...reason].length < REASON_LENGTH.minimum ? t.reasonTooShort : undefined;
}

type RecordProps = Pick<NamedPlayer, 'steamId64' | 'name'> & {
  /** The name to show for a player who was not found by name. */
  otherName: string | undefined;
  visit: UserVisit;
};

function RecordLink({ steamId64, otherName = '', name = otherName, visit }: RecordProps): JSX.Element | null {
  if (steamId64 === undefined) return null;
  const shownName = hasVisibleCharacter(name) ? isolate(name) : steamId64;
  return (
    <p>
      <a href={pathOfPlayer({ steamId64 })}>{textsOf(visit.language).records.recordOf(shownName)}</a>
    </p>
  );
}

type FormProps = { filter: Filter; servers: readonly PenaltyServer[]; visit: UserVisit };

/** The filters by player and admin, and the others in a section that can be opened, and is open if one of them is set. */
function FilterForm({ filter, servers, visit }: FormProps): JSX.Element {
  const { records, penalties: t } = textsOf(visit.language);
  const { types, status, serverId, createdFrom, createdTo, reason, sort } = filter;
  const isRestSet =
    types.length > 0 ||
    serverId !== undefined ||
    sort !== '-created' ||
    [status, createdFrom, createdTo, reason].some(Boolean);
  return (
    <form method="get" action={PATH} class="search search-people">
      {(['player', 'admin'] as const).map((name) => (
        <SearchField name={name} label={records[name]} value={filter[name]} />
      ))}
      <SearchButton label={t.find} />
      <MoreFilters isOpen={isRestSet} visit={visit}>
        <fieldset class="flags">
          <legend>{records.types}</legend>
          {PENALTY_TYPES.map((type) => (
            <label class="check">
              <input type="checkbox" name="type" value={type} checked={types.includes(type)} />
              <span>{t.types[type]}</span>
            </label>
          ))}
        </fieldset>
        <SelectField name="status" label={t.columns.status} options={statusOptions(t)} value={status} />
        <SelectField
          name="server_id"
          id="server"
          label={t.columns.server}
          options={[
            ['', records.everyServer],
            ...servers.map(({ id, name }) => [String(id), name ?? `#${id}`] as const),
            ['0', t.noServer],
          ]}
          value={serverId?.toString()}
        />
        {(['createdFrom', 'createdTo'] as const).map((name) => (
          <TextField
            name={DAY_PARAMETERS[name]}
            id={name}
            label={records[name](visit.timeZone)}
            type="date"
            value={filter[name]}
          />
        ))}
        <TextField
          name="reason"
          label={records.reason}
          value={reason}
          maxlength={REASON_LENGTH.maximum}
          autocomplete="off"
        />
        <SelectField
          name="sort"
          label={records.sort}
          options={PENALTY_SORTS.map((each) => [each, records.sorts[each]] as const)}
          value={sort}
        />
      </MoreFilters>
    </form>
  );
}

/** All that is known about a penalty: also who lifted it and why, and its source. */
export const showPenalty: Show = async ({ db, site, panels, appeals, lifts }, visit, { id }) => {
  const details = await findPenalty(db, parsePenaltyId(id), visit.now);
  if (!details) throw new NotFound('no such penalty');
  const { penalty, server } = details;
  const { playerSteamId } = penalty;
  const ownAppeals = await listAppealsWithPenalties(db, { playerSteamId, penaltyId: penalty.id }, visit.now);
  const { penalties: t, records } = textsOf(visit.language);
  const { penalty: words } = records;
  const title = numberedType(penalty, t);
  const endsAt = knownEnd(penalty, visit.now);
  const end: Fact = [
    penalty.status === 'EXPIRED' ? words.ended : words.ends,
    endsAt && <FullMoment at={endsAt} visit={visit} />,
  ];
  const panelUrl = findPanelUrl(panels, penalty);
  const serverName = serverNameOf({
    serverId: penalty.serverId,
    serverName: server && shownNameOf(server),
  });
  return (
    <Frame site={site} visit={visit} cards={['penalty', 'notes']} tab="penalties" title={title}>
      <Card id="penalty" title={title} icon="shield" notice={visit.notice}>
        <p class="lead">
          <PenaltyStatusText penalty={penalty} visit={visit} />
        </p>
        <Facts
          class="facts facts-inline"
          facts={[
            [t.columns.player, <PlayerOfPenalty penalty={penalty} pathOf={pathOfPlayer} visit={visit} />],
            [t.columns.reason, <ReasonText reason={penalty.reason} visit={visit} />],
            [
              t.columns.admin,
              linkToAdmin(penalty.adminSteamId, <AdminName penalty={penalty} visit={visit} />),
            ],
            [t.columns.issued, <FullMoment at={penalty.createdAt} visit={visit} />],
            [words.duration, lengthOf(penalty, visit)],
            ...(isLiftedByRemoval(penalty)
              ? []
              : penalty.status === 'UNBANNED'
                ? factsOfLifting(penalty, visit)
                : [end]),
            [t.columns.server, <bdi>{serverName ?? t.noServer}</bdi>],
            [
              words.source,
              <>
                {penalty.source === null ? words.noSource : <code>{penalty.source}</code>}
                {penalty.goneAt && <span class="hint"> {words.removed}</span>}
              </>,
            ],
          ]}
        />
        {panelUrl !== undefined && (
          <p>
            <a class="button button-quiet" href={panelUrl} rel="noreferrer noopener">
              {words.panel}
            </a>
          </p>
        )}
      </Card>
      <LiftCard
        lifts={lifts}
        penalty={penalty}
        pending={await findPendingLift(db, penalty.id)}
        visit={visit}
      />
      {appeals && <AppealsCard rows={ownAppeals} visit={visit} />}
      {appeals && penalty.playerSteamId !== UNKNOWN_STEAM_ID && (
        <NotesCard
          db={db}
          subject={{ steamId64: penalty.playerSteamId, penaltyId: penalty.id }}
          path={pathOfPenalty(penalty)}
          visit={visit}
        />
      )}
    </Frame>
  );
};

/** When a penalty was lifted, by whom and why: only what its source recorded about that. */
function factsOfLifting(penalty: Penalty, visit: UserVisit): Fact[] {
  const { penalties: t, records } = textsOf(visit.language);
  const { penalty: words } = records;
  const notRecorded = <span class="hint">{words.notRecorded}</span>;
  const nameOrHint = (text: string) => (hasVisibleCharacter(text) ? <bdi>{text}</bdi> : notRecorded);
  const lifter = nameOrHint(lifterNameOf(penalty, t));
  return [
    [words.lifted, penalty.liftedAt ? <FullMoment at={penalty.liftedAt} visit={visit} /> : notRecorded],
    [words.liftedBy, linkToAdmin(penalty.liftedBySteamId ?? UNKNOWN_STEAM_ID, lifter)],
    [words.liftReason, nameOrHint(liftReasonOf(penalty))],
  ];
}

/** A name with a link to the record of its SteamID, if there is one. */
export function linkToAdmin(steamId64: SteamId64, name: JSX.Element): JSX.Element {
  if (steamId64 === UNKNOWN_STEAM_ID) return name;
  return <a href={pathOfPlayer({ steamId64 })}>{name}</a>;
}
