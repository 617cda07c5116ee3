import type { JSX } from 'hono/jsx/jsx-runtime';
import type { Language } from '../../../../src/domain/language.ts';
import { perLanguage } from '../../../../src/domain/text/per-language.ts';
import type { RoundSound } from '../../../../src/queries/round-sounds/round-sounds.ts';
import { textsOf } from '../../layout/locales/texts.ts';

const FILE_EXTENSION = /(?<=.)\.(?:mp3|wav|flac|ogg|oga|opus|m4a|aac|aiff?|caf|mka|mkv|mov|mp4|webm|wma)$/i;

/** A sound's display title: its file name without the extension. */
export function titleOf({ title }: Pick<RoundSound, 'title'>): string {
  return title.replace(FILE_EXTENSION, '');
}

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

type LoudnessProps = { before: number; after: number; locale: Language };

/** How loud the file was compared with the target loudness of all sounds; the tooltip shows the measured value. */
export function LoudnessBefore({ before, after, locale }: LoudnessProps): JSX.Element {
  const t = textsOf(locale).roundSound;
  const step = STEPS.find(([, below]) => before - after < below)?.[0] ?? 'muchTooLoud';
  return <Measured words={t.loudnessWords[step]} lufs={before} locale={locale} />;
}

/** How loud the sound is now; the tooltip shows the measured value. */
export function LoudnessAfter({ after, locale }: Omit<LoudnessProps, 'before'>): JSX.Element {
  return <Measured words={textsOf(locale).roundSound.loudnessWords.even} lufs={after} locale={locale} />;
}

function Measured({ words, lufs, locale }: { words: string; lufs: number; locale: Language }): JSX.Element {
  const value = textsOf(locale).roundSound.loudness(formatDecimal(locale, lufs));
  return (
    <abbr title={value}>
      {words}
      <span class="sr-only"> ({value})</span>
    </abbr>
  );
}

/** Formats a number with one decimal, in the locale's notation, with a minus sign (U+2212) instead of a hyphen. */
export function formatDecimal(locale: Language, value: number): string {
  return decimalFormat(locale).format(value).replace('-', '−');
}

const decimalFormat = perLanguage(
  (tag) => new Intl.NumberFormat(tag, { minimumFractionDigits: 1, maximumFractionDigits: 1 }),
);

/** Formats a duration as `0:06`. */
export function formatLength(durationMs: number): string {
  const seconds = Math.round(durationMs / 1000);
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')}`;
}
