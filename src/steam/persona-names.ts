import { Unavailable } from '../domain/errors.ts';
import { isObject, objectIn, type SteamApi } from './steam-api.ts';

export type SteamProfile = {
  nickname?: string;
  avatarUrl?: string;
  /** When the Steam account was created; absent for a private profile. */
  accountCreatedAt?: Date;
};

const MAX_NICKNAME_LENGTH = 64;

/**
 * The persona name, avatar and age of a Steam account; empty without a key or when Steam does not respond: a sign-in never
 * fails because a name is missing.
 * @param onFailed called with what went wrong, without the key.
 * @see https://partner.steamgames.com/doc/webapi/ISteamUser#GetPlayerSummaries
 */
export async function fetchSteamProfile(
  steam: SteamApi,
  steamId64: string,
  { onFailed }: { onFailed?: (reason: string) => void } = {},
): Promise<SteamProfile> {
  if (!steam.hasKey) return {};
  try {
    const body = await steam.call('ISteamUser/GetPlayerSummaries/v2', { steamids: steamId64 });
    return readProfile(body, steamId64);
  } catch (error) {
    if (!(error instanceof Unavailable)) throw error;
    onFailed?.(error.message);
    return {};
  }
}

function readProfile(body: unknown, steamId64: string): SteamProfile {
  const { players } = objectIn(body, 'response');
  const profiles = Array.isArray(players) ? players.filter(isObject) : [];
  const player = profiles.find(({ steamid }) => steamid === steamId64);
  const nickname = cleanNickname(player?.personaname);
  const avatarUrl = tryParseAvatarUrl(player?.avatarfull);
  const accountCreatedAt = tryParseSeconds(player?.timecreated);
  return {
    ...(nickname && { nickname }),
    ...(avatarUrl && { avatarUrl }),
    ...(accountCreatedAt && { accountCreatedAt }),
  };
}

/** Removes control characters (PostgreSQL refuses NUL) and cuts to the length in code points, as Steam counts. */
function cleanNickname(name: unknown): string | undefined {
  if (typeof name !== 'string') return undefined;
  const visibleName = name.replace(/\p{Cc}/gu, '').trim();
  return [...visibleName].slice(0, MAX_NICKNAME_LENGTH).join('') || undefined;
}

function tryParseAvatarUrl(url: unknown): string | undefined {
  if (typeof url !== 'string' || url.length > 300 || !URL.canParse(url)) return undefined;
  return new URL(url).protocol === 'https:' ? url : undefined;
}

/** A time in Unix seconds that is not before Steam and not far in the future. */
function tryParseSeconds(seconds: unknown): Date | undefined {
  const isTime = typeof seconds === 'number' && seconds >= STEAM_BEGAN && seconds < 2 ** 32;
  return isTime ? new Date(seconds * 1000) : undefined;
}

/** 2003 in Unix seconds. */
const STEAM_BEGAN = 1_041_379_200;
