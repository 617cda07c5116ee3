import { type SQL, sql } from 'drizzle-orm';
import type { Db } from '../../db/client.ts';
import { penalties } from '../../db/schema/penalties.ts';
import {
  columnsOf,
  hiddenPlaceholder,
  type PlaceholderValues,
  type Select,
  selectFrom,
  selectFromSnapshot,
  selectionOf,
} from '../../db/select.ts';
import { PENALTY_TYPES } from '../../domain/penalty.ts';
import { UNKNOWN_STEAM_ID } from '../../domain/steam-id.ts';
import {
  COUNTS_BY_TYPE,
  filterCondition,
  filterValues,
  type PenaltyCounts,
  type PenaltyFilter,
  readCounts,
  shapeOf,
} from './filter.ts';
import { compareNewestFirst, LISTED, NEWEST_FIRST, OLDEST_FIRST, type Penalty, readPenalty } from './row.ts';
import {
  bucketValues,
  buildBucket,
  buildCounted,
  type Counted,
  countedValues,
  loadCounts,
  planSteps,
  readCounted,
  type Steps,
  sumCounts,
} from './tallies.ts';

export type PenaltyPage = {
  /** Newest first, with the status they have at `now`. */
  rows: Penalty[];
  /** All rows of the filter. */
  total: number;
  /** Rows of each type, under every filter except `types`. */
  counts: PenaltyCounts;
};

type PageOptions = {
  /** From 1. */
  page: number;
  perPage: number;
  /** The time by which rows, total and counts are computed. */
  now: Date;
};

/**
 * One page of penalties by `created` descending, then `id` descending, with exact total and counts.
 * A page past the end has no rows. Rows, total and counts are from one snapshot.
 */
export function listPenalties(db: Db, filter: PenaltyFilter, options: PageOptions): Promise<PenaltyPage> {
  if (!isCountedByTallies(filter)) return listByPlayer(db, filter, options);
  return options.page === 1 ? listFirst(db, filter, options) : listByTallies(db, filter, options);
}

/** Unknown players share one SteamID and may be many, so they have tallies; any other player has few rows. */
function isCountedByTallies({ playerSteamId, serverId, adminSteamId }: PenaltyFilter): boolean {
  if (playerSteamId === undefined) return true;
  return playerSteamId === UNKNOWN_STEAM_ID && serverId === undefined && adminSteamId === undefined;
}

/** Counts and rows in one statement, by the player's index. */
async function listByPlayer(db: Db, filter: PenaltyFilter, { page, perPage, now }: PageOptions) {
  const { rows, counted } = await selectWithCounts(db, `penalties of player: ${shapeOf(filter)}`, {
    filter,
    counted: () => sql`
      select ${COUNTS_BY_TYPE} as counts, null as due
      from ${penalties} where ${filterCondition({ ...filter, types: undefined })}`,
    values: { ...filterValues(filter, now), limit: perPage, offset: (page - 1) * perPage },
    now,
  });
  const counts = readCounts(counted.counts);
  return { rows, counts, total: totalOf(counts, filter) };
}

/** The first page, which is requested most: rows, and counts from tallies, in one statement. */
async function listFirst(db: Db, filter: PenaltyFilter, { perPage, now }: PageOptions) {
  const { rows, counted } = await selectWithCounts(db, `penalties first: ${shapeOf(filter)}`, {
    filter,
    counted: () => buildCounted(filter),
    values: { ...countedValues(filter, now), limit: perPage, offset: 0 },
    now,
  });
  const counts = sumCounts(readCounted(counted), filter.status);
  return { rows, counts, total: totalOf(counts, filter) };
}

/** The counts are part of every row, or come alone if there are no rows. */
const LISTED_AND_COUNTED = selectionOf({
  ...columnsOf('listed', LISTED),
  counts: sql`counted.counts`,
  due: sql`counted.due`,
});

type CountedPage = {
  filter: PenaltyFilter;
  /** Selects `counts` and `due`. */
  counted: () => SQL;
  values: PlaceholderValues;
  now: Date;
};

