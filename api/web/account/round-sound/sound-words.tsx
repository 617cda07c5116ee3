import type { JSX } from 'hono/jsx/jsx-runtime';
import type { RoundSound } from '../../../../src/queries/round-sounds/round-sounds.ts';
import type { Locale } from '../../layout/locales/locale.ts';
import { textsOf } from '../../layout/locales/texts.ts';

const FILE_EXTENSION = /(?<=.)\.(?:mp3|wav|flac|ogg|oga|opus|m4a|aac|aiff?|caf|mka|mkv|mov|mp4|webm|wma)$/i;

/** A sound's title as people read it: the name of its file, without the extension. */
export function titleOf({ title }: Pick<RoundSound, 'title'>): string {
  return title.replace(FILE_EXTENSION, '');
}

/** How much louder or quieter a file was than what it became, in words. Below 2 LU hardly anybody hears a difference. */
const STEPS = [
  ['muchTooQuiet', -10],
  ['tooQuiet', -2],
  ['right', 2],
  ['tooLoud', 10],
] as const;

type LoudnessProps = { before: number; after: number; locale: Locale };

/** How loud the file was, compared with what all sounds become; the measured value is its tooltip. */
export function LoudnessBefore({ before, after, locale }: LoudnessProps): JSX.Element {
  const t = textsOf(locale).roundSound;
  const step = STEPS.find(([, below]) => before - after < below)?.[0] ?? 'muchTooLoud';
  return <Measured words={t.loudnessWords[step]} lufs={before} locale={locale} />;
}

/** How loud the sound is now; the measured value is its tooltip. */
export function LoudnessAfter({ after, locale }: Omit<LoudnessProps, 'before'>): JSX.Element {
  return <Measured words={textsOf(locale).roundSound.loudnessWords.even} lufs={after} locale={locale} />;
}

function Measured({ words, lufs, locale }: { words: string; lufs: number; locale: Locale }): JSX.Element {
  const value = textsOf(locale).roundSound.loudness(formatDecimal(locale, lufs));
  return (
    <abbr title={value}>
      {words}
      <span class="sr-only"> ({value})</span>
    </abbr>
  );
}

/** One decimal, in the language's own notation, with a real minus. */
export function formatDecimal(locale: Locale, value: number): string {
  return new Intl.NumberFormat(locale, { minimumFractionDigits: 1, maximumFractionDigits: 1 })
    .format(value)
    .replace('-', '−');
}

/** `0:06` */
export function formatLength(durationMs: number): string {
  const seconds = Math.round(durationMs / 1000);
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')}`;
}
