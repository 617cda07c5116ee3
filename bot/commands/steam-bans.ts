import type { SteamId64 } from '../../src/domain/steam-id.ts';
import { withTimeLimit } from '../../src/runtime/time-limit.ts';
import type { LookUpSteamBans } from '../../src/steam/bans.ts';
import type { SteamBansView } from '../embeds/steam-bans.ts';

export type SteamBansDeps = {
  /** Absent without `STEAM_API_KEY`: then nothing is said of Steam. */
  lookUpSteamBans?: LookUpSteamBans | undefined;
};

/** A moment: what Steam says later is kept for the next command. */
const WAIT_MS = 700;

/** What a message shows of Steam's own bans; without them it neither fails nor waits long. */
export async function loadSteamBans(
  { lookUpSteamBans }: SteamBansDeps,
  steamId64: SteamId64,
): Promise<SteamBansView | undefined> {
  if (!lookUpSteamBans) return undefined;
  const bans = await withTimeLimit(lookUpSteamBans(steamId64), WAIT_MS).catch(() => undefined);
  return bans ?? 'unknown';
}
