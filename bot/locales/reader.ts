import type { Locale } from 'discord.js';
import { en, type Texts } from './en.ts';
import { pl } from './pl.ts';

/** Who an answer is written for. */
export type Reader = {
  /** As Discord names it, `en-GB`; formats times. */
  locale: string;
  texts: Texts;
  /** IANA name of the zone that people of this locale live in. */
  timeZone: string;
};

/** The reader of a Discord locale: Polish for `pl`, English for all others. */
export function toReader(locale: string): Reader {
  const known = isLocale(locale) ? locale : 'en-US';
  return { locale: known, texts: known === 'pl' ? pl : en, timeZone: TIME_ZONES[known] };
}

function isLocale(text: string): text is `${Locale}` {
  return Object.hasOwn(TIME_ZONES, text);
}

/**
 * Discord tells a locale, never a time zone. A locale of one country has that country's time;
 * `en-US` is Discord's default for everybody, and Spanish of Latin America spans zones: they get UTC.
 * @see https://docs.discord.com/developers/reference#locales
 */
const TIME_ZONES: Readonly<Record<`${Locale}`, string>> = {
  id: 'Asia/Jakarta',
  da: 'Europe/Copenhagen',
  de: 'Europe/Berlin',
  'en-GB': 'Europe/London',
  'en-US': 'UTC',
  'es-ES': 'Europe/Madrid',
  'es-419': 'UTC',
  fr: 'Europe/Paris',
  hr: 'Europe/Zagreb',
  it: 'Europe/Rome',
  lt: 'Europe/Vilnius',
  hu: 'Europe/Budapest',
  nl: 'Europe/Amsterdam',
  no: 'Europe/Oslo',
  pl: 'Europe/Warsaw',
  'pt-BR': 'America/Sao_Paulo',
  ro: 'Europe/Bucharest',
  fi: 'Europe/Helsinki',
  'sv-SE': 'Europe/Stockholm',
  vi: 'Asia/Ho_Chi_Minh',
  tr: 'Europe/Istanbul',
  cs: 'Europe/Prague',
  el: 'Europe/Athens',
  bg: 'Europe/Sofia',
  ru: 'Europe/Moscow',
  uk: 'Europe/Kyiv',
  hi: 'Asia/Kolkata',
  th: 'Asia/Bangkok',
  'zh-CN': 'Asia/Shanghai',
  ja: 'Asia/Tokyo',
  'zh-TW': 'Asia/Taipei',
  ko: 'Asia/Seoul',
};
