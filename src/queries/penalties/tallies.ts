import { type SQL, type SQLWrapper, sql } from 'drizzle-orm';
import type { Db } from '../../db/client.ts';
import { penalties, penaltyTallies, TALLY_PERIODS, TALLY_SCOPES } from '../../db/schema/penalties.ts';
import { hiddenPlaceholder, selectFrom } from '../../db/select.ts';
import {
  PENALTY_STATUSES,
  PENALTY_TYPES,
  type PenaltyStatus,
  type PenaltyType,
  parsePenaltyType,
} from '../../domain/penalty.ts';
import {
  countsBy,
  dueCondition,
  filterCondition,
  filterValues,
  type PenaltyCounts,
  type PenaltyFilter,
  shapeOf,
  typeCondition,
} from './filter.ts';

/**
 * Exact totals of a filter, and where deep pages begin, from the tallies that triggers maintain (`penaltyTallies` in
 * the schema). Tallies count stored statuses; they are corrected here for ACTIVE rows whose end has passed.
 */

/** Fifteen counts in the order of `penaltyTallies.counts`. */
export type Counts = readonly number[];

/** The periods of the tallies that lead to a row, the longest first; none if few rows precede it. */
export type Steps = readonly Period[];
type Period = 'month' | 'day';

/** How many rows a filter has, and how many its server, its admin or all have. */
export type Size = { total: number; inScope: number };

/** Expressions over the columns of a bucket's table. */
type Bucket = {
  /** The condition of its rows. */
  within: SQL;
  /** How many of them lie between the row and either end, and which end is nearer. */
  fromFirst: SQL;
  fromLast: SQL;
  isNearFirst: SQL;
};

/** Scanning this many index entries takes as long as finding the month or day to scan. */
const MAX_SCANNED_ENTRIES = 2000;

/**
 * Common table expressions, the last of which is `counted` with one row. Its `counts` are the stored ones of a filter's
 * server, admin or of all, its `due` the rows that are due where they matter. Each is one text, since they come with
 * every row of a page. Read by {@link readCounted}; the placeholders are those of the filter.
 */
export function buildCounted(filter: PenaltyFilter): SQL {
  const stored = sql`
    stored as (select ${penaltyTallies.counts} as counts from ${penaltyTallies} where ${tallyCondition(filter, 'ever')})`;
  const counts = sql`(select counts::text from stored) as counts`;
  if (!changesWithTime(filter.status)) return sql`${stored}, counted as (select ${counts}, null as due)`;
  return sql`${stored}, due as (${dueRows(filter)}), counted as (
    select ${counts}, (select string_agg(concat_ws(' ', type, rows), ',') from due) as due
  )`;
}

/** Reads {@link buildCounted}: the counts corrected for rows that have ended by `now`. */
export function readCounted({ counts: stored, due }: { counts: unknown; due: unknown }): Counts {
  const counts = typeof stored === 'string' ? stored.slice(1, -1).split(',').map(Number) : [];
  for (const ended of typeof due === 'string' ? due.split(',') : []) {
    const [type = '', rows] = ended.split(' ');
    const [active, expired] = [
      slotOf(parsePenaltyType(type), 'ACTIVE'),
      slotOf(parsePenaltyType(type), 'EXPIRED'),
    ];
    counts[active] = (counts[active] ?? 0) - Number(rows);
    counts[expired] = (counts[expired] ?? 0) + Number(rows);
  }
  return counts;
}

/** The number of rows of a filter, after the expressions of {@link buildCounted}. */
export function buildTotal({ types, status }: PenaltyFilter): SQL {
  const stored = sql`coalesce((select ${sumOf(slotsOf(types, status), sql`counts`)} from stored), 0)`;
  if (!changesWithTime(status)) return stored;
  return sql`${stored} ${signOfDue(status)} coalesce((select sum(rows) from due where ${listedTypes(types)}), 0)`;
}

/** Counts by type, of one status or of all. */
export function sumCounts(counts: Counts, status: PenaltyStatus | undefined): PenaltyCounts {
  return countsBy((type) => sumAll(slotsOf([type], status).map((slot) => counts[slot] ?? 0)));
}

