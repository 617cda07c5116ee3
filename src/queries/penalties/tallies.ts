import { type SQL, sql } from 'drizzle-orm';
import { penalties, penaltyTallies, TALLY_PERIODS, TALLY_SCOPES } from '../../db/schema/penalties.ts';
import { type Select, selectionOf, unseen } from '../../db/select.ts';
import {
  PENALTY_STATUSES,
  PENALTY_TYPES,
  type PenaltyStatus,
  type PenaltyType,
  parsePenaltyType,
} from '../../domain/penalty.ts';
import { UNKNOWN_STEAM_ID } from '../../domain/steam-id.ts';
import {
  conditions,
  countsBy,
  isDue,
  type PenaltyCounts,
  type PenaltyFilter,
  shapeOf,
  values,
} from './filter.ts';

/**
 * Exact totals of a filter, and the position of deep pages, from the tallies that triggers maintain (`penaltyTallies` in
 * the schema). Tallies count stored statuses; they are corrected here for ACTIVE rows whose end has passed.
 */

/** Fifteen counts in the order of `penaltyTallies.counts`. */
type Counts = readonly number[];

/** The days (UTC) that contain a page, and its position in them. Without `from`: all days. */
export type DayRange = {
  /** Begin and end as PostgreSQL text: the end may be in the year 10000, which `Date` does not parse. */
  from?: string;
  before?: string;
  offset: number;
  limit: number;
  /** Rows of the filter in these days. */
  rowsInRange: number;
};

/** Scanning this many index entries takes as long as finding the days to scan. */
const SHORT_WALK = 2000;

const STORED = selectionOf({ counts: penaltyTallies.counts });
const DUE = selectionOf({ type: penalties.type, rows: sql`count(*)` });

/** The counts of a filter's server, admin or of all, corrected for rows that have ended by `now`. */
export async function loadCounts(select: Select, filter: PenaltyFilter, now: Date): Promise<Counts> {
  const { types: _, status: __, ...scope } = filter;
  const subject = subjectOf(filter);
  const [[stored], due] = await Promise.all([
    select(
      'penalty tallies ever',
      () => sql`select ${STORED.columns} from ${penaltyTallies} where ${ofSubject('ever')}`,
      subject,
    ),
    select(`penalties due ${shapeOf(scope)}`, () => dueRows(DUE.columns, scope), values(scope, now)),
  ]);
  const ever: unknown = stored?.[STORED.at.counts];
  const counts = Array.isArray(ever) ? ever.map(Number) : [];
  for (const row of due) {
    const type = parsePenaltyType(String(row[DUE.at.type]));
    const rows = Number(row[DUE.at.rows]);
    const [active, expired] = [slotOf(type, 'ACTIVE'), slotOf(type, 'EXPIRED')];
    counts[active] = (counts[active] ?? 0) - rows;
    counts[expired] = (counts[expired] ?? 0) + rows;
  }
  return counts;
}

/** Counts by type, of one status or of all. */
export function sumCounts(counts: Counts, status: PenaltyStatus | undefined): PenaltyCounts {
  return countsBy((type) => sumAll(slotsOf([type], status).map((slot) => counts[slot] ?? 0)));
}

/** Finds the days that contain the rows from `offset` to `offset + limit`, newest first. */
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
  // With few rows a month is precise enough. For a server and an admin together there are no tallies by day.
  const byDay = inScope > 10 * SHORT_WALK && subject.scope !== TALLY_SCOPES.serverAndAdmin;
  const [found] = await select(
    `penalty page within ${byDay ? 'days' : 'months'} ${shapeOf(filter)}`,
    () => {
      const { status: _, ...others } = filter;
      const day = sql`(${penalties.createdAt} at time zone 'UTC')::date`;
      // PostgreSQL skips it if nothing reads it.
      const due = sql`due as (${dueRows(sql`${day} as day, count(*) as rows`, others)})`;
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
  const { at } = SPANS[byDay ? 'day' : 'month'];
  if (!found?.[at.oldest]) throw new Error(`no tallies of ${total} penalties hold row ${offset}`);
  return {
    from: `${found[at.oldest]} UTC`,
    before: `${found[at.before]} UTC`,
    offset: offset - Number(found[at.newer]),
    limit,
    rowsInRange: Number(found[at.rows]),
  };
}

/** The oldest month or day, the one after the newest, the number of newer rows, and the number of rows in them. */
function spanOf(period: 'month' | 'day') {
  return selectionOf({
    oldest: sql`min(bucket)`,
    before: sql`(max(bucket) + ${sql.raw(`interval '1 ${period}'`)})::date`,
    newer: sql`min(upto - rows)`,
    rows: sql`sum(rows)`,
  });
}
const SPANS = { month: spanOf('month'), day: spanOf('day') };

/** The {@link SPANS span} of the months or days that contain the rows from `offset` to `end`. */
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
    select ${SPANS[period].columns} from (
      select bucket, sum(rows) as rows, ${newer} + sum(sum(rows)) over (order by bucket desc) as upto
      from (${sql.join(counted, sql` union all `)}) as counted group by bucket
    ) as summed
    where upto > ${unseen('offset', 'bigint')} and upto - rows < ${unseen('end', 'bigint')}`;
}

/** Whether rows gain or lose this status when they end, which the tallies do not reflect. */
function isOfTheClock(status: PenaltyStatus | undefined): boolean {
  return status === 'ACTIVE' || status === 'EXPIRED';
}

/**
 * ACTIVE rows of a filter whose end has passed, grouped by the first column. They are few, while a server or an admin
 * may have millions of rows: `offset 0` keeps the planner from reading those first. The second bound on `ends_at` lowers
 * its estimate: for a single unknown bound it would expect a third of all rows.
 */
function dueRows(columns: SQL, filter: PenaltyFilter): SQL {
  return sql`
    select ${columns} from (
      select * from ${penalties}
      where ${isDue(unseen('now', 'timestamptz'))} and ${penalties.endsAt} > '-infinity' offset 0
    ) as ${penalties}
    where ${conditions(filter)} group by 1`;
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
  return sql`${penaltyTallies.scope} = ${unseen('scope', 'smallint')}
    and ${penaltyTallies.serverId} = ${unseen('serverId', 'integer')}
    and ${penaltyTallies.adminSteamId} = ${unseen('adminSteamId', 'bigint')}
    and ${penaltyTallies.period} = ${sql.raw(String(TALLY_PERIODS[period]))}`;
}
