import { type Audio, anAudio, sequence, sine } from './audio.ts';

/** A stereo sine of 1 kHz. @param level the peak of each channel, in dBFS. */
export function aTone(level: number, seconds: number): Audio {
  return anAudio({ seconds, shape: sine(1000, 10 ** (level / 20)) });
}

const aSequence =
  (...parts: [level: number, seconds: number][]) =>
  (): Audio =>
    sequence(...parts.map(([level, seconds]) => aTone(level, seconds)));

/** EBU Tech 3341 table 1, cases 1 to 5, with the expected loudness in LUFS. */
export const LOUDNESS_CASES = [
  { name: '1', audio: aSequence([-23, 20]), expected: -23 },
  { name: '2', audio: aSequence([-33, 20]), expected: -33 },
  { name: '3', audio: aSequence([-36, 10], [-23, 60], [-36, 10]), expected: -23 },
  { name: '4', audio: aSequence([-72, 10], [-36, 10], [-23, 60], [-36, 10], [-72, 10]), expected: -23 },
  { name: '5', audio: aSequence([-26, 20], [-20, 20.1], [-26, 20]), expected: -23 },
];
