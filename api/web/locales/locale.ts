import Negotiator from 'negotiator';
import {
  DEFAULT_LANGUAGE,
  LANGUAGES,
  type Language,
  listLanguages,
  perLanguage,
  tryParseLanguage,
} from '../../../src/domain/language.ts';
import { type NounForms, pluralForm } from '../../../src/domain/text/plural.ts';

/**
 * The language a browser prefers among ours, the default one when it names none of them.
 * @param header `Accept-Language`, RFC 9110 section 12.5.4; only its first 512 characters are read.
 */
export function pickLanguage(header: string | null): Language {
  const headers = { 'accept-language': (header ?? '').slice(0, 512) };
  return tryParseLanguage(new Negotiator({ headers }).language(listLanguages())) ?? DEFAULT_LANGUAGE;
}

/** What times are formatted for: the visitor's language, and the time zone of the pages. */
export type Clock = { language: Language; timeZone: string };

/** `2 Nov 2026, 14:05 UTC`; a script on the page turns it into the visitor's own zone. */
export function formatInstant({ language, timeZone }: Clock, at: Date): string {
  return instantFormat(language, timeZone).format(at);
}

const instantFormat = perLanguage(
  ({ intl, months }, timeZone) =>
    new Intl.DateTimeFormat(intl, {
      day: 'numeric',
      month: months,
      year: 'numeric',
      hour: '2-digit',
      minute: '2-digit',
      timeZone,
      timeZoneName: 'short',
    }),
);

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

/** What a language is called in the visitor's. */
export function languageName(visitorLanguage: Language, language: Language): string {
  return languageNames(visitorLanguage).of(language) ?? language;
}

const languageNames = perLanguage(({ intl }) => new Intl.DisplayNames(intl, { type: 'language' }));

/** `3 days ago`, `in 2 months`, to the nearest whole number; `now` for less than a minute. */
export function formatRelative(language: Language, at: Date, now: Date): string {
  const seconds = (at.getTime() - now.getTime()) / 1000;
  if (Math.abs(seconds) < 60) return nowFormat(language).format(0, 'second');
  const { amount, unit } = lengthOf(seconds);
  return joinParts(language, relativeFormat(language).formatToParts(amount, unit));
}

/** How long it is until a time: `3 days`, to the nearest whole number and at least a minute. */
export function formatTimeUntil(language: Language, at: Date, now: Date): string {
  const { amount, unit } = lengthOf(Math.max(60, (at.getTime() - now.getTime()) / 1000));
  return joinParts(language, unitFormat(language, unit).formatToParts(amount));
}

function lengthOf(seconds: number) {
  const [unit, size] =
    UNITS.find(([, length, most]) => Math.round(Math.abs(seconds) / length) <= most) ?? UNITS[4];
  return { amount: Math.round(seconds / size), unit };
}

function joinParts(language: Language, parts: readonly { type: string; value: string }[]): string {
  const { omitsOne } = LANGUAGES[language];
  const shown = parts.filter(({ type, value }) => !(omitsOne && type === 'integer' && value === '1'));
  return shown
    .map(({ value }) => value)
    .join('')
    .replace(/\s+/g, ' ')
    .trim();
}

const nowFormat = perLanguage(({ intl }) => new Intl.RelativeTimeFormat(intl, { numeric: 'auto' }));
const relativeFormat = perLanguage(({ intl }) => new Intl.RelativeTimeFormat(intl));

const unitFormat = perLanguage(
  ({ intl }, unit: string) => new Intl.NumberFormat(intl, { style: 'unit', unit, unitDisplay: 'long' }),
);

/** A count with the form of its noun: `62 users`. */
export function plural(language: Language, count: number, forms: NounForms): string {
  return `${count} ${pluralForm(language, count, forms)}`;
}
