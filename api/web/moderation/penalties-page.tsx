import type { JSX } from 'hono/jsx/jsx-runtime';
import type { Db } from '../../../src/db/client.ts';
import {
  PENALTY_STATUSES,
  PENALTY_TYPES,
  type PenaltyStatus,
  type PenaltyType,
  serverNameOf,
} from '../../../src/domain/penalty.ts';
import type { SteamId64 } from '../../../src/domain/steam-id.ts';
import { isolate } from '../../../src/domain/text/isolate.ts';
import { lastMomentOf } from '../../../src/domain/text/timestamp.ts';
import { hasVisibleCharacter } from '../../../src/domain/text/visible-text.ts';
import { searchAdmins } from '../../../src/queries/penalties/admins.ts';
import { REASON_LENGTH } from '../../../src/queries/penalties/filter.ts';
import { listPenalties } from '../../../src/queries/penalties/list.ts';
import { PENALTY_SORTS, type Penalty, type PenaltySort } from '../../../src/queries/penalties/row.ts';
import { listPenaltyServers, type PenaltyServer } from '../../../src/queries/servers/servers.ts';
import { Card } from '../layout/card.tsx';
import { SelectField } from '../layout/form-fields.tsx';
import { ListTable } from '../layout/list-table.tsx';
import { textsOf } from '../layout/locales/texts.ts';
import { Moment } from '../layout/moment.tsx';
import { PagesNav } from '../layout/pages-nav.tsx';
import {
  addressWith,
  MAX_SEARCH_LENGTH,
  readDay,
  readSearchText,
  SearchButton,
  SearchField,
} from '../layout/search-form.tsx';
import {
  AdminName,
  numberedType,
  PenaltyStatusText,
  PlayerOfPenalty,
  ReasonText,
} from '../penalties/penalty-words.tsx';
import {
  findNamedPlayer,
  findOne,
  isCustomAddress,
  type NamedPlayer,
  PlayerChoice,
} from '../penalties/player-choice.tsx';
import { tryParseRowId } from '../request/numbers.ts';
import { respondWithPage } from '../request/page-response.ts';
import type { MemberVisit } from '../request/visit.ts';
import { Frame, type ModerationDeps, pathOfTab } from './frame.tsx';
import { pathOfPlayer } from './player-link.tsx';

const PATH = pathOfTab('penalties');
const PENALTIES_PER_PAGE = 50;
const MAX_ADMINS = 25;
const DAY_PARAMETERS = { createdFrom: 'created_from', createdTo: 'created_to' } as const;

/** The path of a penalty's page. */
export function pathOfPenalty({ id }: { id: number }): string {
  return `${PATH}/${id}`;
}

/** The path of the list of penalties that an admin gave. */
export function pathOfPenaltiesBy(steamId64: SteamId64): string {
  return `${PATH}?admin=${steamId64}`;
}

/** The filters as they were entered; empty texts do not filter. */
type Filter = {
  /** Part of a name, a SteamID or a profile address. */
  player: string;
  admin: string;
  types: PenaltyType[];
  status: PenaltyStatus | undefined;
  serverId: number | undefined;
  /** The first and the last day on which penalties were created, in UTC: `2026-11-21`. */
  createdFrom: string;
  createdTo: string;
  reason: string;
  sort: PenaltySort;
  page: number;
};

