import { type SQL, sql } from 'drizzle-orm';
import { penalties, penaltyTallies, TALLY_PERIODS, TALLY_SCOPES } from '../../db/schema/penalties.ts';
import { hiddenPlaceholder } from '../../db/select.ts';
import {
  byPenaltyType,
  PENALTY_STATUSES,
  PENALTY_TYPES,
  type PenaltyStatus,
  type PenaltyType,
} from '../../domain/penalty.ts';
import {
  countsByType,
  dueCondition,
  filterCondition,
  type PenaltyCounts,
  type PenaltyFilter,
  readCounts,
  typeCondition,
} from './filter.ts';
import { NEWEST_FIRST, OLDEST_FIRST } from './row.ts';

/**
 * Exact totals of a filter, and where deep pages begin, from the tallies that triggers maintain (`penaltyTallies` in
 * the schema). Tallies count stored statuses; they are corrected here for ACTIVE rows whose end has passed.
 */

type Period = 'month' | 'day';

/** The month or day (UTC) that contains a row of a filter, as SQL. */
type Bucket = {
  /** Common table expressions, after those of {@link buildCounted}. */
  expressions: SQL;
  /** The last of them: one row for the bucket, none if there is no such row. All that follows is over its columns. */
  table: SQL;
  /** The condition of the bucket's rows. */
  within: SQL;
  /** The position of the row among them in this order, from 0. */
  position: SQL;
  order: SQL;
};

/**
 * Common table expressions, the last of which is `counted` with one row: `counts` as they are stored for a filter's
 * server, admin or for all, and `due`, the ACTIVE rows whose end has passed by type, null where the status of the filter
 * does not depend on the time. Both are texts, since they come with every row of a page. Read by {@link readCounted}; the
 * placeholders are those of the filter.
 */
export function buildCounted(filter: PenaltyFilter): SQL {
  const counts = sql`
    (select ${penaltyTallies.counts}::text from ${penaltyTallies} where ${tallyCondition(filter, 'ever')}) as counts`;
  if (!changesWithTime(filter.status)) return sql`counted as (select ${counts}, null as due)`;
  return sql`due as (${dueRows(filter)}), counted as (select ${counts}, ${countsByType(sql`type`)} as due from due)`;
}

/** Reads {@link buildCounted}: the counts of one status or of all, corrected for rows that have ended by `now`. */
export function readCounted(
  { counts: stored, due }: { counts: unknown; due: unknown },
  status: PenaltyStatus | undefined,
): PenaltyCounts {
  const counts = typeof stored === 'string' ? stored.slice(1, -1).split(',').map(Number) : [];
  const storedOf = (type: PenaltyType) =>
    slotsOf([type], status).reduce((sum, slot) => sum + (counts[slot] ?? 0), 0);
  if (typeof due !== 'string') return byPenaltyType(storedOf);
  const ended = readCounts(due);
  return byPenaltyType((type) => storedOf(type) + signOfDue(status) * ended[type]);
}

/**
 * Finds the bucket of a row of a filter.
 * @param position of the row, from 0 for the newest.
 */
export function buildBucket(filter: PenaltyFilter, position: SQL): Bucket {
  // For a server and an admin together there are no tallies by day.
  const period = scopeOf(filter) === TALLY_SCOPES.serverAndAdmin ? 'month' : 'day';
  const month = findBucket(bucketsOf('month', filter), {
    position,
    order: sql`desc`,
    due: addDue(filter, sql`cardinality(${DUE_DAYS}) - width_bucket(bucket - 1, ${DUE_DAYS})`),
  });
  const daysOfMonth = sql`
    ${bucketsOf('day', filter)} and bucket >= month.bucket and bucket < month.bucket + interval '1 month'`;
  const day = findBucket(daysOfMonth, {
    position: sql`month.position`,
    order: sql`asc`,
    due: addDue(filter, sql`width_bucket(bucket, ${DUE_DAYS}) - width_bucket(month.bucket - 1, ${DUE_DAYS})`),
  });
  const expressions = [
    ...(changesWithTime(filter.status) ? [sql`due_days as (${dueDays(filter)})`] : []),
    sql`month as (${month})`,
    ...(period === 'day' ? [sql`day as (select found.* from month, lateral (${day}) as found)`] : []),
  ];
  const at = (end: string) => sql`(bucket ${sql.raw(end)})::timestamp at time zone 'UTC'`;
  return {
    expressions: sql.join(expressions, sql`, `),
    table: sql`${sql.identifier(period)}`,
    // Both ends, so that whichever index the planner takes, it reads no more than the bucket.
    within: sql`${penalties.createdAt} >= ${at('')} and ${penalties.createdAt} < ${at(`+ interval '1 ${period}'`)}`,
    position: sql`position`,
    order: period === 'day' ? NEWEST_FIRST : OLDEST_FIRST,
  };
}

