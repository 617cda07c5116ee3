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
import { type SteamId64, UNKNOWN_STEAM_ID } from '../../domain/steam-id.ts';
import { foldText } from '../../domain/text/fold-text.ts';
import { DAY_MS } from '../../domain/time.ts';
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

export type AdminStatistics = {
  /** `'0'`: the console, and admins who are unknown or were erased. */
  steamId64: SteamId64;
  /** The name on their newest penalty; empty for `'0'`. */
  name: string;
  /** The penalties that were created in the period, by type. */
  counts: PenaltyCounts;
  all: number;
  /** How many of them have been lifted. */
  lifted: number;
};

/** What every admin gave in the days before `now`; who gave the most comes first. */
export async function listAdminStatistics(
  db: Db,
  { days, now }: { days: AdminPeriod; now: Date },
): Promise<AdminStatistics[]> {
  const { adminSteamId, createdAt, status } = penalties;
  const since = new Date(now.getTime() - days * DAY_MS).toISOString();
  const rows = await db.execute<{
    id: string;
    name: string | null;
    counts: string;
    lifted: number;
    all: number;
  }>(sql`
    with totals as (
      select ${adminSteamId} as id, ${countsByType(penalties.type)} as counts, count(*)::integer as "all",
        (count(*) filter (where ${status} = 'UNBANNED' and not ${sql.raw(liftedByRemoval('penalties'))}))::integer as lifted
      from ${penalties}
      where ${createdAt} > ${since}::timestamptz and ${createdAt} <= ${now.toISOString()}::timestamptz
      group by ${adminSteamId}
    )
    select totals.id::text, counts, "all", lifted, newest.name
    from totals left join lateral (${newestNameOf(sql`totals.id`)}) as newest on totals.id <> 0
    order by "all" desc, totals.id`);
  return rows.map(({ id, name, counts, lifted, all }) => ({
    steamId64: id === '0' ? UNKNOWN_STEAM_ID : (id as SteamId64),
    name: name ?? '',
    counts: readCounts(counts),
    all,
    lifted,
  }));
}

function newestNameOf(adminSteamId: Parameters<typeof sql>[1]) {
  return sql`
    select ${penalties.adminName} as name from ${penalties} where ${penalties.adminSteamId} = ${adminSteamId}
    order by ${penalties.createdAt} desc, ${penalties.id} desc limit 1`;
}
