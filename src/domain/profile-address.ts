import { type SteamId64, tryParseSteamId } from './steam-id.ts';

/** An account, or the name in a custom profile address, which only Steam can resolve. */
export type SteamReference = { steamId64: SteamId64 } | { vanityName: string };

/**
 * Reads any SteamID notation, or the address of a profile: `steamcommunity.com/profiles/7656…`,
 * `…/profiles/[U:1:N]`, `…/id/name`; with or without `https://`, and in `<…>`, which keeps Discord from previewing a link.
 * @returns undefined for everything else.
 */
export function tryParseSteamReference(text: string): SteamReference | undefined {
  const trimmed = text.trim().replace(/^<(.*)>$/, '$1');
  const plain = tryParseSteamId(trimmed);
  if (plain !== undefined) return { steamId64: plain };
  const match =
    /^(?:https?:\/\/)?(?:www\.)?steamcommunity\.com\/(profiles|id)\/([^/?#\s]{1,64})(?:[/?#].*)?$/i.exec(
      trimmed,
    );
  if (!match) return undefined;
  const name = decode(match[2] ?? '');
  if (match[1]?.toLowerCase() === 'profiles') {
    const steamId64 = tryParseSteamId(name);
    return steamId64 === undefined ? undefined : { steamId64 };
  }
  return /^[A-Za-z0-9_-]{2,32}$/.test(name) ? { vanityName: name } : undefined;
}

/** The address of a player's profile. */
export function steamProfileUrl(steamId64: SteamId64): string {
  return `https://steamcommunity.com/profiles/${steamId64}`;
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