/** The {@link Size} of a filter by the counts of its server, its admin or of all. */
export function sizeOf(counts: Counts, { types, status }: PenaltyFilter): Size {
  return {
    total: sumAll(slotsOf(types, status).map((slot) => counts[slot] ?? 0)),
    inScope: sumAll(counts),
  };
}

/** {@link sizeOf} by a statement of its own, before any page of the filter is known. */
export async function loadSize(db: Db, filter: PenaltyFilter, now: Date): Promise<Size> {
  const [row] = await selectFrom(db)(
    `penalty counts: ${shapeOf(filter)}`,
    () => sql`with ${buildCounted(filter)} select counts, due from counted`,
    filterValues(filter, now),
  );
  const [counts, due] = row ?? [];
  return sizeOf(readCounted({ counts, due }), filter);
}

/**
 * The steps that find a row fastest.
 * @param skip how many rows of the filter precede it.
 */
export function planSteps(skip: number, filter: PenaltyFilter, { total, inScope }: Size): Steps {
  if (skip * inScope <= MAX_SCANNED_ENTRIES * total) return [];
  // With few rows a month is precise enough. For a server and an admin together there are no tallies by day.
  const byDay = inScope > 10 * MAX_SCANNED_ENTRIES && scopeOf(filter) !== TALLY_SCOPES.serverAndAdmin;
  return byDay ? ['month', 'day'] : ['month'];
}

/**
 * Finds the month or day (UTC) that contains a row of a filter, after the expressions of {@link buildCounted}.
 * @param skip how many rows of the filter precede it.
 * @param isBackwards whether rows count from the oldest; otherwise from the newest.
 * @returns common table expressions, the last of which, `table`, is that bucket; its ends are those in that direction.
 */
export function buildBucket(
  periods: Steps,
  filter: PenaltyFilter,
  { skip, isBackwards }: { skip: SQL; isBackwards: boolean },
): { expressions: SQL; table: SQL } & Bucket {
  const found = periods.map((period, index) => {
    const bucket = bucketOf(tallied(period, filter), periods[index - 1], { skip, isBackwards });
    return sql`${sql.identifier(period)} as (${bucket})`;
  });
  const period = periods.at(-1) ?? 'month';
  const at = (end: string) => sql`(bucket ${sql.raw(end)})::timestamp at time zone 'UTC'`;
  return {
    expressions: sql.join(found, sql`, `),
    table: sql`${sql.identifier(period)}`,
    // Both ends, so that whichever index the planner takes, it reads no more than the bucket.
    within: sql`${penalties.createdAt} >= ${at('')} and ${penalties.createdAt} < ${at(`+ interval '1 ${period}'`)}`,
    fromFirst: sql`${skip} - skipped`,
    fromLast: sql`skipped + rows - 1 - ${skip}`,
    isNearFirst: sql`(${skip} < skipped + rows / 2)`,
  };
}

/** One step of {@link buildBucket}; reading ends at the bucket, since the index is in the order of the sums. */
function bucketOf(
  counted: SQL,
  within: Period | undefined,
  { skip, isBackwards }: { skip: SQL; isBackwards: boolean },
): SQL {
  const order = sql`bucket ${sql.raw(isBackwards ? 'asc' : 'desc')}`;
  const outer = within && sql.identifier(within);
  const skipped = outer ? sql`(select skipped from ${outer})` : sql`0`;
  const bounds =
    outer &&
    sql`and bucket >= (select bucket from ${outer})
      and bucket < (select (bucket + ${sql.raw(`interval '1 ${within}'`)})::date from ${outer})`;
  return sql`
    select bucket, rows, upto - rows as skipped from (
      select bucket, rows, ${skipped} + sum(rows) over (order by ${order} rows unbounded preceding) as upto
      from (${counted} ${bounds ?? sql``}) as counted
    ) as summed
    where upto > ${skip} order by ${order} limit 1`;
}

