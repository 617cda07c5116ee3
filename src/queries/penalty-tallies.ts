import { type SQL, sql } from 'drizzle-orm';
import { penalties, penaltyTallies, TALLY_PERIODS, TALLY_SCOPES } from '../db/schema.ts';
import { type Select, unseen } from '../db/select.ts';
import {
  PENALTY_STATUSES,
  PENALTY_TYPES,
  type PenaltyStatus,
  type PenaltyType,
  parsePenaltyType,
} from '../penalty.ts';
import { UNKNOWN_STEAM_ID } from '../steam-id.ts';
import {
  conditions,
  countsBy,
  isDue,
  type PenaltyCounts,
  type PenaltyFilter,
  shapeOf,
  values,
} from './penalty-filter.ts';

/**
 * Exact totals of a filter, and where a deep page lies, out of the tallies that triggers keep (`penaltyTallies` in the
 * schema); what they cannot see, rows whose time has run out since, is added here.
 */

/** Fifteen counts, as `penaltyTallies.counts` keeps them. */
type Counts = readonly number[];

/** Days (UTC) that hold a page, and where in them it lies. Without `from`: all days. */
export type DayRange = {
  /** Their beginning and end, in PostgreSQL's words: the end may be the year 10000, which a `Date` does not read. */
  from?: string;
  before?: string;
  offset: number;
  limit: number;
  /** Rows of the filter in these days. */
  rowsInRange: number;
};

/** A walk of this many index entries takes as long as asking which days to walk. */
const SHORT_WALK = 2000;

/** The counts of a filter's server, admin or of all, corrected for rows whose time has run out by `now`. */
export async function readCounts(select: Select, filter: PenaltyFilter, now: Date): Promise<Counts> {
  const { types: _, status: __, ...scope } = filter;
  const subject = subjectOf(filter);
  const [[ever], due] = await Promise.all([
    select(
      'penalty tallies ever',
      () => sql`select ${penaltyTallies.counts} from ${penaltyTallies} where ${ofSubject('ever')}`,
      subject,
    ),
    select(
      `penalties due ${shapeOf(scope)}`,
      () => dueRows(sql`${penalties.type}`, scope),
      values(scope, now),
    ),
  ]);
  const stored: unknown = ever?.[0];
  const counts = Array.isArray(stored) ? stored.map(Number) : [];
  for (const [type, rows] of due) {
    const of = parsePenaltyType(String(type));
    const [active, expired] = [slotOf(of, 'ACTIVE'), slotOf(of, 'EXPIRED')];
    counts[active] = (counts[active] ?? 0) - Number(rows);
    counts[expired] = (counts[expired] ?? 0) + Number(rows);
  }
  return counts;
}

/** Counts by type, of one status or of all. */
export function sumCounts(counts: Counts, status: PenaltyStatus | undefined): PenaltyCounts {
  return countsBy((type) => sumAll(slotsOf([type], status).map((slot) => counts[slot] ?? 0)));
}

/** Finds the days that hold the rows from `offset` to `offset + limit`, newest first. */
export async function locatePage(
  select: Select,
  counts: Counts,
  filter: PenaltyFilter,
  { offset, limit, total, now }: { offset: number; limit: number; total: number; now: Date },
): Promise<DayRange> {
  const inScope = sumAll(counts);
  const walk = ((offset + limit) * inScope) / total;
  const walkFromEnd = ((total - offset) * inScope) / total;
  if (Math.min(walk, walkFromEnd) <= SHORT_WALK) return { offset, limit, rowsInRange: total };

  const subject = subjectOf(filter);
  // Of few rows a month is short enough. Of a server and an admin together there are no days.
  const byDay = inScope > 10 * SHORT_WALK && subject.scope !== TALLY_SCOPES.serverAndAdmin;
  const [found] = await select(
    `penalty page within ${byDay ? 'days' : 'months'} ${shapeOf(filter)}`,
    () => {
      const { status: _, ...others } = filter;
      const day = sql`(${penalties.createdAt} at time zone 'UTC')::date`;
      // Left out by PostgreSQL where nothing reads it.
      const due = sql`due(day, rows) as (${dueRows(day, others)})`;
      const months = bucketsOfPage('month', filter, { newer: sql`0`, within: sql`true` });
      if (!byDay) return sql`with ${due} ${months}`;
      const days = bucketsOfPage('day', filter, {
        newer: sql`(select newer from months)`,
        within: sql`bucket >= (select oldest from months) and bucket < (select before from months)`,
      });
      return sql`with ${due}, months as (${months}) ${days}`;
    },
    { ...values(filter, now), ...subject, offset, end: offset + limit },
  );
  if (!found?.[0]) throw new Error(`no tallies of ${total} penalties hold row ${offset}`);
  const [oldest, before, newer, rows] = found;
  return {
    from: `${oldest} UTC`,
    before: `${before} UTC`,
    offset: offset - Number(newer),
    limit,
    rowsInRange: Number(rows),
  };
}

