import { type SQL, sql } from 'drizzle-orm';
import { penalties, penaltyTallies, TALLY_PERIODS, TALLY_SCOPES } from '../../db/schema/penalties.ts';
import { arrayLiteral, hiddenPlaceholder, type PlaceholderValues, type Select } from '../../db/select.ts';
import {
  PENALTY_STATUSES,
  PENALTY_TYPES,
  type PenaltyStatus,
  type PenaltyType,
  parsePenaltyType,
} from '../../domain/penalty.ts';
import { UNKNOWN_STEAM_ID } from '../../domain/steam-id.ts';
import {
  countsBy,
  dueCondition,
  filterCondition,
  filterValues,
  type PenaltyCounts,
  type PenaltyFilter,
  shapeOf,
} from './filter.ts';

/**
 * Exact totals of a filter, and where deep pages begin, from the tallies that triggers maintain (`penaltyTallies` in
 * the schema). Tallies count stored statuses; they are corrected here for ACTIVE rows whose end has passed.
 */

/** Fifteen counts in the order of `penaltyTallies.counts`. */
type Counts = readonly number[];

/** The counts of a server, an admin or of all at a moment. */
export type Counted = {
  counts: Counts;
  /** Rows that have ended but are still stored as ACTIVE, if the tallies of the filter differ by them. */
  due: readonly DueRows[];
};

/** Rows of one type that were created on one day (UTC). */
type DueRows = { day: string; type: PenaltyType; rows: number };

/** The periods of the tallies that lead to a row, and whether they are corrected as the counts are. */
export type Steps = { periods: readonly Period[]; isCorrected: boolean };
type Period = 'month' | 'day';

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
 * Selects `counts`, the stored ones of a filter's server, admin or of all, and `due`, the rows that are due where they
 * matter. Each is one text, since they come with every row of a page. Read by {@link readCounted}.
 */
export function buildCounted(filter: PenaltyFilter): SQL {
  const due = changesWithTime(filter.status)
    ? sql`(select string_agg(concat_ws(' ', day, type, rows), ',') from (${dueRows(filter)}) as due)`
    : sql`null`;
  return sql`
    select (select ${penaltyTallies.counts}::text from ${penaltyTallies} where ${ofSubject('ever')}) as counts, ${due} as due`;
}

/** The values of the placeholders of {@link buildCounted}. */
export function countedValues(filter: PenaltyFilter, now: Date): PlaceholderValues {
  return { ...filterValues(filter, now), ...subjectOf(filter) };
}

/** Reads {@link buildCounted}: the counts corrected for rows that have ended by `now`. */
export function readCounted({ counts: stored, due: found }: { counts: unknown; due: unknown }): Counted {
  const counts = typeof stored === 'string' ? stored.slice(1, -1).split(',').map(Number) : [];
  const due = typeof found === 'string' ? found.split(',').map(readDue) : [];
  for (const { type, rows } of due) {
    const [active, expired] = [slotOf(type, 'ACTIVE'), slotOf(type, 'EXPIRED')];
    counts[active] = (counts[active] ?? 0) - rows;
    counts[expired] = (counts[expired] ?? 0) + rows;
  }
  return { counts, due };
}

function readDue(text: string): DueRows {
  const [day = '', type = '', rows] = text.split(' ');
  return { day, type: parsePenaltyType(type), rows: Number(rows) };
}

/** {@link buildCounted} in a statement of its own. */
export async function loadCounts(select: Select, filter: PenaltyFilter, now: Date): Promise<Counted> {
  const [row] = await select(
    `penalty counts ${shapeOf({ ...filter, types: undefined })}`,
    () => buildCounted(filter),
    countedValues(filter, now),
  );
  const [counts, due] = row ?? [];
  return readCounted({ counts, due });
}

/** Counts by type, of one status or of all. */
export function sumCounts({ counts }: Counted, status: PenaltyStatus | undefined): PenaltyCounts {
  return countsBy((type) => sumAll(slotsOf([type], status).map((slot) => counts[slot] ?? 0)));
}

/** The steps that find a row fastest; undefined: few enough entries precede it to scan them. */
export function planSteps(
  skip: number,
  { counts, due }: Counted,
  filter: PenaltyFilter,
  total: number,
): Steps | undefined {
  const inScope = sumAll(counts);
  if ((skip * inScope) / total <= MAX_SCANNED_ENTRIES) return undefined;
  // With few rows a month is precise enough. For a server and an admin together there are no tallies by day.
  const byDay = inScope > 10 * MAX_SCANNED_ENTRIES && subjectOf(filter).scope !== TALLY_SCOPES.serverAndAdmin;
  return {
    periods: byDay ? ['month', 'day'] : ['month'],
    isCorrected: due.length > 0,
  };
}