/** The list of all penalties, with the filters of the API. */
export async function showPenalties({ db, site }: ModerationDeps, visit: MemberVisit): Promise<Response> {
  const { now } = visit;
  const filter = readFilter(visit.url.searchParams);
  const [player, admin, servers] = await Promise.all([
    findNamedPlayer(db, filter.player, { now, scope: 'all' }),
    findNamedAdmin(db, filter.admin),
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
            createdFrom: filter.createdFrom === '' ? undefined : new Date(filter.createdFrom),
            createdTo: filter.createdTo === '' ? undefined : lastMomentOf(new Date(filter.createdTo)),
            reason: filter.reason === '' ? undefined : filter.reason,
          },
          { page: filter.page, perPage: PENALTIES_PER_PAGE, sort: filter.sort, now },
        );
  const { moderation, records, penalties: t } = textsOf(visit.locale);
  const isAmbiguous = player.candidates.length + admin.candidates.length > 0;
  return respondWithPage(
    <Frame site={site} visit={visit} tab="penalties">
      <Card
        id="list"
        title={moderation.tabs.penalties}
        icon="shield"
        {...(!isAmbiguous && { aside: t.count(total) })}
      >
        <FilterForm filter={filter} servers={servers} visit={visit} />
        <PlayerChoice
          candidates={player.candidates}
          addressOf={(steamId64) => addressOf({ ...filter, player: steamId64, page: 1 })}
          visit={visit}
        />
        <PlayerChoice
          candidates={admin.candidates}
          lead={records.severalAdmins}
          addressOf={(steamId64) => addressOf({ ...filter, admin: steamId64, page: 1 })}
          visit={visit}
        />
        {player.steamId64 !== undefined && (
          <RecordLink
            steamId64={player.steamId64}
            name={player.name ?? penalties[0]?.playerName}
            visit={visit}
          />
        )}
        {admin.steamId64 !== undefined && (
          <RecordLink
            steamId64={admin.steamId64}
            name={admin.name ?? penalties[0]?.adminName}
            visit={visit}
          />
        )}
        {!isAmbiguous && penalties.length === 0 && (
          <p class="empty">
            {problem ??
              ([filter.player, filter.admin].some(isCustomAddress) ? t.customAddress : t.nothingFound)}
          </p>
        )}
        {penalties.length > 0 && <PenaltyTable penalties={penalties} servers={servers} visit={visit} />}
        <PagesNav
          visit={visit}
          page={filter.page}
          lastPage={Math.max(1, Math.ceil(total / PENALTIES_PER_PAGE))}
          addressOf={(page) => addressOf({ ...filter, page })}
        />
      </Card>
    </Frame>,
  );
}

async function findNamedAdmin(db: Db, text: string): Promise<NamedPlayer> {
  return findOne(text, async () => {
    const admins = await searchAdmins(db, text, { limit: MAX_ADMINS });
    return admins.map((admin) => ({ ...admin, matchedName: admin.name }));
  });
}

function readFilter(parameters: URLSearchParams): Filter {
  const types = parameters.getAll('type').flatMap((list) => list.split(','));
  const server = parameters.get('server_id');
  return {
    player: readSearchText(parameters, 'player'),
    admin: readSearchText(parameters, 'admin'),
    types: PENALTY_TYPES.filter((type) => types.includes(type)),
    status: PENALTY_STATUSES.find((status) => status === parameters.get('status')),
    serverId: server === '0' ? 0 : tryParseRowId(server),
    createdFrom: readDay(parameters, DAY_PARAMETERS.createdFrom),
    createdTo: readDay(parameters, DAY_PARAMETERS.createdTo),
    reason: readSearchText(parameters, 'reason'),
    sort: PENALTY_SORTS.find((sort) => sort === parameters.get('sort')) ?? '-created',
    page: tryParseRowId(parameters.get('page')) ?? 1,
  };
}

/** Why a filter can match nothing, for the visitor; undefined if it can. */
function findProblem(
  { createdFrom, createdTo, reason }: Filter,
  { locale }: MemberVisit,
): string | undefined {
  const t = textsOf(locale).records;
  if (createdFrom !== '' && createdTo !== '' && createdFrom > createdTo) return t.fromAfterTo;
  return reason !== '' && [...reason].length < REASON_LENGTH.minimum ? t.reasonTooShort : undefined;
}

function addressOf(filter: Filter): string {
  const { player, admin, types, status, serverId, sort, page } = filter;
  return addressWith(PATH, {
    player,
    admin,
    type: types.join(','),
    status,
    server_id: serverId === undefined ? undefined : String(serverId),
    [DAY_PARAMETERS.createdFrom]: filter.createdFrom,
    [DAY_PARAMETERS.createdTo]: filter.createdTo,
    reason: filter.reason,
    sort: sort === '-created' ? undefined : sort,
    page: page > 1 ? page : undefined,
  });
}

type RecordProps = { steamId64: SteamId64; name: string | undefined; visit: MemberVisit };

