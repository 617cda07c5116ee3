import type { JSX } from 'hono/jsx/jsx-runtime';
import { soundFileName, soundVersion } from '../../../src/domain/round-sound.ts';
import type { RoundSound } from '../../../src/queries/round-sounds/round-sounds.ts';
import { textsOf } from '../locales/texts.ts';
import type { Visit } from '../request/visit.ts';

const FILE_EXTENSION = /(?<=.)\.(?:mp3|wav|flac|ogg|oga|opus|m4a|aac|aiff?|caf|mka|mkv|mov|mp4|webm|wma)$/i;

/** A sound's display title: its file name without the extension. */
export function titleOf({ title }: Pick<RoundSound, 'title'>): string {
  return title.replace(FILE_EXTENSION, '');
}

/** The address from which the page plays a sound; it contains a version, so browsers may cache it indefinitely. */
export function soundAddress(sound: RoundSound): string {
  const version = sound.sha256 === null ? sound.id : soundVersion(sound.sha256);
  return `/storage/roundsound/${soundFileName(sound.steamId64, 'stereo')}?v=${version}`;
}

type PlayerProps = {
  sound: RoundSound;
  visit: Pick<Visit, 'language'>;
  /** `metadata`: the browser loads the duration up front. By default nothing is loaded before playback. */
  preload?: 'none' | 'metadata';
};

/** An audio player for a sound. */
export function SoundPlayer({ sound, visit, preload = 'none' }: PlayerProps): JSX.Element {
  const label = textsOf(visit.language).roundSound.playerLabel(titleOf(sound));
  return (
    // biome-ignore lint/a11y/useMediaCaption: nobody writes captions for ten seconds of music.
    <audio controls preload={preload} src={soundAddress(sound)} aria-label={label}></audio>
  );
}

const BAR = 4;
const HALF_HEIGHT = 32;

/**
 * One bar for each stored peak, mirrored around the middle and scaled so that the loudest peak fills the height. A
 * script colours the part that has been played.
 */
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