/** The values of the placeholders of {@link buildBucket}. */
export function bucketValues(filter: PenaltyFilter, { due }: Counted): PlaceholderValues {
  const { types = PENALTY_TYPES } = filter;
  const listed = due.filter(({ type }) => types.includes(type));
  return {
    ...subjectOf(filter),
    dueDays: arrayLiteral(listed.map(({ day }) => day)),
    dueRows: arrayLiteral(listed.map(({ rows }) => rows)),
  };
}

/**
 * Finds the month or day (UTC) that contains the row at the placeholder `skip` of a filter.
 * @param isBackwards whether rows count from the oldest; otherwise from the newest.
 * @returns common table expressions, the last of which, `table`, is that bucket; its ends are those in that direction.
 */
export function buildBucket(
  { periods, isCorrected }: Steps,
  filter: PenaltyFilter,
  isBackwards: boolean,
): { expressions: SQL; table: SQL } & Bucket {
  const found = periods.map((period, index) => {
    const counted = isCorrected ? correctedBuckets(period, filter) : storedBuckets(period, filter);
    return sql`${sql.identifier(period)} as (${bucketOf(counted, periods[index - 1], isBackwards)})`;
  });
  const period = periods.at(-1) ?? 'month';
  const at = (end: string) => sql`(bucket ${sql.raw(end)})::timestamp at time zone 'UTC'`;
  const skip = hiddenPlaceholder('skip', 'bigint');
  return {
    expressions: sql`with ${sql.join(found, sql`, `)}`,
    table: sql`${sql.identifier(period)}`,
    // Both ends, so that whichever index the planner takes, it reads no more than the bucket.
    within: sql`${penalties.createdAt} >= ${at('')} and ${penalties.createdAt} < ${at(`+ interval '1 ${period}'`)}`,
    fromFirst: sql`${skip} - skipped`,
    fromLast: sql`skipped + rows - 1 - ${skip}`,
    isNearFirst: sql`(${skip} < skipped + rows / 2)`,
  };
}

/** One step of {@link buildBucket}; reading ends at the bucket, since the index is in the order of the sums. */
function bucketOf(counted: SQL, within: Period | undefined, isBackwards: boolean): SQL {
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
    where upto > ${hiddenPlaceholder('skip', 'bigint')} order by ${order} limit 1`;
}

/** The months or days of a filter with their rows, by the stored statuses. */
function storedBuckets(period: Period, { types, status }: PenaltyFilter): SQL {
  return sql`select bucket, ${sumOf(slotsOf(types, status))} as rows from ${penaltyTallies} where ${ofSubject(period)}`;
}

/** The same, with rows that have ended as EXPIRED. Their days and numbers are from {@link loadCounts}, of the same snapshot. */
function correctedBuckets(period: Period, { types, status }: PenaltyFilter): SQL {
  const sign = sql.raw(status === 'ACTIVE' ? '-' : '+');
  return sql`
    select bucket, ${sumOf(slotsOf(types, status))} ${sign} coalesce(ended.rows, 0) as rows
    from ${penaltyTallies} left join (
      select date_trunc(${sql.raw(`'${period}'`)}, day::timestamp)::date as bucket, sum(rows)::integer as rows
      from unnest(${hiddenPlaceholder('dueDays', 'date[]')}, ${hiddenPlaceholder('dueRows', 'integer[]')}) as due (day, rows) group by 1
    ) as ended using (bucket)
    where ${ofSubject(period)}`;
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
    select to_char(${penalties.createdAt} at time zone 'UTC', 'YYYY-MM-DD') as day, ${penalties.type} as type, count(*) as rows
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
function sumOf(slots: readonly number[]): SQL {
  return sql.join(
    slots.map((slot) => sql`${penaltyTallies.counts}[${sql.raw(String(slot + 1))}]`),
    sql` + `,
  );
}

/** The key of the tallies for a filter's server, admin or unknown player. */
function subjectOf({ serverId, adminSteamId, playerSteamId }: PenaltyFilter) {
  const subject = { serverId: serverId ?? 0, adminSteamId: adminSteamId ?? UNKNOWN_STEAM_ID };
  if (playerSteamId !== undefined) return { ...subject, scope: TALLY_SCOPES.unknownPlayer };
  if (serverId !== undefined && adminSteamId !== undefined)
    return { ...subject, scope: TALLY_SCOPES.serverAndAdmin };
  if (serverId !== undefined) return { ...subject, scope: TALLY_SCOPES.server };
  return { ...subject, scope: adminSteamId === undefined ? TALLY_SCOPES.all : TALLY_SCOPES.admin };
}

/** The tallies of one period of {@link subjectOf}. */
function ofSubject(period: keyof typeof TALLY_PERIODS): SQL {
  return sql`${penaltyTallies.scope} = ${hiddenPlaceholder('scope', 'smallint')}
    and ${penaltyTallies.serverId} = ${hiddenPlaceholder('serverId', 'integer')}
    and ${penaltyTallies.adminSteamId} = ${hiddenPlaceholder('adminSteamId', 'bigint')}
    and ${penaltyTallies.period} = ${sql.raw(String(TALLY_PERIODS[period]))}`;
}