/** One page and its counts in one statement. */
async function selectWithCounts(
  db: Db,
  name: string,
  { filter, counted, values, now }: CountedPage,
): Promise<{ rows: Penalty[]; counted: { counts: unknown; due: unknown } }> {
  const { columns, at } = LISTED_AND_COUNTED;
  const found = await selectFrom(db)(
    name,
    () => sql`
      select ${columns} from (${counted()}) as counted left join (
        select ${LISTED.columns} from ${penalties} where ${filterCondition(filter)}
        order by ${NEWEST_FIRST} limit ${hiddenPlaceholder('limit', 'bigint')} offset ${hiddenPlaceholder('offset', 'bigint')}
      ) as listed on true`,
    values,
  );
  const rows = found.filter((row) => row[at.id] !== null).map((row) => readPenalty(row, at, now));
  // A join promises no order, and sorting a page here is cheaper.
  rows.sort(compareNewestFirst);
  return { rows, counted: { counts: found[0]?.[at.counts], due: found[0]?.[at.due] } };
}

/** Counts from tallies, rows from the day in which the page begins; all from one snapshot. */
function listByTallies(db: Db, filter: PenaltyFilter, { page, perPage, now }: PageOptions) {
  return selectFromSnapshot(db, async (select) => {
    const counted = await loadCounts(select, filter, now);
    const counts = sumCounts(counted, filter.status);
    const total = totalOf(counts, filter);
    const offset = (page - 1) * perPage;
    if (offset >= total) return { rows: [], counts, total };
    const limit = Math.min(perPage, total - offset);
    return { rows: await listRows(select, filter, { counted, offset, limit, total, now }), counts, total };
  });
}

type Place = { counted: Counted; offset: number; limit: number; total: number; now: Date };

/** Rows of the filter by their positions, counted from whichever end is nearer. */
async function listRows(
  select: Select,
  filter: PenaltyFilter,
  { counted, offset, limit, total, now }: Place,
): Promise<Penalty[]> {
  const fromTheEnd = total - offset - limit;
  const isBackwards = fromTheEnd < offset;
  const skip = isBackwards ? fromTheEnd : offset;
  const steps = planSteps(skip, counted, filter, total);
  const variant = steps ? `${steps.periods} ${steps.isCorrected ? 'corrected' : ''}` : skip > 0 ? 'skip' : '';
  const found = await select(
    `penalties ${shapeOf(filter)} ${isBackwards ? 'asc' : 'desc'} ${variant}`,
    () => buildPageSql(filter, { steps, isBackwards, skips: skip > 0 }),
    { ...filterValues(filter, now), ...bucketValues(filter, counted), skip, limit },
  );
  if (found.length === 0) throw new Error(`of ${total} penalties by the tallies none is found at ${offset}`);
  const rows = found.map((row) => readPenalty(row, LISTED.at, now));
  return isBackwards ? rows.reverse() : rows;
}

type PageShape = { steps: Steps | undefined; isBackwards: boolean; skips: boolean };

/** One page; rows before it are skipped in an index-only scan, up to its first row. */
function buildPageSql(filter: PenaltyFilter, { steps, isBackwards, skips }: PageShape): SQL {
  const matching = sql`from ${penalties} where ${filterCondition(filter)}`;
  const [order, reverse] = isBackwards ? [OLDEST_FIRST, NEWEST_FIRST] : [NEWEST_FIRST, OLDEST_FIRST];
  const key = sql`${penalties.createdAt}, ${penalties.id}`;
  const rows = (bound = sql``) =>
    sql`select ${LISTED.columns} ${matching} ${bound} order by ${order} limit ${hiddenPlaceholder('limit', 'bigint')}`;
  const rowsFrom = (start: SQL) => rows(sql`and (${key}) ${isBackwards ? sql`>=` : sql`<=`} (${start})`);
  const keyAt = (position: SQL, direction: SQL, bound = sql``) =>
    sql`select ${key} ${matching} ${bound} order by ${direction} limit 1 offset ${position}`;
  if (!skips) return rows();
  if (!steps) return rowsFrom(keyAt(hiddenPlaceholder('skip', 'bigint'), order));
  const bucket = buildBucket(steps, filter, isBackwards);
  const fromFirst = keyAt(bucket.fromFirst, order, sql`and ${bucket.within}`);
  const fromLast = keyAt(bucket.fromLast, reverse, sql`and ${bucket.within}`);
  const start = sql`
    select start.* from ${bucket.table}, lateral (
      select * from (${fromFirst}) as first where ${bucket.isNearFirst} union all
      select * from (${fromLast}) as last where not ${bucket.isNearFirst}
    ) as start`;
  return sql`${bucket.expressions} ${rowsFrom(start)}`;
}

function totalOf(counts: PenaltyCounts, { types = PENALTY_TYPES }: PenaltyFilter): number {
  return types.reduce((sum, type) => sum + counts[type], 0);
}
