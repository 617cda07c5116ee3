type LanguageFacts = {
  /** In the language itself. */
  name: string;
  /** The BCP 47 tag for formats of `Intl`: numbers, dates, plural forms. */
  intl: string;
  /** How dates name months: Polish declines only whole names, as in "12 maja". */
  months: 'short' | 'long';
  /** Whether "1" is left out before a unit of time: Polish has "dzień temu", not "1 dzień temu". */
  omitsOne: boolean;
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
  en: {
    name: 'English',
    intl: 'en-GB',
    months: 'short',
    omitsOne: false,
    openGraph: 'en_GB',
    discord: ['en-US', 'en-GB'],
  },
  pl: { name: 'Polski', intl: 'pl', months: 'long', omitsOne: true, openGraph: 'pl_PL', discord: ['pl'] },
} as const satisfies Record<string, LanguageFacts>;

export type Language = keyof typeof LANGUAGES;

/** For readers who ask for none of the languages. */
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
 * A format of `Intl` for each language, and for each time zone or unit if it depends on that; created once: creating one
 * takes longer than using it a hundred times.
 */
export function perLanguage<T, Option extends [option?: string]>(
  create: (facts: LanguageFacts, ...option: Option) => T,
): (language: Language, ...option: Option) => T {
  const formats = new Map<string, T>();
  return (language, ...option) =>
    formats.getOrInsertComputed([language, ...option].join(' '), () =>
      create(LANGUAGES[language], ...option),
    );
}