/** The months or days of a filter with their rows, corrected for rows that have ended as the counts are. */
function tallied(period: Period, filter: PenaltyFilter): SQL {
  const { types, status } = filter;
  const stored = sumOf(slotsOf(types, status), penaltyTallies.counts);
  if (!changesWithTime(status))
    return sql`select bucket, ${stored} as rows from ${penaltyTallies} where ${tallyCondition(filter, period)}`;
  return sql`
    select bucket, ${stored} ${signOfDue(status)} coalesce(ended.rows, 0) as rows
    from ${penaltyTallies} left join (
      select date_trunc(${sql.raw(`'${period}'`)}, day::timestamp)::date as bucket, sum(rows)::integer as rows
      from due where ${listedTypes(types)} group by 1
    ) as ended using (bucket)
    where ${tallyCondition(filter, period)}`;
}

function listedTypes(types: readonly PenaltyType[] | undefined): SQL {
  return types ? typeCondition(types, sql`due.type`) : sql`true`;
}

/** Rows that are due are EXPIRED and no longer ACTIVE. */
function signOfDue(status: PenaltyStatus | undefined): SQL {
  return sql.raw(status === 'ACTIVE' ? '-' : '+');
}

/** Whether rows gain or lose this status when they end, which the tallies do not reflect. */
function changesWithTime(status: PenaltyStatus | undefined): boolean {
  return status === 'ACTIVE' || status === 'EXPIRED';
}

/**
 * ACTIVE rows of a filter's server, admin or of all whose end has passed, by day and type. They are few, while a server or
 * an admin may have millions of rows: `offset 0` keeps the planner from reading those first. The second bound on `ends_at`
 * lowers its estimate: for a single unknown bound it would expect a third of all rows.
 */
function dueRows({ types: _, status: __, ...scope }: PenaltyFilter): SQL {
  return sql`
    select (${penalties.createdAt} at time zone 'UTC')::date as day, ${penalties.type} as type, count(*) as rows
    from (
      select * from ${penalties}
      where ${dueCondition(hiddenPlaceholder('now', 'timestamptz'))} and ${penalties.endsAt} > '-infinity' offset 0
    ) as ${penalties}
    where ${filterCondition(scope)} group by 1, 2`;
}

function sumAll(counts: Counts): number {
  return counts.reduce((sum, count) => sum + count, 0);
}

/** The positions in `penaltyTallies.counts`, from 0, of some types and of one status or all. */
function slotsOf(types: readonly PenaltyType[] = PENALTY_TYPES, status?: PenaltyStatus): number[] {
  const statuses: readonly PenaltyStatus[] = status ? [status] : PENALTY_STATUSES;
  return types.flatMap((type) => statuses.map((one) => slotOf(type, one)));
}

function slotOf(type: PenaltyType, status: PenaltyStatus): number {
  return PENALTY_TYPES.indexOf(type) * PENALTY_STATUSES.length + PENALTY_STATUSES.indexOf(status);
}

/** The sum of some counts; PostgreSQL's arrays begin at 1. */
function sumOf(slots: readonly number[], counts: SQLWrapper): SQL {
  return sql.join(
    slots.map((slot) => sql`${counts}[${sql.raw(String(slot + 1))}]`),
    sql` + `,
  );
}

/** The scope of the tallies for a filter's server, admin or unknown player. */
function scopeOf({ serverId, adminSteamId, playerSteamId }: PenaltyFilter): number {
  if (playerSteamId !== undefined) return TALLY_SCOPES.unknownPlayer;
  if (serverId !== undefined && adminSteamId !== undefined) return TALLY_SCOPES.serverAndAdmin;
  if (serverId !== undefined) return TALLY_SCOPES.server;
  return adminSteamId === undefined ? TALLY_SCOPES.all : TALLY_SCOPES.admin;
}

/** The tallies of one period of a filter's server, admin, unknown player or of all. */
function tallyCondition(filter: PenaltyFilter, period: keyof typeof TALLY_PERIODS): SQL {
  const { serverId, adminSteamId } = filter;
  return sql`${penaltyTallies.scope} = ${sql.raw(String(scopeOf(filter)))}
    and ${penaltyTallies.serverId} = ${serverId === undefined ? sql`0` : hiddenPlaceholder('serverId', 'integer')}
    and ${penaltyTallies.adminSteamId} = ${adminSteamId === undefined ? sql`0` : hiddenPlaceholder('adminSteamId', 'bigint')}
    and ${penaltyTallies.period} = ${sql.raw(String(TALLY_PERIODS[period]))}`;
}
