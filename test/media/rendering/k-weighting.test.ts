import { expect, test } from 'bun:test';
import { createKWeighting, type StepPower } from '../../../media/rendering/k-weighting.ts';
import { noise } from '../../support/audio/audio.ts';
import { addInParts, toSamples } from '../../support/audio/samples.ts';

/** The coefficients in ITU-R BS.1770-4 annex 1, tables 1 and 2, for 48 kHz: b0, b1, b2, a1, a2. */
const SHELF = [1.53512485958697, -2.69169618940638, 1.19839281085285, -1.69065929318241, 0.73248077421585];
const HIGH_PASS = [1, -2, 1, -1.99004745483398, 0.99007225036621];
const STEP_FRAMES = 4800;

test('has the power of the filters that BS.1770 lists for 48 kHz, in whole steps only', () => {
  const left = toSamples(2.5 * STEP_FRAMES, noise(0.5, 1));
  const right = toSamples(2.5 * STEP_FRAMES, noise(0.25, 2));
  const weighted = {
    left: filter(filter(left, SHELF), HIGH_PASS),
    right: filter(filter(right, SHELF), HIGH_PASS),
  };
  const expected = [0, 1].map((step) => ({
    left: meanProduct(weighted.left, weighted.left, step),
    right: meanProduct(weighted.right, weighted.right, step),
    product: meanProduct(weighted.left, weighted.right, step),
  }));
  const steps = weigh(interleave(left, right), { sampleRate: 48_000, channels: 2 });
  expect(steps).toEqual(expected.map(closeTo));
});

test('one channel counts as two equal ones', () => {
  const samples = toSamples(1600, noise(0.5));
  const steps = weigh(samples, { sampleRate: 8000, channels: 1 });
  expect(steps).toHaveLength(2);
  expect(steps).toEqual(weigh(interleave(samples, samples), { sampleRate: 8000, channels: 2 }));
});

test('steps are the same however samples arrive', () => {
  const samples = toSamples(3200, noise(0.5));
  const options = { sampleRate: 8000, channels: 2 } as const;
  const whole = weigh(samples, options);
  expect(whole).toHaveLength(2);
  for (const samplesAtOnce of [2, 1600, 1602]) expect(weigh(samples, options, samplesAtOnce)).toEqual(whole);
});

function interleave(left: Float32Array, right: Float32Array): Float32Array {
  return Float32Array.from(
    { length: 2 * left.length },
    (_, at) => (at % 2 === 0 ? left : right)[at >> 1] ?? 0,
  );
}

function weigh(
  samples: Float32Array,
  options: { sampleRate: number; channels: 1 | 2 },
  samplesAtOnce = samples.length,
): readonly StepPower[] {
  const weighting = createKWeighting(options);
  addInParts(weighting, samples, samplesAtOnce);
  return weighting.steps;
}

/** The difference equation of a filter of second order. */
function filter(
  samples: ArrayLike<number>,
  [b0 = 0, b1 = 0, b2 = 0, a1 = 0, a2 = 0]: number[],
): Float64Array {
  let [x1, x2, y1, y2] = [0, 0, 0, 0];
  return Float64Array.from(samples, (x) => {
    const y = b0 * x + b1 * x1 + b2 * x2 - a1 * y1 - a2 * y2;
    [x1, x2, y1, y2] = [x, x1, y, y1];
    return y;
  });
}

function meanProduct(one: Float64Array, other: Float64Array, step: number): number {
  let sum = 0;
  for (let at = step * STEP_FRAMES; at < (step + 1) * STEP_FRAMES; at++) {
    sum += (one[at] ?? 0) * (other[at] ?? 0);
  }
  return sum / STEP_FRAMES;
}

function closeTo({ left, right, product }: StepPower): StepPower {
  return {
    left: expect.closeTo(left, 8),
    right: expect.closeTo(right, 8),
    product: expect.closeTo(product, 8),
  };
}
