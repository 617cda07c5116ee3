import { expect, setDefaultTimeout, test } from 'bun:test';
import { type Audio, anAudio, sequence, sine } from './audio.ts';
import { measureLoudness } from './loudness-meter.ts';

setDefaultTimeout(240_000);

/** EBU Tech 3341 table 1: stereo sines of 1 kHz; the level is the peak of each channel in dBFS. */
const CASES = [
  { name: '1', parts: [[-23, 20]], expected: -23 },
  { name: '2', parts: [[-33, 20]], expected: -33 },
  {
    name: '3',
    parts: [
      [-36, 10],
      [-23, 60],
      [-36, 10],
    ],
    expected: -23,
  },
  {
    name: '4',
    parts: [
      [-72, 10],
      [-36, 10],
      [-23, 60],
      [-36, 10],
      [-72, 10],
    ],
    expected: -23,
  },
  {
    name: '5',
    parts: [
      [-26, 20],
      [-20, 20.1],
      [-26, 20],
    ],
    expected: -23,
  },
] as const;

test.each(CASES)('meets case $name of EBU Tech 3341 within 0.1 LU', ({ parts, expected }) => {
  const audio = sequence(...parts.map(([level, seconds]) => aTone(level, seconds)));
  expect(Math.abs(measureLoudness(audio).integratedLufs - expected)).toBeLessThanOrEqual(0.1);
});

test('finds the true peak between the samples, as cases 15 to 18 of EBU Tech 3341 ask', () => {
  // A quarter of the sample rate, 45 degrees off: every sample is 3 dB below the peak.
  const audio = anAudio({
    seconds: 1,
    shape: (seconds) => 0.5 * Math.sin(2 * Math.PI * 11_025 * seconds + Math.PI / 4),
  });
  const { truePeakDbtp } = measureLoudness(audio);
  expect(truePeakDbtp).toBeGreaterThan(-6.4);
  expect(truePeakDbtp).toBeLessThan(-5.8);
});

test('measures a clip of 0.3 s as a loop', () => {
  expect(Math.abs(measureLoudness(aTone(-23, 0.3)).integratedLufs + 23)).toBeLessThanOrEqual(0.1);
});

function aTone(level: number, seconds: number): Audio {
  return anAudio({ seconds, shape: sine(1000, 10 ** (level / 20)) });
}
