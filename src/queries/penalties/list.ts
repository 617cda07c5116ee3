import { type SQL, sql } from 'drizzle-orm';
import type { Reads } from '../../db/client.ts';
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
  countsByType,
  filterCondition,
  filterValues,
  type PenaltyCounts,
  type PenaltyFilter,
  readCounts,
  shapeOf,
} from './filter.ts';
import { compareNewestFirst, LISTED, NEWEST_FIRST, type Penalty, readPenalty } from './row.ts';
import { buildBucket, buildCounted, readCounted } from './tallies.ts';

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
  /** At most {@link MAX_PAGE_ROWS}. */
  perPage: number;
  /** The time by which rows, total and counts are computed. */
  now: Date;
};

/**
 * One page of penalties by `created` descending, then `id` descending, with exact total and counts.
 * A page past the end has no rows. Rows, total and counts are from one statement, and so from one snapshot.
 */
export function listPenalties(db: Reads, filter: PenaltyFilter, options: PageOptions): Promise<PenaltyPage> {
  return isCountedByTallies(filter) ? listByTallies(db, filter, options) : listByPlayer(db, filter, options);
}

/** Unknown players share one SteamID and may be many, so they have tallies; any other player has few rows. */
function isCountedByTallies({ playerSteamId, serverId, adminSteamId }: PenaltyFilter): boolean {
  if (playerSteamId === undefined) return true;
  return playerSteamId === UNKNOWN_STEAM_ID && serverId === undefined && adminSteamId === undefined;
}

/** Counts and rows by the player's index. */
async function listByPlayer(db: Reads, filter: PenaltyFilter, { page, perPage, now }: PageOptions) {
  const [place, options] = page === 1 ? ['first', {}] : ['deep', { offset: OFFSET }];
  const { rows, counted } = await selectPage(db, `penalties of player: ${place} ${shapeOf(filter)}`, {
    build: () => ({
      expressions: sql`counted as (
        select ${countsByType()} as counts, null as due
        from ${penalties} where ${filterCondition({ ...filter, types: undefined })}
      )`,
      rows: selectRows(filter, options),
    }),
    values: { ...filterValues(filter, now), limit: perPage, offset: (page - 1) * perPage },
    now,
  });
  const counts = readCounts(counted.counts);
  return { rows, counts, total: totalOf(counts, filter) };
}

/** Counts from tallies; rows of a page after the first from the month or day in which it begins. */
async function listByTallies(db: Reads, filter: PenaltyFilter, { page, perPage, now }: PageOptions) {
  const [name, build] = page === 1 ? ['first', buildFirstPage] : ['deep', buildDeepPage];
  const offset = (page - 1) * perPage;
  const { rows, counted } = await selectPage(db, `penalties ${name}: ${shapeOf(filter)}`, {
    build: () => build(filter),
    values: { ...filterValues(filter, now), limit: perPage, offset },
    now,
  });
  const counts = readCounted(counted, filter.status);
  const total = totalOf(counts, filter);
  if (rows.length === 0 && offset < total)
    throw new Error(`no penalty is found at ${offset} of ${total}: run \`penalties recount\``);
  return { rows, counts, total };
}

/**
 * Tells the planner how many rows a page has at most. For a hidden limit alone it expects a tenth of all rows, which
 * from eleven million on is so many that a server with JIT would compile every query.
 */
const MAX_PAGE_ROWS = 1000;
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
  db: Reads,
  name: string,
  { build, values, now }: { build: () => PageSql; values: PlaceholderValues; now: Date },
): Promise<{ rows: Penalty[]; counted: { counts: unknown; due: unknown } }> {
  const { columns, at } = LISTED_AND_COUNTED;
  const buildStatement = () => {
    const { expressions, rows } = build();
    return sql`with ${expressions} select ${columns} from counted left join (${rows}) as listed on true`;
  };
  const found = await selectFrom(db)(name, buildStatement, values);
  const hasRows = found[0]?.[at.id] !== null;
  const rows = hasRows ? found.map((row) => readPenalty(row, at, now)) : [];
  // A join promises no order, and sorting a page here is cheaper.
  rows.sort(compareNewestFirst);
  return { rows, counted: { counts: found[0]?.[at.counts], due: found[0]?.[at.due] } };
}

/** The first page, which is requested most. */
function buildFirstPage(filter: PenaltyFilter): PageSql {
  return { expressions: buildCounted(filter), rows: selectRows(filter) };
}

/** A later page; rows before it are skipped in an index-only scan of one month or day, up to its first row. */
function buildDeepPage(filter: PenaltyFilter): PageSql {
  const bucket = buildBucket(filter, OFFSET);
  const key = sql`${penalties.createdAt}, ${penalties.id}`;
  const start = sql`
    select start.* from ${bucket.table}, lateral (
      select ${key} from ${penalties} where ${filterCondition(filter)} and ${bucket.within}
      order by ${bucket.order} limit 1 offset ${bucket.position}
    ) as start`;
  return {
    expressions: sql`${buildCounted(filter)}, ${bucket.expressions}`,
    rows: selectRows(filter, { bound: sql`and (${key}) <= (${start})` }),
  };
}

function selectRows(
  filter: PenaltyFilter,
  { bound = sql``, offset = sql`0` }: { bound?: SQL; offset?: SQL } = {},
): SQL {
  return sql`
    select * from (
      select ${LISTED.columns} from ${penalties} where ${filterCondition(filter)} ${bound}
      order by ${NEWEST_FIRST} limit ${sql.raw(String(MAX_PAGE_ROWS))} offset ${offset}
    ) as page limit ${LIMIT}`;
}

function totalOf(counts: PenaltyCounts, { types = PENALTY_TYPES }: PenaltyFilter): number {
  return types.reduce((sum, type) => sum + counts[type], 0);
}
