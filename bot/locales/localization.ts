import type { Locale } from 'discord.js';
import { en, type Texts } from './en.ts';
import { pl } from './pl.ts';

/** The language that a message is written in, and how its times are formatted. */
export type Localization = {
  /** Discord's code, such as `en-GB`. */
  locale: `${Locale}`;
  texts: Texts;
  /** IANA name of the time zone that belongs to the locale. */
  timeZone: string;
};

/** The localization for one of Discord's locales: Polish for `pl`, English for all others. */
export function localizationOf(locale: string): Localization {
  const known = isLocale(locale) ? locale : 'en-US';
  return { locale: known, texts: known === 'pl' ? pl : en, timeZone: TIME_ZONES[known] };
}

function isLocale(text: string): text is `${Locale}` {
  return Object.hasOwn(TIME_ZONES, text);
}

/**
 * Discord sends a locale, never a time zone, so each locale gets the time of its country. `en-US`, which is Discord's
 * default for everyone, and Latin American Spanish, which spans time zones, get UTC.
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
