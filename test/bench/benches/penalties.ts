import type { PenaltyFilter } from '../../../src/queries/penalties/filter.ts';
import { listPenalties } from '../../../src/queries/penalties/list.ts';
import {
  alternate,
  type Bench,
  compare,
  formatMs,
  limitFigure,
  median,
  percentile,
  type Row,
  repeat,
  timeOf,
} from '../bench.ts';
import { type Watched, watch } from '../support/database-time.ts';
import { DATASET_END, findSubjects, openDatasets, type Subjects } from '../support/penalty-dataset.ts';

const PER_PAGE = 50;
const WHY_STEEP =
  'Among ten thousand rows, a server, an admin or a rare filter has few, often one page; among millions, the month or day of a deep page is found first, by the tallies of all newer months, and its rows are far apart';
const CALLS = 200;
const WARM_UP_CALLS = 25;
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
    const subjects = { small: await findSubjects(small), large: await findSubjects(large) };
    const rows: Row[] = [];
    for (const [name, pick] of requests()) {
      options.say(name);
      const smallFilters = pick(subjects.small);
      const pairs = pick(subjects.large).map((filter, index) => ({
        small: { watched: small, filter: smallFilters[index] ?? {} },
        large: { watched: large, filter },
      }));
      rows.push(...(await measureLists(name, pairs)));
    }
    return rows;
  },
};

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
    fields.slice(index + 1).map((second): [string, PickFilters] => [
      `${first} and ${second}`,
      (subjects) => {
        const related = second === 'player' ? ofPlayer(subjects) : subjects;
        return FIELDS[first](related).flatMap((a) => FIELDS[second](related).map((b) => ({ ...a, ...b })));
      },
    ]),
  );
  return [
    ['no filter', () => [{}]],
    ...fields.map((field): [string, PickFilters] => [field, FIELDS[field]]),
    ...pairs,
  ];
}

/** Servers and admins that a player has records of: other pairs find nothing. */
function ofPlayer(subjects: Subjects): Subjects {
  return { ...subjects, servers: [subjects.playerServer], admins: [subjects.playerAdmin] };
}

const PLACES = ['first', 'middle', 'last'] as const;
type Place = (typeof PLACES)[number];
type List = { watched: Watched; filter: PenaltyFilter };
type Pair = { small: List; large: List };

/** The worst of all values and of the first, a middle and the last page. */
async function measureLists(name: string, pairs: readonly Pair[]): Promise<Row[]> {
  const figures = [];
  for (const pair of pairs) {
    for (const place of PLACES) {
      const list = await prepareList(pair.large, { place, perPage: PER_PAGE });
      const calls = await repeat(CALLS, () => pair.large.watched.measureMs(list));
      const growth = await timeGrowth(pair, place);
      figures.push({
        where: `at the ${place} page of ${JSON.stringify(pair.large.filter)}`,
        p50: median(calls),
        p99: percentile(calls, 0.99),
        growth,
        factor: growth.ours / growth.floor,
      });
    }
  }
  const [slowest] = figures.toSorted((a, b) => b.p99 - a.p99);
  const [steepest] = figures.toSorted((a, b) => b.factor - a.factor);
  if (!slowest || !steepest) throw new Error('nothing was measured');
  const floor = `p50 ${formatMs(slowest.p50)}`;
  const time = limitFigure(`${name}: database time, p99`, slowest.p99, { atMost: 2, floor });
  const growth = compare(`${name}: growth`, steepest.growth, { name: 'ten thousand rows', atMost: 2 });
  return [explain(time, slowest.where), explain(growth, `${steepest.where}. ${WHY_STEEP}`)];
}

function explain(row: Row, note: string): Row {
  return row.isReached ? row : { ...row, note };
}

/** Both in turn, call by call. Pages are as long as ten thousand rows can fill one, so that as much is read of both. */
async function timeGrowth({ small, large }: Pair, place: Place): Promise<{ ours: number; floor: number }> {
  const { total } = await listPenalties(small.watched.db, small.filter, { page: 1, perPage: 1, now: NOW });
  const options = { place, perPage: Math.min(Math.max(total, 1), PER_PAGE) };
  const listLarge = await prepareList(large, options);
  const listSmall = await prepareList(small, options);
  const sides = { ours: () => timeOf(listLarge), floor: () => timeOf(listSmall) };
  const { ours, floor } = await alternate(CALLS, sides);
  // The quicker calls: a busy machine disturbs them least.
  return { ours: percentile(ours, 0.25), floor: percentile(floor, 0.25) };
}

/** Gives calls of one kind of page, after as many as PostgreSQL wants before it keeps its plans. */
async function prepareList(
  { watched: { db }, filter }: List,
  { place, perPage }: { place: Place; perPage: number },
): Promise<() => Promise<unknown>> {
  const { total } = await listPenalties(db, filter, { page: 1, perPage, now: NOW });
  // The last full one: the number of rows after it differs by chance.
  const last = Math.max(Math.floor(total / perPage), 1);
  const toPage = {
    first: () => 1,
    middle: () => Math.max(Math.round(last * (0.45 + 0.1 * Math.random())), 1),
    last: () => last,
  }[place];
  const list = () => listPenalties(db, filter, { page: toPage(), perPage, now: NOW });
  await repeat(WARM_UP_CALLS, list);
  return list;
}
