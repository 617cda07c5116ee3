import DataLoader from 'dataloader';
import { LRUCache } from 'lru-cache';
import type { Logger } from 'pino';
import type { RequestDb } from '../db/client.ts';
import { Unavailable } from '../domain/errors.ts';
import type { SteamId64 } from '../domain/steam-id.ts';
import { findSteamBans, STEAM_BANS_KEPT_MS, type SteamBans, saveSteamBans } from '../queries/steam-bans.ts';
import { asRequest } from '../runtime/request.ts';
import { TimeLimitExceeded, withTimeLimit } from '../runtime/time-limit.ts';
import { isObject, type SteamApi } from './steam-api.ts';

/**
 * Steam's own bans of a player, at most a day old; undefined when Steam does not respond within nine seconds, which does
 * not mean that there are none. A later response is still saved.
 */
export type LookUpSteamBans = (steamId64: SteamId64) => Promise<SteamBans | undefined>;

type Deps = {
  steam: SteamApi;
  db: RequestDb;
  log: Logger;
  now: () => Date;
  clockMs: () => number;
};

/** The maximum of GetPlayerBans. */
const IDS_A_CALL = 100;
/** How long a call waits for more ids. */
const BATCH_WINDOW_MS = 100;
const CALL_TIMEOUT_MS = 8000;
const WAIT_MS = 9000;
/** The pause after a failure, and for a player that a response left out. */
const ASK_AGAIN_MS = 60_000;
/** How many players that responses left out are remembered. */
const MAX_LEFT_OUT = 10_000;

/** A larger count is treated as invalid. */
const MAX_COUNT = 1_000_000;

/**
 * Looks bans up in the table, then at Steam. Concurrent lookups of one player are merged, and those of several players
 * share a call.
 * @see https://partner.steamgames.com/doc/webapi/ISteamUser#GetPlayerBans
 */
export function createSteamBans({ steam, db, log, now, clockMs }: Deps): LookUpSteamBans {
  let backOffUntilMs = Number.NEGATIVE_INFINITY;
  const leftOut = new LRUCache<SteamId64, true>({
    max: MAX_LEFT_OUT,
    ttl: ASK_AGAIN_MS,
    ttlResolution: 0,
    perf: { now: clockMs },
  });

  const loader = new DataLoader<SteamId64, SteamBans | undefined>(
    async (ids) => {
      const bans = await request(ids);
      for (const id of ids) loader.clear(id);
      return ids.map((id) => bans.get(id));
    },
    { maxBatchSize: IDS_A_CALL, batchScheduleFn: (send) => setTimeout(send, BATCH_WINDOW_MS) },
  );

  async function request(ids: readonly SteamId64[]): Promise<Map<SteamId64, SteamBans>> {
    try {
      if (clockMs() < backOffUntilMs) return new Map();
      const body = await steam.call(
        'ISteamUser/GetPlayerBans/v1',
        { steamids: ids.join(',') },
        { timeoutMs: CALL_TIMEOUT_MS },
      );
      const bans = readBans(body, ids, now());
      for (const id of ids) if (!bans.has(id)) leftOut.set(id, true);
      // For all who wait for this call, and after it.
      await asRequest('steam', () => saveSteamBans(db, [...bans.values()]));
      return bans;
    } catch (error) {
      backOffUntilMs = clockMs() + ASK_AGAIN_MS;
      log.warn({ err: error }, "Steam's bans could not be loaded: retrying in a minute");
      return new Map();
    }
  }

  const isBackingOff = (id: SteamId64) => clockMs() < backOffUntilMs || leftOut.has(id);

  async function lookUp(steamId64: SteamId64): Promise<SteamBans | undefined> {
    if (!steam.hasKey) return undefined;
    const checkedAfter = new Date(now().getTime() - STEAM_BANS_KEPT_MS);
    const savedBans = await findSteamBans(db, steamId64, { checkedAfter });
    return savedBans || isBackingOff(steamId64) ? savedBans : loader.load(steamId64);
  }

  return (steamId64) =>
    withTimeLimit(lookUp(steamId64), WAIT_MS).catch((error: unknown) => {
      if (error instanceof TimeLimitExceeded) return undefined;
      throw error;
    });
}

/**
 * The bans in a response, by SteamID; players that are missing or have invalid values are left out.
 * @throws {Unavailable} for a body of another shape.
 */
function readBans(body: unknown, ids: readonly SteamId64[], checkedAt: Date): Map<SteamId64, SteamBans> {
  const players = isObject(body) ? body.players : undefined;
  if (!Array.isArray(players)) throw new Unavailable('Steam did not respond with a list of players');
  return new Map(
    ids.flatMap((id) => {
      const player = players.filter(isObject).find(({ SteamId }) => SteamId === id);
      const bans = player && readPlayer(player, id, checkedAt);
      return bans ? [[id, bans] as const] : [];
    }),
  );
}

function readPlayer(
  player: Record<string, unknown>,
  steamId64: SteamId64,
  checkedAt: Date,
): SteamBans | undefined {
  const vacBans = tryParseCount(player.NumberOfVACBans);
  const gameBans = tryParseCount(player.NumberOfGameBans);
  const daysSinceLastBan = tryParseCount(player.DaysSinceLastBan);
  const isCommunityBanned = player.CommunityBanned;
  if (vacBans === undefined || gameBans === undefined || daysSinceLastBan === undefined) return undefined;
  if (typeof isCommunityBanned !== 'boolean') return undefined;
  // Contradictory: banned, with a count of 0.
  if (player.VACBanned === true && vacBans === 0) return undefined;
  return { steamId64, vacBans, gameBans, daysSinceLastBan, isCommunityBanned, checkedAt };
}

function tryParseCount(value: unknown): number | undefined {
  const isCount = typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= MAX_COUNT;
  return isCount ? value : undefined;
}
