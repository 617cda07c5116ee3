import { InvalidInput } from '../../domain/errors.ts';
import { PENALTY_YEARS } from '../../domain/penalty.ts';

/**
 * A date and time without a zone (what a clock on the wall shows), in milliseconds as if it were UTC.
 * {@link wallClockToInstant} converts it to a point in time.
 */
export type WallClock = number;

const DAY_MS = 86_400_000;
const PATTERN = /^(\d{4})-(\d{2})-(\d{2})(?:[ T](\d{2}):(\d{2})(?::(\d{2})(?:\.(\d{1,9}))?)?)?Z?$/;

/**
 * Reads `YYYY-MM-DD HH:MM:SS[.fff]`.
 * @returns undefined for null, empty, zero dates (`0000-00-00 …`) and dates before 1971.
 * @throws {InvalidInput} for anything else, including impossible days and times.
 */
export function parseWallClock(text: string | null | undefined): WallClock | undefined {
  if (text === null || text === undefined || text === '') return undefined;
  const match = PATTERN.exec(text);
  if (!match) throw new InvalidInput(`${JSON.stringify(text.slice(0, 64))} is not a date`);
  const parts = match.slice(1, 7).map((part) => Number(part ?? 0));
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0] = parts;
  if (year < PENALTY_YEARS.first || month === 0 || day === 0) return undefined;
  const milliseconds = Math.trunc(Number(`0.${match[7] ?? 0}`) * 1000);
  const wallClock = Date.UTC(year, month - 1, day, hour, minute, second, milliseconds);
  // Date.UTC rolls over values that are too large, such as minute 99 or the 31st of February.
  const isCalendarDay = new Date(Date.UTC(year, month - 1, day)).getUTCDate() === day;
  const isEndOfDay = hour === 24 && minute === 0 && second === 0 && milliseconds === 0;
  const isTimeOfDay = (hour <= 23 && minute <= 59 && second <= 59) || isEndOfDay;
  if (month <= 12 && isCalendarDay && isTimeOfDay) return wallClock;
  throw new InvalidInput(`${JSON.stringify(text)} is not a date`);
}

/**
 * Creates a converter from the wall clock of a zone to a point in time. In the hour that is repeated in autumn it takes
 * the first occurrence; in the hour that is skipped in spring it applies the offset from before the change.
 * @param zone an IANA name, such as `UTC` or `Europe/Warsaw`.
 * @throws {InvalidInput} for an unknown zone.
 */
export function wallClockToInstant(zone: string): (wallClock: WallClock) => Date {
  const offsetAt = zoneOffset(zone);
  /** Offsets of days without a clock change; undefined for the others, about two a year. */
  const offsetByDay = new Map<number, number | undefined>();
  return (wallClock) => {
    const day = Math.floor(wallClock / DAY_MS);
    if (!offsetByDay.has(day)) offsetByDay.set(day, steadyOffset(day));
    const offset = offsetByDay.get(day);
    return new Date(wallClock - (offset ?? changingOffset(wallClock)));
  };

  function steadyOffset(day: number): number | undefined {
    const before = offsetAt((day - 1) * DAY_MS);
    return before === offsetAt((day + 2) * DAY_MS) ? before : undefined;
  }

  /** The offset before the change, unless this wall clock only occurs after it. */
  function changingOffset(wallClock: WallClock): number {
    const before = offsetAt(wallClock - DAY_MS);
    const after = offsetAt(wallClock + DAY_MS);
    const holdsBefore = offsetAt(wallClock - before) === before;
    const holdsAfter = offsetAt(wallClock - after) === after;
    return holdsBefore || !holdsAfter ? before : after;
  }
}

/** The offset of a zone from UTC at a point in time, in milliseconds. */
function zoneOffset(zone: string): (instantMs: number) => number {
  let format: Intl.DateTimeFormat;
  try {
    format = new Intl.DateTimeFormat('en-GB', {
      timeZone: zone,
      hourCycle: 'h23',
      year: 'numeric',
      month: '2-digit',
      day: '2-digit',
      hour: '2-digit',
      minute: '2-digit',
      second: '2-digit',
    });
  } catch {
    throw new InvalidInput(`${JSON.stringify(zone)} is not a time zone: use UTC, Europe/Warsaw, …`);
  }
  return (instantMs) => {
    const shown = Object.fromEntries(
      format.formatToParts(instantMs).map((part) => [part.type, Number(part.value)]),
    );
    const { year = 0, month = 1, day = 1, hour, minute, second } = shown;
    return Date.UTC(year, month - 1, day, hour, minute, second) - Math.floor(instantMs / 1000) * 1000;
  };
}
