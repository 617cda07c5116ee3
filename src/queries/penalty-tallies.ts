import { and, eq, getTableColumns, gte, lt, sql } from 'drizzle-orm';
import { penalties, penaltyTallies, TALLY_PERIODS, TALLY_SCOPES } from '../db/schema.ts';
import type { Select, Values } from '../db/select.ts';
import { PENALTY_STATUSES, PENALTY_TYPES, type PenaltyStatus, type PenaltyType } from '../penalty.ts';
import { UNKNOWN_STEAM_ID } from '../steam-id.ts';
import {
  conditions,
  isDue,
  literal,
  type PenaltyCounts,
  type PenaltyFilter,
  placeholders,
  shapeOf,
  values,
} from './penalty-filter.ts';

/** Fifteen counts, as `penaltyTallies.counts` keeps them. */
type Counts = readonly number[];
/** Counts of one month or day; `bucket` is its first day, `2026-11-01`. */
type Bucket = { bucket: string; counts: Counts };
/** Rows whose time has run out and whose stored status does not say so yet. */
type DueRows = { type: PenaltyType; day: string; rows: number };

export type Tallies = { ever: Counts; due: DueRows[] };

/** Days that hold a page, and where in them it lies. Without `from`: all days. */
export type DayRange = {
  from?: Date;
  before?: Date;
  offset: number;
  limit: number;
  /** Rows of the filter in these days; absent where nobody counted. */
  rowsInRange?: number;
};

/** A walk of this many index entries costs less than asking which days to walk. */
const SHORT_WALK = 1000;

/** The counts of a filter's server, admin or of all, corrected for rows whose time has run out by `now`. */
export async function readTallies(select: Select, filter: PenaltyFilter, now: Date): Promise<Tallies> {
  const scope: PenaltyFilter = { ...filter };
  delete scope.types;
  delete scope.status;
  const [found, dueRows] = await Promise.all([
    select(
      'penalty tallies ever',
      (builder) =>
        builder
          .select({ counts: penaltyTallies.counts })
          .from(penaltyTallies)
          .where(and(ofSubject(), eq(penaltyTallies.period, TALLY_PERIODS.ever))),
      subjectOf(filter),
    ),
    select(
      `penalties due ${shapeOf(scope)}`,
      (builder) => {
        // Due rows are few once swept, a server's or an admin's may be millions: the offset keeps the planner from
        // reading the latter first.
        const rows = builder
          .select(getTableColumns(penalties))
          .from(penalties)
          .where(isDue(sql.placeholder('now')))
          .offset(literal(0))
          .as('penalties');
        return builder
          .select({ type: penalties.type, day: dayOf(), rows: sql`count(*)` })
          .from(rows)
          .where(conditions(placeholders(scope)))
          .groupBy(penalties.type, dayOf());
      },
      values(scope, now),
    ),
  ]);
  const due = dueRows.map(readDueRows);
  return { ever: corrected(found.map(([counts]) => counts as Counts)[0] ?? [], due), due };
}

/** Buckets of one period from `from` to just before `before`, both days as `2026-11-01`. */
async function readBuckets(
  select: Select,
  filter: PenaltyFilter,
  { period, from, before }: { period: 'month' | 'day'; from: string; before: string },
): Promise<Bucket[]> {
  const found = await select(
    'penalty tallies of a period',
    (builder) =>
      builder
        .select({ bucket: penaltyTallies.bucket, counts: penaltyTallies.counts })
        .from(penaltyTallies)
        .where(
          and(
            ofSubject(),
            eq(penaltyTallies.period, sql.placeholder('period')),
            gte(penaltyTallies.bucket, sql.placeholder('from')),
            lt(penaltyTallies.bucket, sql.placeholder('before')),
          ),
        ),
    { ...subjectOf(filter), period: TALLY_PERIODS[period], from, before },
  );
  return found.map(readBucket);
}

function readBucket([bucket, counts]: Values): Bucket {
  return { bucket: String(bucket), counts: counts as Counts };
}

function readDueRows([type, day, rows]: Values): DueRows {
  return { type: type as PenaltyType, day: String(day), rows: Number(rows) };
}

/** Counts by type, of one status or of all. */
export function sumCounts(counts: Counts, status: PenaltyStatus | undefined): PenaltyCounts {
  const statuses: readonly PenaltyStatus[] = status ? [status] : PENALTY_STATUSES;
  const sum = (type: PenaltyType) =>
    statuses.reduce((total, one) => total + (counts[slotOf(type, one)] ?? 0), 0);
  return { ban: sum('ban'), mute: sum('mute'), gag: sum('gag'), silence: sum('silence'), warn: sum('warn') };
}

