import { hasVisibleCharacter } from '../domain/text/visible-text.ts';

/** Every character without a glyph in the fonts, which have Latin, Greek and Cyrillic letters and common symbols. */
const WITHOUT_GLYPH =
  /[^\u0020-\u007e\u00a1-\u00ac\u00ae-\u024f\u0384-\u038a\u038c\u038e-\u03a1\u03a3-\u03ff\u0400-\u045f\u0490\u0491\u1e00-\u1e9f\u2013\u2014\u2018-\u201e\u2022\u2026\u20ac\u2116\u2122]+/gu;

/**
 * Accents that are not part of a letter, and characters that are invisible: they separate nothing. Hangul fillers do: they
 * are ignorable by Unicode, but fonts have them as wide spaces.
 */
const WITHOUT_WIDTH = /[[\p{M}\p{Default_Ignorable_Code_Point}]--[\u115f\u1160\u3164\uffa0]]+/gv;

const graphemes = new Intl.Segmenter(undefined, { granularity: 'grapheme' });

/** A text without characters that would be drawn as empty boxes; `fallback` if nothing readable is left. */
export function toDrawable(text: string, fallback: string): string {
  const letters = text.normalize('NFC').replace(WITHOUT_WIDTH, '');
  const result = letters.replace(WITHOUT_GLYPH, ' ').replace(/\s+/g, ' ').trim();
  return hasVisibleCharacter(result) && /[\p{L}\p{N}]/u.test(result) ? result : fallback;
}

/** A text that fits a width, shortened with an ellipsis if necessary. @param widthOf measures a text. */
export function fitText(text: string, maxWidth: number, widthOf: (text: string) => number): string {
  if (widthOf(text) <= maxWidth) return text;
  const parts = [...graphemes.segment(text)].map(({ segment }) => segment);
  const cutAt = (count: number) => `${parts.slice(0, count).join('').trimEnd()}…`;
  let [fits, tooLong] = [0, parts.length];
  while (tooLong - fits > 1) {
    const middle = Math.floor((fits + tooLong) / 2);
    if (widthOf(cutAt(middle)) <= maxWidth) fits = middle;
    else tooLong = middle;
  }
  return cutAt(fits);
}
