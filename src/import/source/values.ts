import { InvalidInput } from '../../domain/errors.ts';
import { type SteamId64, tryParseSteamId, UNKNOWN_STEAM_ID } from '../../domain/steam-id.ts';
import { cleanText, MAX_NAME_LENGTH } from './clean-text.ts';

const MAX_INTEGER = 2_147_483_647;
const LAST_SECOND = Date.UTC(9999, 11, 31) / 1000;

/**
 * Reads the punished player of a source row.
 * @returns `'0'` for null, `''` and 0: an IP ban.
 * @throws {InvalidInput} for `BOT`, `STEAM_ID_PENDING` and anything else that is not a SteamID.
 */
export function parsePlayerSteamId(text: string | null | undefined): SteamId64 {
  const trimmed = (text ?? '').trim();
  if (trimmed === '' || trimmed === '0') return UNKNOWN_STEAM_ID;
  const steamId = tryParseSourceSteamId(trimmed);
  if (steamId) return steamId;
  throw new InvalidInput(`the player's SteamID ${quote(trimmed)} is not a SteamID`);
}

/** The acting admin; `'0'` for the console in any spelling, and for anything else that is not a SteamID. */
export function toAdminSteamId(text: string | null | undefined): SteamId64 {
  return tryParseSourceSteamId((text ?? '').trim()) ?? UNKNOWN_STEAM_ID;
}

/** Whoever gave or lifted a penalty; both are null when the source no longer has a row of theirs. */
type Admin = { name: string; steamId: SteamId64 } | { name: null; steamId: null };

/**
 * Reads an admin whose name and SteamID come from another table of the source.
 * @param consoleName given if the row names the console, which that table may lack.
 */
export function toJoinedAdmin(
  name: string | null | undefined,
  steamId: string | null | undefined,
  consoleName?: string | false,
): Admin {
  if ((name ?? steamId ?? null) === null && !consoleName) return { name: null, steamId: null };
  return {
    name: cleanText(name, MAX_NAME_LENGTH) || consoleName || '',
    steamId: toAdminSteamId(steamId),
  };
}

/** Some plugins store a SteamID64 in hexadecimal: 15 digits that begin with 1100001, the public universe. */
function tryParseSourceSteamId(text: string): SteamId64 | undefined {
  const hexadecimal = /^(?:0x|steam:)?(1100001[0-9a-f]{8})$/i.exec(text);
  return tryParseSteamId(hexadecimal ? String(BigInt(`0x${hexadecimal[1]}`)) : text);
}

/**
 * Reads a duration.
 * @returns whole minutes, rounded up, so that short ones do not become 0, which is permanent.
 * @throws {InvalidInput} when it is negative, not a whole number, or longer than 4,000 years.
 */
export function parseDurationMinutes(text: string | null | undefined, unit: 'minutes' | 'seconds'): number {
  const value = /^-?[0-9]{1,15}$/.test(text ?? '') ? Number(text) : Number.NaN;
  if (Number.isNaN(value))
    throw new InvalidInput(`the duration ${quote(text)} is not a whole number of ${unit}`);
  if (value < 0) throw new InvalidInput(`the duration ${value} is negative`);
  const minutes = unit === 'seconds' ? Math.ceil(value / 60) : value;
  if (minutes > MAX_INTEGER) throw new InvalidInput(`the duration ${value} is too long`);
  return minutes;
}

/**
 * The creation of a penalty that has no date of it, in milliseconds: its end minus its duration.
 * @param endsMs undefined for none.
 * @throws {InvalidInput} without an end or a duration.
 */
export function computeCreationMs(
  { endsMs, durationMs }: { endsMs: number | undefined; durationMs: number },
  warn: (reason: string) => void,
): number {
  // An end that equals the duration was itself computed from a creation of 0.
  if (endsMs === undefined || !(durationMs > 0) || endsMs === durationMs) {
    throw new InvalidInput('it has no date of creation');
  }
  warn('it has no date of creation: computed as its end minus its duration');
  return endsMs - durationMs;
}

/**
 * The duration from creation to end in whole minutes, at least 1, since 0 is permanent.
 * @throws {InvalidInput} when it is longer than 4,000 years.
 */
export function minutesBetween(createdAt: Date, endsAt: Date): number {
  const minutes = Math.max(1, Math.ceil((endsAt.getTime() - createdAt.getTime()) / 60_000));
  if (minutes <= MAX_INTEGER) return minutes;
  throw new InvalidInput(`its end ${endsAt.toISOString()} is too long after its creation`);
}

/**
 * Reads Unix seconds.
 * @returns undefined for null, empty and 0.
 * @throws {InvalidInput} for anything outside of 1970 to 9999.
 */
export function parseUnixSeconds(text: string | null | undefined): Date | undefined {
  if (text === null || text === undefined || text === '') return undefined;
  const seconds = /^-?[0-9]{1,15}(\.[0-9]+)?$/.test(text) ? Math.trunc(Number(text)) : Number.NaN;
  if (seconds === 0) return undefined;
  if (seconds > 0 && seconds < LAST_SECOND) return new Date(seconds * 1000);
  throw new InvalidInput(`the time ${quote(text)} is not a time in Unix seconds`);
}

/** What `parse` returns; undefined where it throws {@link InvalidInput}. */
export function tryParse<T>(parse: () => T): T | undefined {
  try {
    return parse();
  } catch (error) {
    if (error instanceof InvalidInput) return undefined;
    throw error;
  }
}

function quote(text: string | null | undefined): string {
  return JSON.stringify(text?.slice(0, 64) ?? null);
}
