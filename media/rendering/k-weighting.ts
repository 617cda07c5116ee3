import { toFrames } from './units.ts';

/** Over one step, the mean squares of both channels and the mean of their product: enough for the power of every mix. */
export type StepPower = { left: number; right: number; product: number };

const STEP_SECONDS = 0.1;

/**
 * Applies the K-weighting of ITU-R BS.1770-4 annex 1, and sums the power over steps of 100 ms. An incomplete step is left
 * out. One channel counts as two equal ones.
 */
export function createKWeighting(options: { sampleRate: number; channels: 1 | 2 }): {
  add(samples: Float32Array): void;
  readonly steps: readonly StepPower[];
} {
  const { sampleRate, channels } = options;
  const stepFrames = toFrames(STEP_SECONDS, sampleRate);
  const filter = { ...computeFilter(sampleRate), channels, state: new Float64Array(8) };
  const sums = new Float64Array(3);
  const steps: StepPower[] = [];
  let missing = stepFrames * channels;
  return {
    steps,
    add(samples) {
      for (let from = 0; from < samples.length; ) {
        const part = samples.subarray(from, from + missing);
        addPowers(part, filter, sums);
        from += part.length;
        missing -= part.length;
        if (missing > 0) return;
        const [left = 0, right = 0, product = 0] = sums.map((sum) => sum / stepFrames);
        steps.push({ left, right, product });
        sums.fill(0);
        missing = stepFrames * channels;
      }
    },
  };
}

type Filter = { shelf: Shelf; highPass: HighPass; channels: 1 | 2; state: Float64Array };

/**
 * Both filters on both channels in one loop: they do not depend on each other, so the processor overlaps them.
 * The high-pass filter's b0, b1 and b2 are 1, -2 and 1 at any sample rate.
 */
function addPowers(samples: Float32Array, filter: Filter, sums: Float64Array): void {
  const { shelf, highPass, channels, state } = filter;
  const { b0, b1, b2, a1, a2 } = shelf;
  const { a1: c1, a2: c2 } = highPass;
  let [l1 = 0, l2 = 0, l3 = 0, l4 = 0, r1 = 0, r2 = 0, r3 = 0, r4 = 0] = state;
  let [left = 0, right = 0, product = 0] = sums;
  for (let at = 0; at < samples.length; at += channels) {
    const l = samples[at] ?? 0;
    const lShelf = b0 * l + l1;
    l1 = b1 * l - a1 * lShelf + l2;
    l2 = b2 * l - a2 * lShelf;
    const lWeighted = lShelf + l3;
    l3 = l4 - 2 * lShelf - c1 * lWeighted;
    l4 = lShelf - c2 * lWeighted;
    const r = samples[at + channels - 1] ?? 0;
    const rShelf = b0 * r + r1;
    r1 = b1 * r - a1 * rShelf + r2;
    r2 = b2 * r - a2 * rShelf;
    const rWeighted = rShelf + r3;
    r3 = r4 - 2 * rShelf - c1 * rWeighted;
    r4 = rShelf - c2 * rWeighted;
    left += lWeighted * lWeighted;
    right += rWeighted * rWeighted;
    product += lWeighted * rWeighted;
  }
  state.set([l1, l2, l3, l4, r1, r2, r3, r4]);
  sums.set([left, right, product]);
}

type Shelf = { b0: number; b1: number; b2: number; a1: number; a2: number };
type HighPass = Pick<Shelf, 'a1' | 'a2'>;

/** The recommendation has coefficients for 48 kHz only. This derives them for any sample rate from the analogue filters. */
function computeFilter(sampleRate: number): { shelf: Shelf; highPass: HighPass } {
  return { shelf: computeShelf(sampleRate), highPass: computeHighPass(sampleRate) };
}

function computeShelf(sampleRate: number): Shelf {
  const k = Math.tan((Math.PI * 1681.974450955533) / sampleRate);
  const q = 0.7071752369554196;
  const high = 10 ** (3.999843853973347 / 20);
  const band = high ** 0.4996667741545416;
  const a0 = 1 + k / q + k * k;
  return {
    b0: (high + (band * k) / q + k * k) / a0,
    b1: (2 * (k * k - high)) / a0,
    b2: (high - (band * k) / q + k * k) / a0,
    a1: (2 * (k * k - 1)) / a0,
    a2: (1 - k / q + k * k) / a0,
  };
}

function computeHighPass(sampleRate: number): HighPass {
  const k = Math.tan((Math.PI * 38.13547087602444) / sampleRate);
  const q = 0.5003270373238773;
  const a0 = 1 + k / q + k * k;
  return { a1: (2 * (k * k - 1)) / a0, a2: (1 - k / q + k * k) / a0 };
}
