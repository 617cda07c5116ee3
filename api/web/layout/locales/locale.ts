import Negotiator from 'negotiator';
import {
  DEFAULT_LANGUAGE,
  type Language,
  listLanguages,
  perLanguage,
  tryParseLanguage,
} from '../../../../src/domain/language.ts';
import { type NounForms, pluralForm } from '../../../../src/domain/text/plural.ts';

/**
 * The language a browser prefers among ours, the default one when it names none of them.
 * @param header `Accept-Language`, RFC 9110 section 12.5.4; only its first 512 characters are read.
 */
export function pickLanguage(header: string | null): Language {
  const headers = { 'accept-language': (header ?? '').slice(0, 512) };
  return tryParseLanguage(new Negotiator({ headers }).language(listLanguages())) ?? DEFAULT_LANGUAGE;
}

/** What times are formatted for: the visitor's language, and the time zone of the pages. */
export type Clock = { locale: Language; timeZone: string };

/** `2 Nov 2026, 14:05 UTC`; a script on the page turns it into the visitor's own zone. */
export function formatInstant({ locale, timeZone }: Clock, at: Date): string {
  return instantFormat(locale, timeZone).format(at);
}

const instantFormat = perLanguage(
  (tag, timeZone) =>
    new Intl.DateTimeFormat(tag, {
      day: 'numeric',
      month: 'short',
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

/** `3 days ago`, `in 2 months`, to the nearest whole number; `now` for less than a minute. */
export function formatRelative(locale: Language, at: Date, now: Date): string {
  const seconds = (at.getTime() - now.getTime()) / 1000;
  const length = Math.abs(seconds);
  const unit = length < 60 ? undefined : UNITS.find(([, size, most]) => Math.round(length / size) <= most);
  if (!unit) return nowFormat(locale).format(0, 'second');
  return relativeFormat(locale).format(Math.round(seconds / unit[1]), unit[0]);
}

const nowFormat = perLanguage((tag) => new Intl.RelativeTimeFormat(tag, { numeric: 'auto' }));
const relativeFormat = perLanguage((tag) => new Intl.RelativeTimeFormat(tag));

/** A count with the form of its noun: `62 users`. */
export function plural(locale: Language, count: number, forms: NounForms): string {
  return `${count} ${pluralForm(locale, count, forms)}`;
}
