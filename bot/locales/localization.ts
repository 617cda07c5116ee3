import type { LocalizationMap, SharedNameAndDescription } from 'discord.js';
import { DEFAULT_LANGUAGE, LANGUAGES, type Language, listLanguages } from '../../src/domain/language.ts';
import { en, type Texts } from './en.ts';
import { pl } from './pl.ts';

/** Every text of the bot by language. */
export const BOT_TEXTS: Record<Language, Texts> = { en, pl };

/** The language that a message is written in, and how its numbers and times are formatted. */
export type Localization = {
  language: Language;
  texts: Texts;
  /** The BCP 47 tag of the language. */
  intl: string;
};

/** The localization for one of Discord's locales, in the default language for those without a language of theirs. */
export function localizationOf(locale: string): Localization {
  const hasLocale = (language: Language) => LANGUAGES[language].discord.some((served) => served === locale);
  return localizationIn(listLanguages().find(hasLocale) ?? DEFAULT_LANGUAGE);
}

/** The localization in one of our languages. */
export function localizationIn(language: Language): Localization {
  return { language, texts: BOT_TEXTS[language], intl: LANGUAGES[language].intl };
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
