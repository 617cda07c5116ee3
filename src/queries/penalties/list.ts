import { type SQL, sql } from 'drizzle-orm';
import type { Reads } from '../../db/client.ts';
import { penalties } from '../../db/schema/penalties.ts';
import {
  asExpensive,
  columnsOf,
  hiddenPlaceholder,
  type PlaceholderValues,
  selectFrom,
  selectionOf,
  selectOnce,
} from '../../db/select.ts';
import { MUTE_TYPES, PENALTY_TYPES } from '../../domain/penalty.ts';
import {
  countsByType,
  filterCondition,
  filterValues,
  type PenaltyCounts,
  type PenaltyFilter,
  readCounts,
  shapeOf,
  typeCondition,
} from './filter.ts';
import {
  comparePenalties,
  LISTED,
  type ListedPenalty,
  NEWEST_FIRST,
  OLDEST_FIRST,
  type PenaltySort,
  readPenalty,
} from './row.ts';
import { buildBucket, buildCounted, readCounted } from './tallies.ts';

type PenaltyPage = {
  /** In the order that was asked for, with the status they have at `now`. */
  rows: ListedPenalty[];
  /** All rows of the filter. */
  total: number;
  /** Rows of each type, under every filter except `types`. */
  counts: PenaltyCounts;
};

export type PageOptions = {
  /** From 1. */
  page: number;
  /** At most {@link MAX_PAGE_ROWS}. */
  perPage: number;
  /** `-created` by default. */
  sort?: PenaltySort | undefined;
  /** The time by which rows, total and counts are computed. */
  now: Date;
};

/**
 * One page of penalties with exact total and counts. A page past the end has no rows. Rows, total and counts are from one
 * statement, and so from one snapshot. The tallies serve a filter by type, status, server and admin, newest first;
 * otherwise all rows of the filter are read in the index, which takes up to a second for a million rows.
 */
export function listPenalties(db: Reads, filter: PenaltyFilter, options: PageOptions): Promise<PenaltyPage> {
  if (readsManyRows(filter, options.sort)) return asExpensive(() => listByRows(db, filter, options));
  // There are no tallies of a player, who has few rows.
  const isCounted = filter.playerSteamId === undefined;
  return isCounted ? listByTallies(db, filter, options) : listByRows(db, filter, options);
}

/** What tallies and the index of a player's rows do not serve. */
function readsManyRows({ createdFrom, createdTo, reason }: PenaltyFilter, sort: PenaltySort = '-created') {
  return sort !== '-created' || [createdFrom, createdTo, reason].some((value) => value !== undefined);
}

/** Counts and the ids of the page from one pass over the rows of the filter, in their order. */
async function listByRows(db: Reads, filter: PenaltyFilter, options: PageOptions): Promise<PenaltyPage> {
  const { page, perPage, sort = '-created' } = options;
  const { types, ...scope } = filter;
  const ids = (those: SQL) =>
    sql`array_agg(id) filter (where ${those} and ${types ? typeCondition(types, sql`type`) : sql`true`})`;
  const idsInOrder =
    sort === '-ends' ? sql`${ids(sql`ends_at is not null`)} || ${ids(sql`ends_at is null`)}` : ids(sql`true`);
  const { rows, counted } = await selectPage(db, filter, options, {
    name: 'of player',
    build: () => ({
      expressions: sql`counted as (
        select ${countsByType(sql`type`)} as counts, null as due, (${idsInOrder})[${FIRST} : ${LAST}] as ids
        from (
          select ${penalties.id} as id, ${penalties.type} as type, ${penalties.endsAt} as ends_at
          from ${penalties} where ${filterCondition(scope)} order by ${ORDERS[sort]}
        ) as matching
      )`,
      rows: sql`select ${LISTED.columns} from ${penalties} where ${penalties.id} = any((select ids from counted)::bigint[])`,
    }),
    values: {
      first: Math.min((page - 1) * perPage, MAX_OFFSET) + 1,
      last: Math.min(page * perPage, MAX_OFFSET),
    },
  });
  const counts = readCounts(counted.counts);
  return { rows, counts, total: totalOf(counts, filter) };
}

const FIRST = hiddenPlaceholder('first', 'integer');
const LAST = hiddenPlaceholder('last', 'integer');
/** Past the end of every list, and the largest index of an array. */
const MAX_OFFSET = 0x7fff_fffe;

