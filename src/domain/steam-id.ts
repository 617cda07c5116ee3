import { InvalidInput } from './errors.ts';

declare const brand: unique symbol;

/** A SteamID64 as decimal digits; `'0'` stands for an unknown player (console, IP ban). Exceeds 2^53: never a number. */
export type SteamId64 = string & { readonly [brand]: 'SteamId64' };

/** SteamID64 of account id 0 in the public universe, individual account, desktop instance. */
const INDIVIDUAL_BASE = 76561197960265728n;
const MAX_ACCOUNT_ID = 0xffff_ffffn;

/** Stands in for the SteamID in console actions and IP bans, and of people who were erased. */
export const UNKNOWN_STEAM_ID = '0' as SteamId64;

const STEAM_ID_NOTATIONS = 'a SteamID64 (76561198000000001), STEAM_X:Y:Z or [U:1:N]';

/**
 * Reads one individual account from any of the three notations.
 * @throws {InvalidInput} for everything else, `'0'` and spaces around it included.
 * @see https://developer.valvesoftware.com/wiki/SteamID
 */
export function parseSteamId(text: string): SteamId64 {
  const steamId = tryParseSteamId(text);
  if (steamId === undefined) {
    throw new InvalidInput(
      `${JSON.stringify(text.slice(0, 64))} is not a SteamID: use ${STEAM_ID_NOTATIONS}`,
    );
  }
  return steamId;
}

/** The same as {@link parseSteamId}, but `undefined` for anything else. */
export function tryParseSteamId(text: string): SteamId64 | undefined {
  if (/^[0-9]{17}$/.test(text)) return fromAccountId(BigInt(text) - INDIVIDUAL_BASE);
  const steam2 = /^STEAM_[01]:([01]):([0-9]{1,10})$/i.exec(text);
  if (steam2) return fromAccountId(BigInt(steam2[2] ?? '') * 2n + BigInt(steam2[1] ?? ''));
  const steam3 = /^\[U:1:([0-9]{1,10})\]$/i.exec(text);
  if (steam3) return fromAccountId(BigInt(steam3[1] ?? ''));
  return undefined;
}

/** Steam's 32-bit account id; 0 for the unknown player. */
export function accountId(steamId: SteamId64): number {
  return steamId === UNKNOWN_STEAM_ID ? 0 : Number(BigInt(steamId) - INDIVIDUAL_BASE);
}

/** The account with this Steam account id. @param digits decimal digits. */
export function tryParseAccountId(digits: string): SteamId64 | undefined {
  return tryParseSteamId(`[U:1:${digits}]`);
}

function fromAccountId(id: bigint): SteamId64 | undefined {
  if (id < 1n || id > MAX_ACCOUNT_ID) return undefined;
  return String(INDIVIDUAL_BASE + id) as SteamId64;
}

/** An account, or the name in a custom profile address, which only Steam can resolve. */
export type SteamReference = { steamId64: SteamId64 } | { vanityName: string };

/**
 * Reads any SteamID notation, `U:1:N` without its brackets, or the address of a profile:
 * `steamcommunity.com/profiles/7656…`, `…/profiles/[U:1:N]`, `…/id/name`; with or without `https://`, and in `<…>`,
 * which keeps Discord from previewing a link.
 * @returns undefined for everything else.
 */
export function tryParseSteamReference(text: string): SteamReference | undefined {
  const trimmed = text.trim().replace(/^<(.*)>$/, '$1');
  const plain = tryParseSteamId(trimmed) ?? tryParseSteamId(`[${trimmed}]`);
  if (plain !== undefined) return { steamId64: plain };
  const match =
    /^(?:https?:\/\/)?(?:www\.)?steamcommunity\.com\/(profiles|id)\/([^/?#\s]{1,64})(?:[/?#].*)?$/i.exec(
      trimmed,
    );
  if (!match) return undefined;
  const name = decodePathPart(match[2] ?? '');
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

/** Decodes a segment of a path; one with malformed percent-encoding is returned as it is. */
export function decodePathPart(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