type BucketSearch = {
  position: SQL;
  order: SQL;
  /** {@link addDue} for the rows in a bucket and in those before it in this order. */
  due: SQL;
};

/**
 * The bucket with the row at a position, and the position of the row within it in the opposite order, which the running
 * total gives at no extra cost. `offset 0` has the buckets read in order, only up to the one that is found.
 */
function findBucket(buckets: SQL, { position, order, due }: BucketSearch): SQL {
  return sql`
    select bucket, upto - 1 - ${position} as position from (
      select bucket, (sum(rows) over (order by bucket ${order} rows unbounded preceding)) ${due} as upto
      from (${buckets} order by bucket ${order} offset 0) as buckets
    ) as summed
    where upto > ${position} order by bucket ${order} limit 1`;
}

/** The months or days of a filter with their stored rows. */
function bucketsOf(period: Period, filter: PenaltyFilter): SQL {
  const rows = sumOf(slotsOf(filter.types, filter.status));
  return sql`select bucket, ${rows} as rows from ${penaltyTallies} where ${tallyCondition(filter, period)}`;
}

/** Corrects a number of stored rows by the number of rows among them that are due. */
function addDue({ status }: PenaltyFilter, rows: SQL): SQL {
  if (!changesWithTime(status)) return sql``;
  return sql`${sql.raw(signOfDue(status) === 1 ? '+' : '-')} (${rows})`;
}

/** The days of the rows that are due, in order: `width_bucket` counts those up to a day. */
function dueDays({ types }: PenaltyFilter): SQL {
  return sql`
    select coalesce(array_agg((created_at at time zone 'UTC')::date order by created_at), '{}') as days
    from due where ${types ? typeCondition(types, sql`type`) : sql`true`}`;
}

const DUE_DAYS = sql`(select days from due_days)`;

/** Whether rows gain or lose this status when they end, which the tallies do not reflect. */
function changesWithTime(status: PenaltyStatus | undefined): boolean {
  return signOfDue(status) !== 0;
}

/** What a row that is due adds to the stored rows of a status: it is EXPIRED and no longer ACTIVE. */
function signOfDue(status: PenaltyStatus | undefined): -1 | 0 | 1 {
  if (status === 'ACTIVE') return -1;
  return status === 'EXPIRED' ? 1 : 0;
}

/**
 * ACTIVE rows of a filter's server, admin or of all whose end has passed. They are few, while a server or an admin may have
 * millions of rows: `offset 0` keeps the planner from reading those first. The second bound on `ends_at` lowers its
 * estimate: for a single unknown bound it would expect a third of all rows.
 */
function dueRows({ types: _, status: __, ...scope }: PenaltyFilter): SQL {
  return sql`
    select ${penalties.createdAt} as created_at, ${penalties.type} as type
    from (
      select * from ${penalties}
      where ${dueCondition(hiddenPlaceholder('now', 'timestamptz'))} and ${penalties.endsAt} > '-infinity' offset 0
    ) as ${penalties}
    where ${filterCondition(scope)}`;
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
function sumOf(slots: readonly number[]): SQL {
  return sql.join(
    slots.map((slot) => sql`${penaltyTallies.counts}[${sql.raw(String(slot + 1))}]`),
    sql` + `,
  );
}

/** The scope of the tallies for a filter's server and admin. */
function scopeOf({ serverId, adminSteamId }: PenaltyFilter): number {
  if (serverId !== undefined && adminSteamId !== undefined) return TALLY_SCOPES.serverAndAdmin;
  if (serverId !== undefined) return TALLY_SCOPES.server;
  return adminSteamId === undefined ? TALLY_SCOPES.all : TALLY_SCOPES.admin;
}

/** Selects the tallies for a filter's server and admin by one kind of period. */
function tallyCondition(filter: PenaltyFilter, period: keyof typeof TALLY_PERIODS): SQL {
  const { serverId, adminSteamId } = filter;
  return sql`${penaltyTallies.scope} = ${sql.raw(String(scopeOf(filter)))}
    and ${penaltyTallies.serverId} = ${serverId === undefined ? sql`0` : hiddenPlaceholder('serverId', 'integer')}
    and ${penaltyTallies.adminSteamId} = ${adminSteamId === undefined ? sql`0` : hiddenPlaceholder('adminSteamId', 'bigint')}
    and ${penaltyTallies.period} = ${sql.raw(String(TALLY_PERIODS[period]))}`;
}