function RecordLink({ steamId64, name = '', visit }: RecordProps): JSX.Element {
  const shownName = hasVisibleCharacter(name) ? isolate(name) : steamId64;
  return (
    <p>
      <a href={pathOfPlayer({ steamId64 })}>{textsOf(visit.locale).records.recordOf(shownName)}</a>
    </p>
  );
}

type FormProps = { filter: Filter; servers: readonly PenaltyServer[]; visit: MemberVisit };

/** Player and admin are always shown, the other filters in a part that opens without scripts, and is open if one is set. */
function FilterForm({ filter, servers, visit }: FormProps): JSX.Element {
  const { records, penalties: t } = textsOf(visit.locale);
  const { types, status, serverId, reason, sort } = filter;
  const isRestSet = addressOf({ ...filter, player: '', admin: '', page: 1 }) !== PATH;
  return (
    <form method="get" action={PATH} class="search search-people">
      {(['player', 'admin'] as const).map((name) => (
        <SearchField name={name} label={records[name]} value={filter[name]} />
      ))}
      <SearchButton label={t.find} />
      <details class="more" open={isRestSet}>
        <summary>{records.more}</summary>
        <div class="filters">
          <fieldset class="flags">
            <legend>{records.types}</legend>
            {PENALTY_TYPES.map((type) => (
              <label class="check">
                <input type="checkbox" name="type" value={type} checked={types.includes(type)} />
                <span>{t.types[type]}</span>
              </label>
            ))}
          </fieldset>
          <SelectField
            name="status"
            label={t.columns.status}
            options={[
              ['', t.everyStatus],
              ...PENALTY_STATUSES.map((each) => [each, t.statuses[each]] as const),
            ]}
            chosen={status}
          />
          <SelectField
            name="server_id"
            id="server"
            label={t.columns.server}
            options={[
              ['', records.everyServer],
              ...servers.map(({ id, name }) => [String(id), name ?? `#${id}`] as const),
              ['0', records.noServer],
            ]}
            chosen={serverId === undefined ? undefined : String(serverId)}
          />
          {(['createdFrom', 'createdTo'] as const).map((name) => (
            <div class="field">
              <label for={name}>{records[name]}</label>
              <input id={name} name={DAY_PARAMETERS[name]} type="date" value={filter[name]} />
            </div>
          ))}
          <div class="field">
            <label for="reason">{records.reason}</label>
            <input
              id="reason"
              name="reason"
              value={reason}
              maxlength={MAX_SEARCH_LENGTH}
              autocomplete="off"
            />
          </div>
          <SelectField
            name="sort"
            label={records.sort}
            options={PENALTY_SORTS.map((each) => [each, records.sorts[each]] as const)}
            chosen={sort}
          />
        </div>
      </details>
    </form>
  );
}

type TableProps = { penalties: readonly Penalty[]; servers: readonly PenaltyServer[]; visit: MemberVisit };

/** One row a penalty, also on a phone, where admin, server and time are left to its page. */
function PenaltyTable({ penalties, servers, visit }: TableProps): JSX.Element {
  const { columns, types, allServers } = textsOf(visit.locale).penalties;
  const names = new Map(servers.map(({ id, name }) => [id, name]));
  return (
    <ListTable
      isDense
      rows={penalties}
      columns={[
        [
          columns.player,
          (penalty) => (
            <PlayerOfPenalty
              penalty={penalty}
              pathOf={(steamId64) => pathOfPlayer({ steamId64 })}
              visit={visit}
            />
          ),
          'list-words',
        ],
        [columns.type, (penalty) => <a href={pathOfPenalty(penalty)}>{numberedType(penalty, types)}</a>],
        [columns.reason, ({ reason }) => <ReasonText reason={reason} visit={visit} />, 'list-words'],
        [columns.status, (penalty) => <PenaltyStatusText penalty={penalty} visit={visit} />],
        [columns.issued, ({ createdAt }) => <Moment at={createdAt} visit={visit} />, 'list-wide'],
        [columns.admin, (penalty) => <AdminName penalty={penalty} visit={visit} />, 'list-words list-wide'],
        [
          columns.server,
          ({ serverId }) => (
            <bdi>{serverNameOf({ serverId, serverName: names.get(serverId) }) ?? allServers}</bdi>
          ),
          'list-words list-wide',
        ],
      ]}
    />
  );
}