/** The orders in which an index has the rows. By `-ends` it begins with permanent ones, which come last. */
const ORDERS: Record<PenaltySort, SQL> = {
  '-created': NEWEST_FIRST,
  created: OLDEST_FIRST,
  ends: sql`${penalties.endsAt}, ${penalties.id}`,
  '-ends': sql`${penalties.endsAt} desc, ${penalties.id} desc`,
};

/** Counts from tallies; rows of a page after the first from the month or day in which it begins. */
async function listByTallies(db: Reads, filter: PenaltyFilter, options: PageOptions): Promise<PenaltyPage> {
  const { page, perPage } = options;
  const [name, build] = page === 1 ? ['first', buildFirstPage] : ['deep', buildDeepPage];
  const offset = (page - 1) * perPage;
  const { rows, counted } = await selectPage(db, filter, options, {
    name,
    build: () => build(filter),
    values: { limit: perPage, offset },
  });
  const counts = readCounted(counted, filter.status);
  const total = totalOf(counts, filter);
  if (rows.length === 0 && offset < total)
    throw new Error(`no penalty is found at ${offset} of ${total}: run \`penalties recount\``);
  return { rows, counts, total };
}

/**
 * Tells the planner how many rows a page has at most. For a hidden limit it expects a tenth of all rows, which
 * from eleven million on is so many that a server with JIT would compile every query.
 */
const MAX_PAGE_ROWS = 1000;
const LIMIT = hiddenPlaceholder('limit', 'bigint');
const OFFSET = hiddenPlaceholder('offset', 'bigint');

/** Common table expressions, of which `counted` has the one row that comes with every row of the page. */
type PageSql = { expressions: SQL; rows: SQL };

/** The counts are part of every row; without rows there is one with the counts only. */
const LISTED_AND_COUNTED = selectionOf({
  ...columnsOf('listed', LISTED),
  counts: sql`counted.counts`,
  due: sql`counted.due`,
});

/** A way to find a page; `values` are those of the placeholders that only it has. */
type PageSearch = { name: string; build: () => PageSql; values: PlaceholderValues };

/** One page and its counts in one statement. */
async function selectPage(
  db: Reads,
  filter: PenaltyFilter,
  { sort = '-created', now }: PageOptions,
  { name, build, values }: PageSearch,
): Promise<{ rows: ListedPenalty[]; counted: { counts: unknown; due: unknown } }> {
  const { columns, at } = LISTED_AND_COUNTED;
  const buildStatement = () => {
    const { expressions, rows } = build();
    return sql`with ${expressions} select ${columns} from counted left join (${rows}) as listed on true`;
  };
  const allValues = { ...filterValues(filter, now), ...values };
  const records = isFrequent(filter, sort)
    ? await selectFrom(db)(`penalties ${name}: ${shapeOf(filter)}`, buildStatement, allValues)
    : await selectOnce(db, buildStatement(), allValues);
  const hasRows = records[0]?.[at.id] !== null;
  const rows = hasRows ? records.map((row) => readPenalty(row, at, now)) : [];
  // A join promises no order, and sorting a page here is cheaper.
  rows.sort(comparePenalties(sort));
  return { rows, counted: { counts: records[0]?.[at.counts], due: records[0]?.[at.due] } };
}

/** Whether the statement of a list is kept: those of all lists would fill the memory of the database. */
function isFrequent({ types, ...filter }: PenaltyFilter, sort: PenaltySort): boolean {
  return !readsManyRows(filter, sort) && (!types || types.length === 1 || types === MUTE_TYPES);
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
    rows: selectRows(filter, sql`and (${key}) <= (${start})`),
  };
}

function selectRows(filter: PenaltyFilter, bound = sql``): SQL {
  return sql`
    select * from (
      select ${LISTED.columns} from ${penalties} where ${filterCondition(filter)} ${bound}
      order by ${NEWEST_FIRST} limit ${sql.raw(String(MAX_PAGE_ROWS))}
    ) as page limit ${LIMIT}`;
}

function totalOf(counts: PenaltyCounts, { types = PENALTY_TYPES }: PenaltyFilter): number {
  return types.reduce((sum, type) => sum + counts[type], 0);
}
