import { LRUCache } from 'lru-cache';
import { Unavailable } from '../domain/errors.ts';
import { type SteamId64, tryParseSteamId, tryParseSteamReference } from '../domain/steam-id.ts';
import { isObject, objectIn, type SteamApi } from './steam-api.ts';

/** Finds the account behind a custom profile name; undefined when Steam knows none. @throws {Unavailable} */
export type ResolveVanity = (vanityName: string) => Promise<SteamId64 | undefined>;

/** Custom profile names and their accounts, as Steam gave them within the last hour. */
export type VanityNames = {
  resolve: ResolveVanity;
  /** Whether an account has a custom profile name; asks Steam about this account only. @throws {Unavailable} */
  isNameOf: (vanityName: string, steamId64: SteamId64) => Promise<boolean>;
};

const FOUND = 1;
const NO_MATCH = 42;
const KEPT_MS = 3_600_000;
const MAX_KEPT = 10_000;

/** @param options.clockMs a monotonic clock in milliseconds. */
export function createVanityNames(
  steam: SteamApi,
  { clockMs = () => performance.now() }: { clockMs?: () => number } = {},
): VanityNames {
  /** Also keeps an empty text, which means that there is none. */
  const remember = (load: (key: string) => Promise<string>) => {
    const options = { max: MAX_KEPT, ttl: KEPT_MS, ttlResolution: 0, perf: { now: clockMs } };
    return new LRUCache<string, string>({ ...options, fetchMethod: load });
  };
  const accounts = remember((vanityName) => findAccount(steam, vanityName));
  const names = remember((steamId64) => findVanityName(steam, steamId64));
  return {
    resolve: async (vanityName) => tryParseSteamId((await accounts.fetch(vanityName.toLowerCase())) ?? ''),
    isNameOf: async (vanityName, steamId64) => (await names.fetch(steamId64)) === vanityName.toLowerCase(),
  };
}

/** The account with a custom profile name. @see https://partner.steamgames.com/doc/webapi/ISteamUser#ResolveVanityURL */
async function findAccount(steam: SteamApi, vanityName: string): Promise<string> {
  const body = await steam.call('ISteamUser/ResolveVanityURL/v1', { vanityurl: vanityName });
  const { success, steamid } = objectIn(body, 'response');
  if (success === FOUND && typeof steamid === 'string') return steamid;
  if (success === NO_MATCH) return '';
  throw new Unavailable(`Steam did not resolve ${JSON.stringify(vanityName)}`);
}

/**
 * The custom profile name of an account, in lower case.
 * @see https://partner.steamgames.com/doc/webapi/ISteamUser#GetPlayerSummaries
 */
async function findVanityName(steam: SteamApi, steamId64: string): Promise<string> {
  const body = await steam.call('ISteamUser/GetPlayerSummaries/v2', { steamids: steamId64 });
  const { players } = objectIn(body, 'response');
  const profiles = Array.isArray(players) ? players.filter(isObject) : [];
  const address = profiles.find(({ steamid }) => steamid === steamId64)?.profileurl;
  const reference = tryParseSteamReference(String(address));
  return reference && 'vanityName' in reference ? reference.vanityName.toLowerCase() : '';
}
