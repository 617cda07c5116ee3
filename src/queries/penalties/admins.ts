import { eq, sql } from 'drizzle-orm';
import type { Db } from '../../db/client.ts';
import {
  penalties,
  penaltyTallies,
  playerNames,
  TALLY_PERIODS,
  TALLY_SCOPES,
} from '../../db/schema/penalties.ts';
import { likePart } from '../../db/select.ts';
import { byPenaltyType } from '../../domain/penalty.ts';
import { type SteamId64, UNKNOWN_STEAM_ID } from '../../domain/steam-id.ts';
import { foldText } from '../../domain/text/fold-text.ts';
import { countsByType, liftedByRemoval, type PenaltyCounts, readCounts } from './filter.ts';

/** An admin by the penalties that they gave. */
type PenaltyAdmin = {
  steamId64: SteamId64;
  /** The name on their newest penalty. */
  name: string;
  /** How many they gave. */
  penalties: number;
};

/**
 * Admins whose name on their newest penalty, nickname or name as a penalized player contains a text, ignoring
 * letter case and diacritics; those who gave the most penalties first. An empty text matches nobody.
 */
export async function searchAdmins(
  db: Db,
  text: string,
  { limit }: { limit: number },
): Promise<PenaltyAdmin[]> {
  const folded = foldText(text).trim();
  if (folded === '') return [];
  const pattern = likePart(folded);
  const { scope, period, adminSteamId, counts } = penaltyTallies;
  const rows = await db.execute<PenaltyAdmin>(sql`
    select ${adminSteamId}::text as "steamId64", newest.name, totals.penalties::integer
    from ${penaltyTallies}
    cross join lateral (select sum(count) as penalties from unnest(${counts}) as count) as totals
    cross join lateral (${newestNameOf(adminSteamId)}) as newest
    where ${scope} = ${TALLY_SCOPES.admin} and ${period} = ${TALLY_PERIODS.ever} and ${adminSteamId} <> 0
      and (fold_text(newest.name) like ${pattern} or exists (
        select from ${playerNames} where ${playerNames.steamId64} = ${adminSteamId} and ${playerNames.folded} like ${pattern}
      ))
    order by totals.penalties desc, ${adminSteamId} limit ${limit}`);
  return [...rows];
}

/** Whether somebody issued any penalty. */
export async function hasIssuedPenalties(db: Db, steamId64: SteamId64): Promise<boolean> {
  const issued = db.select({ id: penalties.id }).from(penalties).where(eq(penalties.adminSteamId, steamId64));
  return (await issued.limit(1)).length > 0;
}

/** The periods of the statistics, in days before now. */
export const ADMIN_PERIODS = [7, 30, 90] as const;
type AdminPeriod = (typeof ADMIN_PERIODS)[number];

/** The penalties that were created in a period, by type, and how many of them have been lifted. */
export type AdminPeriodCounts = PenaltyCounts & { lifted: number };

export type AdminStatistics = {
  /** `'0'`: the console, and admins who are unknown or were erased. */
  steamId64: SteamId64;
  /** The name on their newest penalty; empty for `'0'`. */
  name: string;
  periods: Record<AdminPeriod, AdminPeriodCounts>;
};

/** What every admin gave in the last 90 days; who gave the most comes first. */
export async function listAdminStatistics(db: Db, now: Date): Promise<AdminStatistics[]> {
  const { adminSteamId, createdAt, status } = penalties;
  const since = (days: number) => new Date(now.getTime() - days * 86_400_000).toISOString();
  const rows = await db.execute<{
    id: string;
    name: string | null;
    days: number;
    counts: string;
    lifted: string;
  }>(sql`
    with totals as (
      select ${adminSteamId} as id, period.days, ${countsByType(penalties.type)} as counts,
        count(*) filter (where ${status} = 'UNBANNED' and not ${sql.raw(liftedByRemoval('penalties'))}) as lifted, count(*) as amount
      from ${penalties}
      join (values ${sql.join(
        ADMIN_PERIODS.map((days) => sql`(${days}::integer, ${since(days)}::timestamptz)`),
        sql`, `,
      )}) as period (days, since) on ${createdAt} > period.since
      where ${createdAt} > ${since(Math.max(...ADMIN_PERIODS))}::timestamptz and ${createdAt} <= ${now.toISOString()}::timestamptz
      group by ${adminSteamId}, period.days
    )
    select totals.id::text as id, totals.days, totals.counts, totals.lifted, newest.name
    from totals left join lateral (${newestNameOf(sql`totals.id`)}) as newest on totals.id <> 0
    order by max(totals.amount) over (partition by totals.id) desc, totals.id`);
  return [...Map.groupBy(rows, ({ id }) => id)].map(([id, ofAdmin]) => {
    const countsOf = (days: AdminPeriod) => {
      const row = ofAdmin.find((each) => each.days === days);
      return { ...(row ? readCounts(row.counts) : byPenaltyType(() => 0)), lifted: Number(row?.lifted ?? 0) };
    };
    return {
      steamId64: id === '0' ? UNKNOWN_STEAM_ID : (id as SteamId64),
      name: ofAdmin[0]?.name ?? '',
      periods: { 7: countsOf(7), 30: countsOf(30), 90: countsOf(90) },
    };
  });
}

function newestNameOf(adminSteamId: Parameters<typeof sql>[1]) {
  return sql`
    select ${penalties.adminName} as name from ${penalties} where ${penalties.adminSteamId} = ${adminSteamId}
    order by ${penalties.createdAt} desc, ${penalties.id} desc limit 1`;
}
