import { InvalidInput } from '../../domain/errors.ts';
import { PENALTY_YEARS } from '../../domain/penalty.ts';
import { DAY_MS } from '../../domain/time.ts';

/**
 * A date and time without a zone (what a clock on the wall shows), in milliseconds as if it were UTC.
 * {@link wallClockToInstant} converts it to a point in time.
 */
export type WallClock = number;

const PATTERN =
  /^(\d{4})-(\d{2})-(\d{2})(?:[ T]([01]\d|2[0-3]):([0-5]\d)(?::([0-5]\d)(?:\.(\d{1,9}))?)?)?Z?$/;

/**
 * Reads `YYYY-MM-DD HH:MM:SS[.fff]`.
 * @returns undefined for null, empty, zero dates (`0000-00-00 …`) and dates before 1971.
 * @throws {InvalidInput} for anything else, including impossible days and times.
 */
export function parseWallClock(text: string | null | undefined): WallClock | undefined {
  if (!text) return undefined;
  const match = PATTERN.exec(text);
  const parts = match?.slice(1, 7).map((part) => Number(part ?? 0)) ?? [];
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0] = parts;
  if (match && (year < PENALTY_YEARS.first || month === 0 || day === 0)) return undefined;
  const milliseconds = Math.trunc(Number(`0.${match?.[7] ?? 0}`) * 1000);
  const wallClock = Date.UTC(year, month - 1, day, hour, minute, second, milliseconds);
  // Date.UTC rolls over to another month after the 31st of February, and to another year after month 12.
  if (match && new Date(wallClock).getUTCMonth() === month - 1) return wallClock;
  throw new InvalidInput(`${JSON.stringify(text.slice(0, 64))} is not a date`);
}

/**
 * Creates a converter from the wall clock of a zone to a point in time. In the hour that is repeated in autumn it takes
 * the first occurrence; in the hour that is skipped in spring it applies the offset from before the change.
 * @param zone an IANA name, such as `UTC` or `Europe/Warsaw`.
 * @throws {InvalidInput} for an unknown zone.
 */
export function wallClockToInstant(zone: string): (wallClock: WallClock) => Date {
  const inZone = (wallClock: WallClock) =>
    Temporal.Instant.fromEpochMilliseconds(wallClock)
      .toZonedDateTimeISO('UTC')
      .toPlainDateTime()
      .toZonedDateTime(zone, { disambiguation: 'compatible' });
  try {
    inZone(0);
  } catch {
    throw new InvalidInput(`${JSON.stringify(zone)} is not a time zone: use UTC, Europe/Warsaw, …`);
  }
  /** Offsets of days without a clock change, since an import asks for a few days very often; undefined for the others. */
  const offsetByDay = new Map<number, number | undefined>();
  return (wallClock) => {
    const day = Math.floor(wallClock / DAY_MS);
    if (!offsetByDay.has(day)) {
      const midnight = inZone(day * DAY_MS);
      offsetByDay.set(day, midnight.hoursInDay === 24 ? midnight.offsetNanoseconds / 1e6 : undefined);
    }
    const offset = offsetByDay.get(day);
    return new Date(offset === undefined ? inZone(wallClock).epochMilliseconds : wallClock - offset);
  };
}
