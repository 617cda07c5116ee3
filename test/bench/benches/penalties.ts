import { sql } from 'drizzle-orm';
import type { Db } from '../../../src/db/client.ts';
import type { SteamId64 } from '../../../src/domain/steam-id.ts';
import type { PenaltyFilter } from '../../../src/queries/penalties/filter.ts';
import { listPenalties } from '../../../src/queries/penalties/list.ts';
import { type Bench, compare, formatMs, limitFigure, median, percentile, type Row } from '../bench.ts';
import { type Watched, watch } from '../support/database-time.ts';
import { DATASET_END, openDatasets } from '../support/penalty-dataset.ts';

const PER_PAGE = 50;
const WHY_STEEP =
  'Among ten thousand rows, a server, an admin or a rare filter has few, often one page; among millions, the month or day of a deep page is found first, by the tallies of all newer months, and its rows are far apart';
const CALLS = 200;
const WARM_UP_CALLS = 25;
const LIMIT_MS = 2;
/** An hour after the last sweep: more rows await correction than a running service ever leaves. */
const NOW = new Date(DATASET_END.getTime() + 3_600_000);

/**
 * Database time is what the server process spent on a core for a request, which a busy machine does not blur. Growth is of
 * the whole request, sent and answered.
 */
export const penalties: Bench = {
  name: 'penalties',
  title: 'lists with exact total and counts, compared with ten thousand rows',
  run: async (options) => {
    await using datasets = await openDatasets(options);
    await using small = await watch(datasets.small);
    await using large = await watch(datasets.large);
    const subjects = { small: await findSubjects(small.db), large: await findSubjects(large.db) };
    const rows: Row[] = [];
    for (const [name, pick] of requests()) {
      options.say(name);
      rows.push(...(await measureRequest(name, pick, { small, large, subjects })));
    }
    return rows;
  },
};

/** The subjects that a dataset has most and fewest rows of: filters by them are the most expensive and the sparsest. */
type Subjects = {
  servers: readonly number[];
  admins: readonly SteamId64[];
  player: SteamId64;
  playerServer: number;
  playerAdmin: SteamId64;
};

async function findSubjects(db: Db): Promise<Subjects> {
  const [found] = await db.execute<{
    servers: number[];
    admins: string[];
    player: string;
    player_server: number;
    player_admin: string;
  }>(sql`
    with admin as (
      select admin_steamid, (select sum(n) from unnest(counts) as n) as rows from penalty_tallies
      where scope = 2 and period = 0
    ), server as (
      select server_id, (select sum(n) from unnest(counts) as n) as rows from penalty_tallies
      where scope = 1 and period = 0
    ), player as (
      select player_steamid, server_id, admin_steamid, count(*) over (partition by player_steamid) as rows
      from penalties where player_steamid between 76561197960265729 and 76561197960265829 and admin_steamid <> 0
      order by rows desc limit 1
    )
    select
      json_build_array((select server_id from server order by rows desc limit 1),
        (select server_id from server where server_id <> 0 order by rows limit 1)) as servers,
      json_build_array((select admin_steamid::text from admin order by rows desc limit 1),
        (select admin_steamid::text from admin where admin_steamid <> 0 order by rows desc limit 1),
        (select admin_steamid::text from admin order by rows limit 1)) as admins,
      player_steamid::text as player, server_id as player_server, admin_steamid::text as player_admin
    from player`);
  if (!found) throw new Error('the dataset is empty');
  return {
    servers: found.servers,
    admins: found.admins as SteamId64[],
    player: found.player as SteamId64,
    playerServer: found.player_server,
    playerAdmin: found.player_admin as SteamId64,
  };
}

type Field = 'type' | 'status' | 'server' | 'admin' | 'player';
type PickFilters = (subjects: Subjects) => PenaltyFilter[];

const FIELDS: Record<Field, PickFilters> = {
  type: () => [{ types: ['ban'] }, { types: ['warn'] }, { types: ['gag', 'mute', 'silence'] }],
  status: () => [{ status: 'ACTIVE' }, { status: 'EXPIRED' }, { status: 'UNBANNED' }],
  server: ({ servers }) => servers.map((serverId) => ({ serverId })),
  admin: ({ admins }) => admins.map((adminSteamId) => ({ adminSteamId })),
  player: ({ player }) => [{ playerSteamId: player }],
};

/** No filter, each filter, each pair; every value of one with every value of the other. */
function requests(): [string, PickFilters][] {
  const fields = Object.keys(FIELDS) as Field[];
  const pairs = fields.flatMap((first, index) =>
    fields.slice(index + 1).map((second) => [first, second] as const),
  );
  return [
    ['no filter', () => [{}]],
    ...fields.map((field): [string, PickFilters] => [field, FIELDS[field]]),
    ...pairs.map(([first, second]): [string, PickFilters] => [
      `${first} and ${second}`,
      (subjects) => {
        const own = second === 'player' ? ofPlayer(subjects) : subjects;
        return FIELDS[first](own).flatMap((a) => FIELDS[second](own).map((b) => ({ ...a, ...b })));
      },
    ]),
  ];
}

