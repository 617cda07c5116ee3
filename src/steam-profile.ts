import { Unavailable } from './errors.ts';
import { readSteamId, type SteamId64 } from './steam-id.ts';

/** What a text names: an account, or a custom profile address that only Steam can resolve. */
export type SteamReference = { steamId64: SteamId64 } | { vanityName: string };

/** Finds the account behind a custom profile name; undefined when Steam knows none. @throws {Unavailable} */
export type ResolveVanity = (vanityName: string) => Promise<SteamId64 | undefined>;

/**
 * Reads any SteamID notation, or the address of a profile: `steamcommunity.com/profiles/7656…`,
 * `…/profiles/[U:1:N]`, `…/id/name`; with or without `https://`.
 * @returns undefined for everything else.
 */
export function readSteamReference(text: string): SteamReference | undefined {
  const trimmed = text.trim();
  const plain = readSteamId(trimmed);
  if (plain !== undefined) return { steamId64: plain };
  const match =
    /^(?:https?:\/\/)?(?:www\.)?steamcommunity\.com\/(profiles|id)\/([^/?#\s]{1,64})(?:[/?#].*)?$/i.exec(
      trimmed,
    );
  if (!match) return undefined;
  const name = decode(match[2] ?? '');
  if (match[1]?.toLowerCase() === 'profiles') {
    const steamId64 = readSteamId(name);
    return steamId64 === undefined ? undefined : { steamId64 };
  }
  return /^[A-Za-z0-9_-]{2,32}$/.test(name) ? { vanityName: name } : undefined;
}

/**
 * Resolves custom profile names by Steam's Web API.
 * @see https://partner.steamgames.com/doc/webapi/ISteamUser#ResolveVanityURL
 */
export function createVanityResolver({
  apiUrl,
  apiKey,
  timeoutMs = 2000,
}: {
  apiUrl: string;
  apiKey: string | undefined;
  timeoutMs?: number;
}): ResolveVanity {
  return async (vanityName) => {
    if (apiKey === undefined) throw new Unavailable('STEAM_API_KEY is not set: Steam cannot be asked');
    const url = new URL(`${apiUrl}/ISteamUser/ResolveVanityURL/v1/`);
    url.searchParams.set('key', apiKey);
    url.searchParams.set('vanityurl', vanityName);
    try {
      // A redirect would carry the key to another address.
      const response = await fetch(url, { redirect: 'manual', signal: AbortSignal.timeout(timeoutMs) });
      if (!response.ok) throw new Error(`Steam answered ${response.status}`);
      const body: VanityAnswer = JSON.parse(await response.text());
      return body.response?.success === 1 ? readSteamId(body.response.steamid ?? '') : undefined;
    } catch (error) {
      // The address carries the key: it stays out of the message.
      throw new Unavailable(`Steam did not resolve ${JSON.stringify(vanityName)}`, { cause: error });
    }
  };
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

type VanityAnswer = { response?: { success?: number; steamid?: string } };
