import Negotiator from 'negotiator';
import { perLanguage } from '../../../../src/domain/text/per-language.ts';
import { type NounForms, pluralForm } from '../../../../src/domain/text/plural.ts';

/** The languages of the pages; the first is used when the browser asks for none of them. */
export const LOCALES = ['en', 'pl'] as const;
export type Locale = (typeof LOCALES)[number];

/** One of our languages, by its exact code; undefined for anything else. */
export function tryParseLocale(text: string | null | undefined): Locale | undefined {
  return LOCALES.find((locale) => locale === text);
}

/**
 * The language a browser prefers among ours, English when it names none of them.
 * @param header `Accept-Language`, RFC 9110 section 12.5.4; only its first 512 characters are read.
 */
export function pickLocale(header: string | null): Locale {
  const headers = { 'accept-language': (header ?? '').slice(0, 512) };
  return tryParseLocale(new Negotiator({ headers }).language([...LOCALES])) ?? 'en';
}

/** `2 Nov 2026, 14:05 UTC`; a script on the page turns it into the visitor's own zone. */
export function formatInstant(locale: Locale, at: Date): string {
  return `${instantFormat(locale).format(at)} UTC`;
}

const instantFormat = perLanguage(
  (locale) =>
    new Intl.DateTimeFormat(regionOf(locale), { dateStyle: 'medium', timeStyle: 'short', timeZone: 'UTC' }),
);

/** The locale for dates: day before month in English too. */
export function regionOf(locale: Locale): string {
  return locale === 'en' ? 'en-GB' : locale;
}

/**
 * Each unit, its length in seconds, and the number above which the next unit is used: "99 days" says more than
 * "3 months".
 */
const UNITS = [
  ['minute', 60, 59],
  ['hour', 3_600, 23],
  ['day', 86_400, 99],
  ['month', 30 * 86_400, 11],
  ['year', 365 * 86_400, Number.POSITIVE_INFINITY],
] as const;

/** `3 days ago`, `in 2 months`, to the nearest whole number; `now` for less than a minute. */
export function formatRelative(locale: Locale, at: Date, now: Date): string {
  const seconds = (at.getTime() - now.getTime()) / 1000;
  const length = Math.abs(seconds);
  const unit = length < 60 ? undefined : UNITS.find(([, size, most]) => Math.round(length / size) <= most);
  if (!unit) return nowFormat(locale).format(0, 'second');
  return relativeFormat(locale).format(Math.round(seconds / unit[1]), unit[0]);
}

const nowFormat = perLanguage((locale) => new Intl.RelativeTimeFormat(locale, { numeric: 'auto' }));
const relativeFormat = perLanguage((locale) => new Intl.RelativeTimeFormat(locale));

/** A count with the form of its noun: `62 users`. */
export function plural(locale: Locale, count: number, forms: NounForms): string {
  return `${count} ${pluralForm(locale, count, forms)}`;
}
