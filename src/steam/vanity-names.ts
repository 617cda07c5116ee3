import { Unavailable } from '../domain/errors.ts';
import { type SteamId64, tryParseSteamId } from '../domain/steam-id.ts';
import { objectIn, type SteamApi } from './steam-api.ts';

/** Finds the account behind a custom profile name; undefined when Steam knows none. @throws {Unavailable} */
export type ResolveVanity = (vanityName: string) => Promise<SteamId64 | undefined>;

const FOUND = 1;
const NO_MATCH = 42;

/**
 * Resolves custom profile names by Steam's Web API.
 * @see https://partner.steamgames.com/doc/webapi/ISteamUser#ResolveVanityURL
 */
export function createVanityResolver(steam: SteamApi): ResolveVanity {
  return async (vanityName) => {
    const body = await steam.call('ISteamUser/ResolveVanityURL/v1', { vanityurl: vanityName });
    const { success, steamid } = objectIn(body, 'response');
    if (success === FOUND && typeof steamid === 'string') return tryParseSteamId(steamid);
    if (success === NO_MATCH) return undefined;
    throw new Unavailable(`Steam did not resolve ${JSON.stringify(vanityName)}`);
  };
}
