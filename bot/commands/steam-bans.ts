import type { SteamId64 } from '../../src/domain/steam-id.ts';
import { withTimeLimit } from '../../src/runtime/time-limit.ts';
import type { LookUpSteamBans } from '../../src/steam/bans.ts';
import type { SteamBansView } from '../embeds/steam-bans.ts';

export type SteamBansDeps = {
  /** Absent without `STEAM_API_KEY`: messages then omit Steam's bans. */
  lookUpSteamBans?: LookUpSteamBans | undefined;
};

/** How long a message waits for Steam. A response that comes later is cached for the next command. */
const WAIT_MS = 700;

/**
 * Loads Steam's bans for a message. Never rejects.
 * @returns `unknown` when Steam does not respond in time; undefined without `STEAM_API_KEY`.
 */
export async function loadSteamBans(
  { lookUpSteamBans }: SteamBansDeps,
  steamId64: SteamId64,
): Promise<SteamBansView | undefined> {
  if (!lookUpSteamBans) return undefined;
  const bans = await withTimeLimit(lookUpSteamBans(steamId64), WAIT_MS).catch(() => undefined);
  return bans ?? 'unknown';
}
