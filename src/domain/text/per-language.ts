import { LANGUAGES, type Language } from '../language.ts';

/** A format of `Intl` for each language, created once: to create one takes longer than to use it a hundred times. */
export function perLanguage<T>(create: (tag: string) => T): (language: Language) => T {
  const created = new Map<Language, T>();
  return (language) => created.getOrInsertComputed(language, () => create(LANGUAGES[language].intl));
}
