import type { Locale, LocalizationMap, SharedNameAndDescription } from 'discord.js';
import { DEFAULT_LANGUAGE, LANGUAGES, type Language, listLanguages } from '../../src/domain/language.ts';
import { en, type Texts } from './en.ts';
import { pl } from './pl.ts';

/** Every text of the bot by language. */
export const BOT_TEXTS: Record<Language, Texts> = { en, pl };

/** The language that a message is written in, and how its numbers and times are formatted. */
export type Localization = {
  /** Discord's code, such as `en-GB`. */
  locale: `${Locale}`;
  texts: Texts;
  /** The BCP 47 tag of the language of the texts. */
  intl: string;
  /** IANA name of the time zone that belongs to the locale. */
  timeZone: string;
};

/** The localization for one of Discord's locales, in the default language for those without a language of theirs. */
export function localizationOf(locale: string): Localization {
  const code = isLocale(locale) ? locale : 'en-US';
  const language = languageOf(code);
  const { intl } = LANGUAGES[language];
  return { locale: code, texts: BOT_TEXTS[language], intl, timeZone: TIME_ZONES[code] };
}

function languageOf(locale: `${Locale}`): Language {
  const hasLocale = (language: Language) => LANGUAGES[language].discord.some((served) => served === locale);
  return listLanguages().find(hasLocale) ?? DEFAULT_LANGUAGE;
}

/** A text for each of Discord's locales with a language other than the default one, which everybody else sees. */
export function localizationsOf(pick: (texts: Texts) => string): LocalizationMap {
  const languages = listLanguages().filter((language) => language !== DEFAULT_LANGUAGE);
  return Object.fromEntries(
    languages.flatMap((language) =>
      LANGUAGES[language].discord.map((locale) => [locale, pick(BOT_TEXTS[language])]),
    ),
  );
}

/** Sets the name and the description of a command or option, in all languages. */
export function localized<Builder extends SharedNameAndDescription>(
  builder: Builder,
  pick: (texts: Texts['commands']) => { name: string; description: string },
): Builder {
  const { name, description } = pick(BOT_TEXTS[DEFAULT_LANGUAGE].commands);
  return builder
    .setName(name)
    .setDescription(description)
    .setNameLocalizations(localizationsOf(({ commands }) => pick(commands).name))
    .setDescriptionLocalizations(localizationsOf(({ commands }) => pick(commands).description));
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
