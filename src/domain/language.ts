type LanguageFacts = {
  /** In the language itself. */
  name: string;
  /** The BCP 47 tag for formats of `Intl`: numbers, dates, plural forms. */
  intl: string;
  /** The tag for link previews, https://ogp.me/#optional. */
  openGraph: string;
  /**
   * Discord's locales that are served in this language; the first language serves all others too.
   * @see https://docs.discord.com/developers/reference#locales
   */
  discord: readonly string[];
};

/** The languages of the pages, the bot and the guide. CONTRIBUTING.md says how to add one. */
export const LANGUAGES = {
  en: { name: 'English', intl: 'en-GB', openGraph: 'en_GB', discord: ['en-US', 'en-GB'] },
  pl: { name: 'Polski', intl: 'pl', openGraph: 'pl_PL', discord: ['pl'] },
} as const satisfies Record<string, LanguageFacts>;

export type Language = keyof typeof LANGUAGES;

/** For who asks for none of the languages. */
export const DEFAULT_LANGUAGE: Language = 'en';

/** Every language, the default one first. */
export function listLanguages(): Language[] {
  return Object.keys(LANGUAGES).filter(isLanguage);
}

function isLanguage(code: string): code is Language {
  return Object.hasOwn(LANGUAGES, code);
}

/** One of our languages, by its exact code; undefined for anything else. */
export function tryParseLanguage(text: string | null | undefined): Language | undefined {
  return typeof text === 'string' && isLanguage(text) ? text : undefined;
}

/**
 * A format of `Intl` for each language, and for each time zone if it depends on that; created once: creating one takes
 * longer than using it a hundred times.
 */
export function perLanguage<T, Zone extends [timeZone?: string]>(
  create: (tag: string, ...zone: Zone) => T,
): (language: Language, ...zone: Zone) => T {
  const formats = new Map<string, T>();
  return (language, ...zone) =>
    formats.getOrInsertComputed([language, ...zone].join(' '), () =>
      create(LANGUAGES[language].intl, ...zone),
    );
}