/** Finds the days that hold the rows from `offset` to `offset + limit`, newest first. */
export async function locatePage(
  select: Select,
  tallies: Tallies,
  filter: PenaltyFilter,
  { offset, limit, total }: { offset: number; limit: number; total: number },
): Promise<DayRange> {
  const inScope = sumAll(tallies.ever);
  const walk = ((offset + limit) * inScope) / total;
  const walkFromEnd = ((total - offset) * inScope) / total;
  if (Math.min(walk, walkFromEnd) <= SHORT_WALK) return { offset, limit, rowsInRange: total };

  const everyMonth = await readBuckets(select, filter, {
    period: 'month',
    from: '-infinity',
    before: 'infinity',
  });
  const months = locateBuckets(
    everyMonth.map((month) => correctedBucket(month, tallies.due, (day) => `${day.slice(0, 7)}-01`)),
    filter,
    { offset, limit },
  );
  const [newest, oldest] = [months.buckets[0], months.buckets.at(-1)];
  if (!newest || !oldest) return { offset, limit };
  // Of a server and an admin together there are no days: a month of theirs is short.
  const inMonths = months.buckets.reduce((sum, { counts }) => sum + sumAll(counts), 0);
  if (inMonths <= SHORT_WALK || subjectOf(filter).scope === TALLY_SCOPES.serverAndAdmin) {
    return toRange(months, { from: startOf(oldest), before: startOfNextMonth(newest) }, limit);
  }
  const found = await readBuckets(select, filter, {
    period: 'day',
    from: oldest.bucket,
    before: startOfNextMonth(newest).toISOString().slice(0, 10),
  });
  const days = locateBuckets(
    found.map((day) => correctedBucket(day, tallies.due, (dueDay) => dueDay)),
    filter,
    { offset: months.offset, limit },
  );
  const [newestDay, oldestDay] = [days.buckets[0], days.buckets.at(-1)];
  if (!newestDay || !oldestDay)
    return toRange(months, { from: startOf(oldest), before: startOfNextMonth(newest) }, limit);
  return toRange(
    days,
    { from: startOf(oldestDay), before: new Date(startOf(newestDay).getTime() + 86_400_000) },
    limit,
  );
}

type Located = { buckets: Bucket[]; offset: number; rows: number };

/** The buckets, newest first, that hold a stretch of rows; the offset left within them. */
function locateBuckets(
  buckets: Bucket[],
  { types = PENALTY_TYPES, status }: PenaltyFilter,
  { offset, limit }: { offset: number; limit: number },
): Located {
  const located: Located = { buckets: [], offset, rows: 0 };
  for (const bucket of buckets.toSorted((a, b) => (a.bucket < b.bucket ? 1 : -1))) {
    const counts = sumCounts(bucket.counts, status);
    const rows = types.reduce((sum, type) => sum + counts[type], 0);
    if (rows === 0) continue;
    if (located.buckets.length === 0 && located.offset >= rows) {
      located.offset -= rows;
      continue;
    }
    located.buckets.push(bucket);
    located.rows += rows;
    if (located.rows >= located.offset + limit) break;
  }
  return located;
}

function sumAll(counts: Counts): number {
  return counts.reduce((sum, count) => sum + count, 0);
}

function toRange(
  { offset, rows }: Located,
  { from, before }: { from: Date; before: Date },
  limit: number,
): DayRange {
  return { from, before, offset, limit, rowsInRange: rows };
}

function startOf({ bucket }: Bucket): Date {
  return new Date(`${bucket}T00:00:00Z`);
}

function startOfNextMonth(bucket: Bucket): Date {
  const start = startOf(bucket);
  return new Date(Date.UTC(start.getUTCFullYear(), start.getUTCMonth() + 1, 1));
}

function correctedBucket(bucket: Bucket, due: DueRows[], bucketOf: (day: string) => string): Bucket {
  const own = due.filter(({ day }) => bucketOf(day) === bucket.bucket);
  return own.length === 0 ? bucket : { bucket: bucket.bucket, counts: corrected(bucket.counts, own) };
}

function corrected(counts: Counts, due: DueRows[]): Counts {
  const result = [...counts];
  for (const { type, rows } of due) {
    result[slotOf(type, 'ACTIVE')] = (result[slotOf(type, 'ACTIVE')] ?? 0) - rows;
    result[slotOf(type, 'EXPIRED')] = (result[slotOf(type, 'EXPIRED')] ?? 0) + rows;
  }
  return result;
}

function slotOf(type: PenaltyType, status: PenaltyStatus): number {
  return PENALTY_TYPES.indexOf(type) * PENALTY_STATUSES.length + PENALTY_STATUSES.indexOf(status);
}

/** Which tallies count the rows of a filter's server, admin or unknown player. */
function subjectOf({ serverId, adminSteamId, playerSteamId }: PenaltyFilter) {
  const subject = { serverId: serverId ?? 0, adminSteamId: adminSteamId ?? UNKNOWN_STEAM_ID };
  if (playerSteamId !== undefined) return { ...subject, scope: TALLY_SCOPES.unknownPlayer };
  if (serverId !== undefined && adminSteamId !== undefined)
    return { ...subject, scope: TALLY_SCOPES.serverAndAdmin };
  if (serverId !== undefined) return { ...subject, scope: TALLY_SCOPES.server };
  return { ...subject, scope: adminSteamId === undefined ? TALLY_SCOPES.all : TALLY_SCOPES.admin };
}

function ofSubject() {
  return and(
    eq(penaltyTallies.scope, sql.placeholder('scope')),
    eq(penaltyTallies.serverId, sql.placeholder('serverId')),
    eq(penaltyTallies.adminSteamId, sql.placeholder('adminSteamId')),
  );
}

function dayOf() {
  return sql<string>`to_char(${penalties.createdAt} at time zone 'UTC', 'YYYY-MM-DD')`;
}
