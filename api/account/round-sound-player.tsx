import type { RoundSound } from '../../src/queries/round-sounds.ts';
import { attribute } from './layout.tsx';
import { roundSoundTextsOf } from './round-sound-texts.ts';
import type { Visit } from './visit.ts';

/** Where the page hears a sound; the version makes it cacheable for ever. */
export function soundAddress(sound: RoundSound): string {
  return `/storage/roundsound/${sound.steamId64}.mp3?v=${sound.sha256?.slice(0, 16) ?? sound.id}`;
}

/** Controls to hear it; nothing is loaded before it is played. */
export function SoundPlayer({
  sound,
  visit,
}: {
  sound: RoundSound;
  visit: Pick<Visit, 'locale'>;
}): JSX.Element {
  const label = attribute(roundSoundTextsOf(visit.locale).playerLabel(sound.title));
  return (
    // biome-ignore lint/a11y/useMediaCaption: nobody writes captions for ten seconds of music.
    <audio controls="" preload="none" src={soundAddress(sound)} aria-label={label}></audio>
  );
}

const BAR = 4;
const HALF_HEIGHT = 32;

/** One bar for each stored peak, mirrored around the middle, the loudest as high as the drawing; a script colours what has been played. */
export function Waveform({ peaks, label }: { peaks: readonly number[]; label: string }): JSX.Element {
  const loudest = Math.max(1, ...peaks);
  const bars = peaks.map((peak, index) => {
    const half = Math.max(1, Math.round((peak / loudest) * HALF_HEIGHT));
    return `M${index * BAR + 2} ${HALF_HEIGHT - half}v${half * 2}`;
  });
  return (
    <svg
      class="waveform"
      viewBox={`0 0 ${Math.max(1, peaks.length) * BAR} ${HALF_HEIGHT * 2}`}
      preserveAspectRatio="none"
      role="img"
      aria-label={label}
    >
      <path d={bars.join('')} />
      <path class="waveform-played" d={bars.join('')} />
    </svg>
  );
}