/** Servers and admins that a player has records of: other pairs find nothing. */
function ofPlayer(subjects: Subjects): Subjects {
  return { ...subjects, servers: [subjects.playerServer], admins: [subjects.playerAdmin] };
}

type Handles = { small: Watched; large: Watched; subjects: { small: Subjects; large: Subjects } };
type Call = { requestMs: number; databaseMs: number };
const PLACES = ['first', 'middle', 'last'] as const;
type ListRequest = {
  filter: { small: PenaltyFilter; large: PenaltyFilter };
  place: (typeof PLACES)[number];
};

/** The worst of all values and of the first, a middle and the last page. */
async function measureRequest(name: string, pick: PickFilters, handles: Handles): Promise<Row[]> {
  const { subjects } = handles;
  const smallFilters = pick(subjects.small);
  const figures = [];
  for (const [index, large] of pick(subjects.large).entries()) {
    const filter = { large, small: smallFilters[index] ?? {} };
    for (const place of PLACES) {
      const where = `at the ${place} page of ${JSON.stringify(large)}`;
      const database = await timeDatabase(handles.large, large, place);
      figures.push({ where, database, growth: await timeGrowth(handles, { filter, place }) });
    }
  }
  const slowest = figures.toSorted((a, b) => b.database.p99 - a.database.p99)[0];
  const steepest = figures.toSorted(
    (a, b) => b.growth.ours / b.growth.floor - a.growth.ours / a.growth.floor,
  )[0];
  if (!slowest || !steepest) throw new Error('nothing was measured');
  const { p50, p99 } = slowest.database;
  return [
    explain(
      limitFigure(
        `${name}: database time, p99`,
        { value: p99, floor: `p50 ${formatMs(p50)}` },
        { atMost: LIMIT_MS },
      ),
      slowest.where,
    ),
    explain(
      compare(`${name}: growth`, { ...steepest.growth, name: 'ten thousand rows' }, { atMost: 2 }),
      `${steepest.where}. ${WHY_STEEP}`,
    ),
  ];
}

function explain(row: Row, note: string): Row {
  return row.isReached ? row : { ...row, note };
}

async function timeDatabase(watched: Watched, filter: PenaltyFilter, place: ListRequest['place']) {
  const list = await prepareList(watched, filter, { place, perPage: PER_PAGE });
  const calls: number[] = [];
  for (let call = 0; call < CALLS; call++) calls.push((await list()).databaseMs);
  return { p50: median(calls), p99: percentile(calls, 0.99) };
}

/** Both in turn, call by call. Pages are as long as ten thousand rows can fill one, so that as much is read of both. */
async function timeGrowth(
  { small, large }: Handles,
  { filter, place }: ListRequest,
): Promise<{ ours: number; floor: number }> {
  const { total } = await listPenalties(small.db, filter.small, { page: 1, perPage: 1, now: NOW });
  const options = { place, perPage: Math.min(Math.max(total, 1), PER_PAGE) };
  const listLarge = await prepareList(large, filter.large, options);
  const listSmall = await prepareList(small, filter.small, options);
  const calls = { large: [] as number[], small: [] as number[] };
  for (let call = 0; call < CALLS; call++) {
    calls.large.push((await listLarge()).requestMs);
    calls.small.push((await listSmall()).requestMs);
  }
  // The quicker calls: a busy machine disturbs them least.
  return { ours: percentile(calls.large, 0.25), floor: percentile(calls.small, 0.25) };
}

/** Gives calls of one kind of page, after as many as PostgreSQL wants before it keeps its plans. */
async function prepareList(
  { db, readCpuMs }: Watched,
  filter: PenaltyFilter,
  { place, perPage }: { place: ListRequest['place']; perPage: number },
): Promise<() => Promise<Call>> {
  const { total } = await listPenalties(db, filter, { page: 1, perPage, now: NOW });
  // The last full one: the number of rows after it differs by chance.
  const last = Math.max(Math.floor(total / perPage), 1);
  const page = () => {
    if (place === 'first') return 1;
    if (place === 'last') return last;
    return Math.max(Math.round(last * (0.45 + 0.1 * Math.random())), 1);
  };
  const list = async () => {
    const [cpuMs, startedAt] = [readCpuMs(), performance.now()];
    await listPenalties(db, filter, { page: page(), perPage, now: NOW });
    return { requestMs: performance.now() - startedAt, databaseMs: readCpuMs() - cpuMs };
  };
  for (let call = 0; call < WARM_UP_CALLS; call++) await list();
  return list;
}
