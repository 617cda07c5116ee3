import type { JSX } from 'hono/jsx/jsx-runtime';
import { type Language, perLanguage } from '../../../src/domain/language.ts';
import { textsOf } from '../locales/texts.ts';

/**
 * Words for the original loudness relative to the normalized one, each with its upper bound in LU. A difference of less
 * than 2 LU is barely audible.
 */
const STEPS = [
  ['muchTooQuiet', -10],
  ['tooQuiet', -2],
  ['right', 2],
  ['tooLoud', 10],
] as const;

type LoudnessProps = { lufs: number; normalLufs: number; language: Language };

/** The original loudness in words; the tooltip shows the measured value. */
export function Loudness({ lufs, normalLufs, language }: LoudnessProps): JSX.Element {
  const word = STEPS.find(([, below]) => lufs - normalLufs < below)?.[0] ?? 'muchTooLoud';
  const t = textsOf(language).roundSound;
  const value = t.loudness(formatDecimal(language, lufs));
  return (
    <abbr title={value}>
      {t.loudnessWords[word]}
      <span class="sr-only"> ({value})</span>
    </abbr>
  );
}

/** Formats a number with one decimal, in the locale's notation, with a minus sign (U+2212) instead of a hyphen. */
export function formatDecimal(language: Language, value: number): string {
  return decimalFormat(language).format(value).replace('-', '−');
}

const decimalFormat = perLanguage(
  ({ intl }) => new Intl.NumberFormat(intl, { minimumFractionDigits: 1, maximumFractionDigits: 1 }),
);

/** Formats a duration as `0:06`. */
export function formatLength(durationMs: number): string {
  const seconds = Math.round(durationMs / 1000);
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')}`;
}
