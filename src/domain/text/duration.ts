import { type Language, perLanguage } from '../language.ts';

const MINUTES_IN = { years: 525_600, days: 1440, hours: 60, minutes: 1 } as const;

/**
 * A length of time in words, by its two largest units: `1 day, 12 hours`, `1 year, 35 days`. A year has 365 days; weeks and
 * months are not used, since players and game plugins count a ban's days.
 * @param minutes whole minutes; a negative number counts as 0.
 */
export function durationInWords(language: Language, minutes: number): string {
  const duration: Partial<Record<keyof typeof MINUTES_IN, number>> = {};
  let rest = Math.max(0, Math.trunc(minutes));
  for (const unit of ['years', 'days', 'hours', 'minutes'] as const) {
    const amount = Math.floor(rest / MINUTES_IN[unit]);
    rest -= amount * MINUTES_IN[unit];
    if (amount > 0 && Object.keys(duration).length < 2) duration[unit] = amount;
  }
  // Units of 0 are left out, so a duration of zero would be an empty text.
  const format = Object.keys(duration).length === 0 ? zeroFormat : durationFormat;
  return format(language).format({ minutes: 0, ...duration });
}

const durationFormat = perLanguage(({ intl }) => new Intl.DurationFormat(intl, { style: 'long' }));
const zeroFormat = perLanguage(
  ({ intl }) => new Intl.DurationFormat(intl, { style: 'long', minutesDisplay: 'always' }),
);
