import { sql } from 'drizzle-orm';
import type { Db } from '../../../src/db/client.ts';
import { type Database, openDatabase } from '../../../src/db/database.ts';
import type { SteamId64 } from '../../../src/domain/steam-id.ts';
import type { PenaltyFilter } from '../../../src/queries/penalties/filter.ts';
import { listPenalties } from '../../../src/queries/penalties/list.ts';
import { type Bench, formatMs, formatRatio, median, percentile, type Row } from '../bench.ts';
import { type Watched, watch } from '../support/database-time.ts';
import {
  DATASET_END,
  ensurePenaltyDataset,
  prepareDataset,
  startDatasetServer,
} from '../support/penalty-dataset.ts';
import { measurePlayerLookups } from '../support/player-lookups.ts';

const SMALL_ROWS = 10_000;
const PER_PAGE = 50;
const WHY_STEEP =
  'Among ten thousand rows, a server, an admin or a rare filter has few, often one page; among millions, the month or day of a deep page is found first, by the tallies of all newer months, and its rows are far apart';
const CALLS = 120;
/** Growth is of the whole request, which the machine blurs for seconds at a time: hence several rounds of calls. */
const GROWTH_ROUNDS = 5;
const GROWTH_CALLS = 100;
const WARM_UP_CALLS = 25;
/** An hour after the last sweep: more rows await correction than a running service ever leaves. */
const NOW = new Date(DATASET_END.getTime() + 3_600_000);

/**
 * `ours` is database time: what the server process spent on a core for a request, which a busy machine does not blur.
 * Growth is of the whole request, asked and answered, at 10 million rows and at ten thousand.
 */
