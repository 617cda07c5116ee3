import { hasGlyphs } from '../../src/drawing/text.ts';
import type { Localization } from '../locales/localization.ts';

/** How a chart writes times, all in one language. */
export type TimeLabels = {
  /** "16:00" or "4 PM" @param at milliseconds since the epoch, a full hour. */
  hour: (at: number) => string;
  /** The short name of the day. @param at milliseconds since the epoch. */
  day: (at: number) => string;
  /** The short name of the time zone, as of now. */
  zone: string;
};

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** Labels in the reader's language, or in English when the fonts lack glyphs for any of them; the time zone stays. */
export function createTimeLabels({
  locale,
  timeZone,
}: Pick<Localization, 'locale' | 'timeZone'>): TimeLabels {
  const labels = formatTimes(locale, timeZone);
  return isDrawable(labels) ? labels : formatTimes('en-GB', timeZone);
}

function formatTimes(locale: string, timeZone: string): TimeLabels {
  const hours = new Intl.DateTimeFormat(locale, { hour: 'numeric', timeZone });
  const clock = new Intl.DateTimeFormat(locale, { hour: 'numeric', minute: '2-digit', timeZone });
  const days = new Intl.DateTimeFormat(locale, { weekday: 'short', timeZone });
  const is12Hour = hours.resolvedOptions().hour12 === true;
  return {
    hour: (at) => (is12Hour ? hours : clock).format(at),
    day: (at) => days.format(at),
    zone: zoneName(locale, timeZone),
  };
}

/** Whether every label can be drawn. */
function isDrawable({ hour, day, zone }: TimeLabels): boolean {
  const hours = Array.from({ length: 24 }, (_, index) => hour(index * HOUR_MS));
  const days = Array.from({ length: 7 }, (_, index) => day(index * DAY_MS));
  return [...hours, ...days, zone].every(hasGlyphs);
}

function zoneName(locale: string, timeZone: string): string {
  const parts = new Intl.DateTimeFormat(locale, { timeZone, timeZoneName: 'short' }).formatToParts(
    new Date(),
  );
  return parts.find(({ type }) => type === 'timeZoneName')?.value ?? timeZone;
}