/**
 * The months or days that hold the rows from `offset` to `end`: the oldest, the one after the newest, how many rows are
 * newer than all of them, how many they hold.
 */
function bucketsOfPage(
  period: 'month' | 'day',
  { types, status }: PenaltyFilter,
  { newer, within }: { newer: SQL; within: SQL },
): SQL {
  const counted = [
    sql`select bucket, ${sumOf(slotsOf(types, status))} as rows from ${penaltyTallies}
      where ${ofSubject(period)} and ${within}`,
  ];
  if (isOfTheClock(status)) {
    const sign = status === 'ACTIVE' ? sql`-` : sql`+`;
    counted.push(
      sql`select bucket, ${sign} rows from (
        select date_trunc(${sql.raw(`'${period}'`)}, day)::date as bucket, rows from due
      ) as due where ${within}`,
    );
  }
  return sql`
    select min(bucket) as oldest, (max(bucket) + ${sql.raw(`interval '1 ${period}'`)})::date as before,
      min(upto - rows) as newer, sum(rows) as rows
    from (
      select bucket, sum(rows) as rows, ${newer} + sum(sum(rows)) over (order by bucket desc) as upto
      from (${sql.join(counted, sql` union all `)}) as counted group by bucket
    ) as summed
    where upto > ${unseen('offset', 'bigint')} and upto - rows < ${unseen('end', 'bigint')}`;
}

/** Whether rows gain or lose this status by their time running out, which the tallies do not see. */
function isOfTheClock(status: PenaltyStatus | undefined): boolean {
  return status === 'ACTIVE' || status === 'EXPIRED';
}

/**
 * How many rows of a filter, grouped, have a time that has run out and a stored status that does not say so yet.
 * They are few once swept, a server's or an admin's rows may be millions: the offset keeps the planner from reading the
 * latter first. The second bound lets it expect few, too: of one value unseen it would expect a third of all.
 */
function dueRows(group: SQL, filter: PenaltyFilter): SQL {
  return sql`
    select ${group}, count(*) from (
      select * from ${penalties}
      where ${isDue(unseen('now', 'timestamptz'))} and ${penalties.endsAt} > '-infinity' offset 0
    ) as ${penalties}
    where ${conditions(filter)} group by 1`;
}

function sumAll(counts: Counts): number {
  return counts.reduce((sum, count) => sum + count, 0);
}

/** Where in `penaltyTallies.counts`, from 0, the rows of some types and of one status or all are counted. */
function slotsOf(types: readonly PenaltyType[] = PENALTY_TYPES, status?: PenaltyStatus): number[] {
  const statuses: readonly PenaltyStatus[] = status ? [status] : PENALTY_STATUSES;
  return types.flatMap((type) => statuses.map((one) => slotOf(type, one)));
}

function slotOf(type: PenaltyType, status: PenaltyStatus): number {
  return PENALTY_TYPES.indexOf(type) * PENALTY_STATUSES.length + PENALTY_STATUSES.indexOf(status);
}

/** PostgreSQL counts from 1. */
function sumOf(slots: readonly number[]): SQL {
  return sql.join(
    slots.map((slot) => sql`${penaltyTallies.counts}[${sql.raw(String(slot + 1))}]`),
    sql` + `,
  );
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

/** The tallies of one period of {@link subjectOf}. */
function ofSubject(period: keyof typeof TALLY_PERIODS): SQL {
  return sql`${penaltyTallies.scope} = ${unseen('scope', 'smallint')}
    and ${penaltyTallies.serverId} = ${unseen('serverId', 'integer')}
    and ${penaltyTallies.adminSteamId} = ${unseen('adminSteamId', 'bigint')}
    and ${penaltyTallies.period} = ${sql.raw(String(TALLY_PERIODS[period]))}`;
}
