import { type SQL, sql } from 'drizzle-orm';
import { LRUCache } from 'lru-cache';
import type { Db } from '../../db/client.ts';
import { penalties } from '../../db/schema/penalties.ts';
import {
  columnsOf,
  hiddenPlaceholder,
  type PlaceholderValues,
  selectFrom,
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
  buildBucket,
  buildCounted,
  buildTotal,
  loadSize,
  planSteps,
  readCounted,
  type Size,
  type Steps,
  sizeOf,
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
 * A page past the end has no rows. Rows, total and counts are from one statement, and so from one snapshot.
 */
export function listPenalties(db: Db, filter: PenaltyFilter, options: PageOptions): Promise<PenaltyPage> {
  return isCountedByTallies(filter) ? listByTallies(db, filter, options) : listByPlayer(db, filter, options);
}

/** Unknown players share one SteamID and may be many, so they have tallies; any other player has few rows. */
function isCountedByTallies({ playerSteamId, serverId, adminSteamId }: PenaltyFilter): boolean {
  if (playerSteamId === undefined) return true;
  return playerSteamId === UNKNOWN_STEAM_ID && serverId === undefined && adminSteamId === undefined;
}

/** Counts and rows by the player's index. */
async function listByPlayer(db: Db, filter: PenaltyFilter, { page, perPage, now }: PageOptions) {
  const { rows, counted } = await selectPage(db, `penalties of player: ${shapeOf(filter)}`, {
    build: () => ({
      expressions: sql`counted as (
        select ${COUNTS_BY_TYPE} as counts, null as due
        from ${penalties} where ${filterCondition({ ...filter, types: undefined })}
      )`,
      rows: selectRows(filter, { order: NEWEST_FIRST, limit: LIMIT, offset: OFFSET }),
    }),
    values: { ...filterValues(filter, now), limit: perPage, offset: (page - 1) * perPage },
    now,
  });
  const counts = readCounts(counted.counts);
  return { rows, counts, total: totalOf(counts, filter) };
}

/** Counts from tallies; rows of a deep page from the month or day in which it begins. */
async function listByTallies(db: Db, filter: PenaltyFilter, { page, perPage, now }: PageOptions) {
  const sizes = sizesOf(db);
  const subject = `${shapeOf(filter)} ${filter.serverId} ${filter.adminSteamId}`;
  const offset = (page - 1) * perPage;
  const size = page === 1 ? undefined : (sizes.get(subject) ?? (await loadSize(db, filter, now)));
  const path = size && planPath(filter, { offset, perPage, size });
  const name = path ? `deep: ${path.isBackwards ? 'asc' : 'desc'} ${path.steps}` : 'first:';
  const { rows, counted } = await selectPage(db, `penalties ${name} ${shapeOf(filter)}`, {
    build: () => (path ? buildDeepPage(filter, path) : buildFirstPage(filter)),
    values: { ...filterValues(filter, now), limit: perPage, offset },
    now,
  });
  const stored = readCounted(counted);
  const counts = sumCounts(stored, filter.status);
  const total = totalOf(counts, filter);
  if (rows.length === 0 && offset < total)
    throw new Error(`of ${total} penalties by the tallies none is found at ${offset}`);
  sizes.set(subject, sizeOf(stored, filter));
  return { rows, counts, total };
}

/**
 * The sizes of filters when a page of them was last listed. The next page is planned by them: with a size that is out
 * of date it is found more slowly, and is still right.
 */
const knownSizes = new WeakMap<Db, LRUCache<string, Size>>();
const MAX_KNOWN_SIZES = 1000;

function sizesOf(db: Db): LRUCache<string, Size> {
  let sizes = knownSizes.get(db);
  if (!sizes) {
    sizes = new LRUCache({ max: MAX_KNOWN_SIZES });
    knownSizes.set(db, sizes);
  }
  return sizes;
}

const LIMIT = hiddenPlaceholder('limit', 'bigint');
const OFFSET = hiddenPlaceholder('offset', 'bigint');

/** Common table expressions, of which `counted` has the one row that comes with every row of the page. */
type PageSql = { expressions: SQL; rows: SQL };

/** The counts are part of every row, or come alone if there are no rows. */
const LISTED_AND_COUNTED = selectionOf({
  ...columnsOf('listed', LISTED),
  counts: sql`counted.counts`,
  due: sql`counted.due`,
});

/** One page and its counts in one statement. */
async function selectPage(
  db: Db,
  name: string,
  { build, values, now }: { build: () => PageSql; values: PlaceholderValues; now: Date },
): Promise<{ rows: Penalty[]; counted: { counts: unknown; due: unknown } }> {
  const { columns, at } = LISTED_AND_COUNTED;
  const buildStatement = () => {
    const { expressions, rows } = build();
    return sql`with ${expressions} select ${columns} from counted left join (${rows}) as listed on true`;
  };
  const found = await selectFrom(db)(name, buildStatement, values);
  const rows = found.filter((row) => row[at.id] !== null).map((row) => readPenalty(row, at, now));
  // A join promises no order, and sorting a page here is cheaper.
  rows.sort(compareNewestFirst);
  return { rows, counted: { counts: found[0]?.[at.counts], due: found[0]?.[at.due] } };
}

/** The first page, which is requested most. */
function buildFirstPage(filter: PenaltyFilter): PageSql {
  return {
    expressions: buildCounted(filter),
    rows: selectRows(filter, { order: NEWEST_FIRST, limit: LIMIT }),
  };
}

/** The way to a deep page: from which end, and by which tallies. */
type Path = { isBackwards: boolean; steps: Steps };

/** @param size by which the nearer end is known. */
function planPath(
  filter: PenaltyFilter,
  { offset, perPage, size }: { offset: number; perPage: number; size: Size },
): Path {
  const fromTheEnd = Math.max(size.total - offset - perPage, 0);
  const isBackwards = fromTheEnd < offset;
  return { isBackwards, steps: planSteps(isBackwards ? fromTheEnd : offset, filter, size) };
}

/** A page by its position from either end; rows before it are skipped in an index-only scan, up to its first row. */
function buildDeepPage(filter: PenaltyFilter, { isBackwards, steps }: Path): PageSql {
  const [order, reverse] = isBackwards ? [OLDEST_FIRST, NEWEST_FIRST] : [NEWEST_FIRST, OLDEST_FIRST];
  const [skip, limit] = isBackwards
    ? [sql`(select skip from place)`, sql`(select rows from place)`]
    : [OFFSET, LIMIT];
  const place = sql`, place as (
    select greatest(total - ${OFFSET} - ${LIMIT}, 0) as skip, greatest(least(${LIMIT}, total - ${OFFSET}), 0) as rows
    from (select ${buildTotal(filter)} as total) as filtered
  )`;
  const counted = sql`${buildCounted(filter)}${isBackwards ? place : sql``}`;
  const key = sql`${penalties.createdAt}, ${penalties.id}`;
  const keyAt = (position: SQL, direction: SQL, bound = sql``) => sql`
    select ${key} from ${penalties} where ${filterCondition(filter)} ${bound} order by ${direction} limit 1 offset ${position}`;
  const rowsFrom = (start: SQL) =>
    selectRows(filter, {
      bound: sql`and (${key}) ${isBackwards ? sql`>=` : sql`<=`} (${start})`,
      order,
      limit,
    });
  if (steps.length === 0) return { expressions: counted, rows: rowsFrom(keyAt(skip, order)) };
  const bucket = buildBucket(steps, filter, { skip, isBackwards });
  const fromFirst = keyAt(bucket.fromFirst, order, sql`and ${bucket.within}`);
  const fromLast = keyAt(bucket.fromLast, reverse, sql`and ${bucket.within}`);
  const start = sql`
    select start.* from ${bucket.table}, lateral (
      select * from (${fromFirst}) as first where ${bucket.isNearFirst} union all
      select * from (${fromLast}) as last where not ${bucket.isNearFirst}
    ) as start`;
  return { expressions: sql`${counted}, ${bucket.expressions}`, rows: rowsFrom(start) };
}

type RowsSql = { bound?: SQL; order: SQL; limit: SQL; offset?: SQL };

function selectRows(filter: PenaltyFilter, { bound = sql``, order, limit, offset = sql`0` }: RowsSql): SQL {
  return sql`
    select ${LISTED.columns} from ${penalties} where ${filterCondition(filter)} ${bound}
    order by ${order} limit ${limit} offset ${offset}`;
}

function totalOf(counts: PenaltyCounts, { types = PENALTY_TYPES }: PenaltyFilter): number {
  return types.reduce((sum, type) => sum + counts[type], 0);
}
