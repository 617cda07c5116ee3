import { describe, expect, test } from 'bun:test';
import { createTruePeakMeter, type Weights } from '../../../media/rendering/true-peak.ts';
import { noise } from '../../support/audio/audio.ts';
import { addInParts, toSamples } from '../../support/audio/samples.ts';

const MONO: Weights = { channels: 1, first: 1, last: 0 };
const TAPS = 24;

test.each([0.25, 0.5, 0.75])('finds a peak %d of the way between two samples', (position) => {
  const fade = (frame: number) => Math.min(1, frame / 40, (120 - frame) / 40);
  const tone = toSamples(
    120,
    (frame) => 0.5 * fade(frame) * Math.cos((Math.PI / 2) * (frame - 60 - position)),
  );
  expect(findPeak(tone)).toBeCloseTo(0.5, 2);
  expect(findPeak(tone)).toBeCloseTo(peakOfOversampled(tone), 9);
});

test('finds a peak between a loud sample and a quiet one', () => {
  const clip = Float32Array.of(-0.9, 0.9, 0.3, -0.3);
  expect(findPeak(clip)).toBeGreaterThan(1);
  expect(findPeak(clip)).toBeCloseTo(peakOfOversampled(clip), 9);
  expect(findPeak(clip.toReversed())).toBeCloseTo(peakOfOversampled(clip), 9);
});

test('finds peaks in the first and the last interval of a clip', () => {
  expect(findPeak(Float32Array.of(0.5))).toBe(0.5);
  expect(findPeak(Float32Array.of(0.5, 0.5))).toBeCloseTo(2 / Math.PI, 2);
  const pair = [0.5, 0.5, 0.5, 0.5];
  const quiet = Array.from({ length: 100 }, () => 0);
  const stereo: Weights = { channels: 2, first: 1, last: 0 };
  expect(findPeak(Float32Array.from([...pair, ...quiet]), stereo)).toBeCloseTo(2 / Math.PI, 2);
  expect(findPeak(Float32Array.from([...quiet, ...pair]), stereo)).toBeCloseTo(2 / Math.PI, 2);
});

test('a silent signal has no peak', () => {
  expect(findPeak(new Float32Array(100))).toBe(0);
});

describe('noise has the peak of the same noise at four times the rate', () => {
  test.each([1, 2, 3, 4, 5, 6, 7, 8])('of seed %d, however samples arrive', (seed) => {
    const samples = toSamples(60, noise(0.9, seed));
    const expected = peakOfOversampled(samples);
    for (const samplesAtOnce of [1, 7, 60]) {
      expect(findPeak(samples, MONO, samplesAtOnce)).toBeCloseTo(expected, 9);
    }
  });

  test.each([
    { channels: 2, first: 1, last: 0 },
    { channels: 2, first: 0, last: 1 },
    { channels: 2, first: 0.5, last: 0.5 },
  ] as const)(
    'in a mix of $first times the first channel and $last times the last',
    ({ channels, first, last }) => {
      const samples = toSamples(120, noise(0.9));
      const mixed = toSamples(
        60,
        (frame) => first * (samples[2 * frame] ?? 0) + last * (samples[2 * frame + 1] ?? 0),
      );
      for (const samplesAtOnce of [2, 14, 120]) {
        const peak = findPeak(samples, { channels, first, last }, samplesAtOnce);
        expect(peak).toBeCloseTo(peakOfOversampled(mixed), 9);
      }
    },
  );
});

function findPeak(samples: Float32Array, weights = MONO, samplesAtOnce = samples.length): number {
  const meter = createTruePeakMeter(weights);
  addInParts(meter, samples, samplesAtOnce);
  return meter.finish();
}

/** Interpolates every quarter of a sample, from the 24 samples around it that a Hann window lets through. */
function peakOfOversampled(samples: Float32Array): number {
  let peak = 0;
  for (let quarter = -4 * TAPS; quarter < 4 * (samples.length + TAPS); quarter++) {
    let value = 0;
    samples.forEach((sample, frame) => {
      const distance = quarter / 4 - frame;
      if (Math.abs(distance) >= TAPS / 2) return;
      value += sample * sinc(distance) * Math.cos((Math.PI * distance) / TAPS) ** 2;
    });
    peak = Math.max(peak, Math.abs(value));
  }
  return peak;
}

function sinc(x: number): number {
  return x === 0 ? 1 : Math.sin(Math.PI * x) / (Math.PI * x);
}