export const penalties: Bench = {
  name: 'penalties',
  title: 'lists with exact total and counts, compared with ten thousand rows, and lookups',
  run: async (options) => {
    const server = await startDatasetServer();
    try {
      const small = openDatabase(await ensurePenaltyDataset(server, SMALL_ROWS, options.say), { max: 1 });
      const large = openDatabase(await prepareDataset(server, options), { max: 1 });
      try {
        const subjects = { small: await findSubjects(small.db), large: await findSubjects(large.db) };
        const rows: Row[] = [];
        for (const [name, pick] of requests()) {
          options.say(name);
          rows.push(
            ...(await measureRequest(name, pick, {
              small: await watch(small),
              large: await watch(large),
              subjects,
            })),
          );
        }
        rows.push(...(await measurePlayerLookups(large, { player: subjects.large.player, now: NOW })));
        rows.push(await measureSize(large, options.rows));
        return rows;
      } finally {
        await Promise.all([small.close(), large.close()]);
      }
    } finally {
      await server.stop();
    }
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
type Growth = { largeMs: number; smallMs: number; ratio: number };
const PLACES = ['first', 'middle', 'last'] as const;
type ListRequest = {
  filter: { small: PenaltyFilter; large: PenaltyFilter };
  place: (typeof PLACES)[number];
};

/** The worst of all values and of the first, a middle and the last page. */
async function measureRequest(name: string, pick: PickFilters, handles: Handles): Promise<Row[]> {
  const { subjects } = handles;
  const filters = pick(subjects.large).map((large, index) => ({
    large,
    small: pick(subjects.small)[index] ?? {},
  }));
  const requests: ListRequest[] = filters.flatMap((filter) => PLACES.map((place) => ({ filter, place })));
  const figures = [];
  for (const { request, growth } of await measureGrowths(handles, requests)) {
    const { filter, place } = request;
    const where = `${place} page of ${JSON.stringify(filter.large)}`;
    figures.push({ where, growth, database: await timeDatabase(handles.large, filter.large, place) });
  }
  const slowest = figures.toSorted((a, b) => b.database.p99 - a.database.p99)[0];
  const steepest = figures.toSorted((a, b) => b.growth.ratio - a.growth.ratio)[0];
  if (!slowest || !steepest) throw new Error('nothing was measured');
  const { p50, p99 } = slowest.database;
  const { largeMs, smallMs, ratio } = steepest.growth;
  return [
    {
      what: `${name}: database time`,
      ours: `p99 ${formatMs(p99)}`,
      floor: `p50 ${formatMs(p50)}`,
      ratio: '',
      target: 'p99 ≤ 10 ms',
      isReached: p99 <= 10,
      ...(p99 > 10 && { note: `at the ${slowest.where}` }),
    },
    {
      what: `${name}: growth`,
      ours: formatMs(largeMs),
      floor: `ten thousand rows: ${formatMs(smallMs)}`,
      ratio: formatRatio(ratio),
      target: '≤ 2×',
      isReached: ratio <= 2,
      ...(ratio > 2 && { note: `at the ${steepest.where}. ${WHY_STEEP}` }),
    },
  ];
}

/** The growth of each request in the round with the median ratio. */
async function measureGrowths(handles: Handles, requests: readonly ListRequest[]) {
  const measured = requests.map((request) => ({ request, rounds: [] as Growth[] }));
  for (let round = 0; round < GROWTH_ROUNDS; round++) {
    for (const { request, rounds } of measured) rounds.push(await timeGrowth(handles, request));
  }
  return measured.map(({ request, rounds }) => {
    const growth = rounds.toSorted((a, b) => a.ratio - b.ratio)[Math.floor(rounds.length / 2)];
    if (!growth) throw new Error('nothing was measured');
    return { request, growth };
  });
}

async function timeDatabase(watched: Watched, filter: PenaltyFilter, place: ListRequest['place']) {
  const list = await prepareList(watched, filter, { place, perPage: PER_PAGE });
  const calls: number[] = [];
  for (let call = 0; call < CALLS; call++) calls.push((await list()).databaseMs);
  return { p50: median(calls), p99: percentile(calls, 0.99) };
}

/** Both in turn, call by call. Pages are as long as ten thousand rows can fill one, so that as much is read of both. */
async function timeGrowth({ small, large }: Handles, { filter, place }: ListRequest): Promise<Growth> {
  const { total } = await listPenalties(small.db, filter.small, { page: 1, perPage: 1, now: NOW });
  const options = { place, perPage: Math.min(Math.max(total, 1), PER_PAGE) };
  const listLarge = await prepareList(large, filter.large, options);
  const listSmall = await prepareList(small, filter.small, options);
  const calls = { large: [] as number[], small: [] as number[] };
  for (let call = 0; call < GROWTH_CALLS; call++) {
    calls.large.push((await listLarge()).requestMs);
    calls.small.push((await listSmall()).requestMs);
  }
  const [largeMs, smallMs] = [median(calls.large), median(calls.small)];
  return { largeMs, smallMs, ratio: largeMs / smallMs };
}

/** Gives calls of one kind of page, after as many as PostgreSQL wants before it keeps its plans. */
async function prepareList(
  { db, readCpuMs }: Watched,
  filter: PenaltyFilter,
  { place, perPage }: { place: ListRequest['place']; perPage: number },
): Promise<() => Promise<Call>> {
  const { total } = await listPenalties(db, filter, { page: 1, perPage, now: NOW });
  // The last full one: what is left over after it differs by chance.
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

/** The size of the database, with all indexes but without write-ahead log and events. */
async function measureSize({ connection }: Database, penaltyRows: number): Promise<Row> {
  const [size] = await connection<{ bytes: string }[]>`
    select pg_database_size(current_database())::text as bytes`;
  const bytes = Number(size?.bytes);
  return {
    what: 'size on the disk',
    ours: `${(bytes / 1e9).toFixed(1)} GB`,
    floor: `${penaltyRows} rows`,
    ratio: `${Math.round(bytes / penaltyRows)} bytes a row`,
    target: 'for information',
    isReached: true,
  };
}
