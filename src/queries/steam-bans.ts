import { and, eq, gt, lt, lte, sql } from 'drizzle-orm';
import { type Db, inTransaction } from '../db/client.ts';
import { steamBans, steamCalls } from '../db/schema/accounts.ts';
import type { SteamId64 } from '../domain/steam-id.ts';
import { holdOffErasures, listErased } from './personal-data/tombstones.ts';

/** Steam's own bans of a player, as Steam reported them at `checkedAt`. */
export type SteamBans = typeof steamBans.$inferSelect;

/** After this long, Steam is called for a player's bans again. */
export const STEAM_BANS_KEPT_MS = 24 * 3_600_000;

/** A check that is dated later was made while a clock was ahead; the clocks of processes may differ by some minutes. */
export const LATEST_CHECK = sql`now() + interval '5 minutes'`;

/**
 * Steam's bans of a player, if they were checked after a given time, but not after {@link LATEST_CHECK}: how old such
 * bans are is unknown.
 */
export async function findSteamBans(
  db: Db,
  steamId64: SteamId64,
  { checkedAfter }: { checkedAfter: Date },
): Promise<SteamBans | undefined> {
  const [row] = await db
    .select()
    .from(steamBans)
    .where(
      and(
        eq(steamBans.steamId64, steamId64),
        gt(steamBans.checkedAt, checkedAfter),
        lte(steamBans.checkedAt, LATEST_CHECK),
      ),
    );
  return row;
}

/** Saves Steam's bans of some players, each listed once; without players who were erased during the call. */
export async function saveSteamBans(db: Db, bans: readonly SteamBans[]): Promise<void> {
  await inTransaction(db, async (tx) => {
    await holdOffErasures(tx);
    const erased = await listErased(
      tx,
      bans.map(({ steamId64 }) => steamId64),
      // Longer than any request to Steam that was running when somebody was erased.
      { withinMinutes: 1 },
    );
    const rows = bans.filter(({ steamId64 }) => !erased.has(steamId64));
    if (rows.length === 0) return;
    await tx
      .insert(steamBans)
      // Sorted, so that two processes that save the same players cannot deadlock.
      .values(rows.toSorted((one, other) => (one.steamId64 < other.steamId64 ? -1 : 1)))
      .onConflictDoUpdate({
        target: steamBans.steamId64,
        set: {
          vacBans: sql`excluded.vac_bans`,
          gameBans: sql`excluded.game_bans`,
          daysSinceLastBan: sql`excluded.days_since_last_ban`,
          isCommunityBanned: sql`excluded.is_community_banned`,
          checkedAt: sql`excluded.checked_at`,
        },
      });
  });
}

/** What Steam's terms allow a key in a day. */
const CALLS_A_DAY = 100_000;

/**
 * Counts one more call to Steam on this day (UTC, by the clock of the database).
 * @returns false when the calls of the day are used up: then the call must not be made.
 */
export async function countSteamCall(db: Db): Promise<boolean> {
  const { count } = await db
    .insert(steamCalls)
    .values({ calls: 1 })
    .onConflictDoUpdate({
      target: steamCalls.day,
      set: { calls: sql`${steamCalls.calls} + 1` },
      setWhere: lt(steamCalls.calls, CALLS_A_DAY),
    });
  return count > 0;
}
