import type { Language } from '../../../src/domain/language.ts';
import { en, type Texts } from './en.ts';
import { pl } from './pl.ts';

export type NoticeKey = keyof Texts['notices'];
export type ErrorKey = Exclude<
  keyof Texts['errors'],
  'titles' | 'home' | 'toForm' | 'retry' | 'requestId' | 'because'
>;

/** Every sentence of the pages by language. */
export const PAGE_TEXTS: Record<Language, Texts> = { en, pl };

/** The sentences of all pages in a language. */
export function textsOf(language: Language): Texts {
  return PAGE_TEXTS[language];
}

/** Whether there is a notice of this name: it comes from a cookie. */
export function isNoticeKey(text: string): text is NoticeKey {
  return Object.hasOwn(en.notices, text);
}
