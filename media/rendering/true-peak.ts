/**
 * True peaks as in ITU-R BS.1770-4 annex 2: the largest value of the signal between its samples, found by sampling it
 * four times as often.
 */
export type TruePeakMeter = {
  /** Adds the next frames, interleaved. */
  add(samples: Float32Array): void;
  /** Ends the signal. @returns its peak; 1 is full scale. */
  finish(): number;
};

/** A mix of the first and the last channel of a frame. */
export type Weights = { channels: 1 | 2; first: number; last: number };

const OVERSAMPLING = 4;
const TAPS = 24;
/** Samples before and after an interval that its interpolation uses, and that the next call needs again. */
const OVERLAP = TAPS - 1;
/** A peak is assumed to be less than 6 dB above the louder of the samples beside it. */
const MAX_OVERSHOOT = 2;

/** Windowed sinc functions, for the three positions between two samples. */
const FIRST_QUARTER = createFilter(1 / OVERSAMPLING);
const HALF = createFilter(2 / OVERSAMPLING);
const LAST_QUARTER = createFilter(3 / OVERSAMPLING);

/** @param position between two samples, from 0 to 1. */
function createFilter(position: number): Float64Array {
  return Float64Array.from({ length: TAPS }, (_, tap) => {
    const x = Math.PI * (tap - TAPS / 2 + 1 - position);
    return (Math.sin(x) / x) * (0.5 + 0.5 * Math.cos(x / (TAPS / 2)));
  });
}

/** Creates a meter for a mix, which is taken to be silent before and after its frames, as it is during playback. */
export function createTruePeakMeter({ channels, first, last }: Weights): TruePeakMeter {
  let peak = 0;
  let previous = new Float32Array(OVERLAP);
  const add = (samples: Float32Array): void => {
    const mixed = new Float32Array(OVERLAP + samples.length / channels);
    mixed.set(previous);
    for (let at = 0, frame = OVERLAP; frame < mixed.length; at += channels, frame++) {
      const value = first * (samples[at] ?? 0) + last * (samples[at + channels - 1] ?? 0);
      mixed[frame] = value;
      if (Math.abs(value) > peak) peak = Math.abs(value);
    }
    peak = findPeak(mixed, peak);
    previous = mixed.slice(-OVERLAP);
  };
  return {
    add,
    finish() {
      add(new Float32Array(OVERLAP * channels));
      return peak;
    },
  };
}

/** Interpolates only between samples that are loud enough for a new peak; one loop for all positions, which costs half. */
function findPeak(samples: Float32Array, known: number): number {
  let peak = known;
  for (let first = 0; first + TAPS <= samples.length; first++) {
    const before = Math.abs(samples[first + TAPS / 2 - 1] ?? 0);
    const after = Math.abs(samples[first + TAPS / 2] ?? 0);
    if (before * MAX_OVERSHOOT < peak && after * MAX_OVERSHOOT < peak) continue;
    let firstQuarter = 0;
    let half = 0;
    let lastQuarter = 0;
    for (let tap = 0; tap < TAPS; tap++) {
      const sample = samples[first + tap] ?? 0;
      firstQuarter += (FIRST_QUARTER[tap] ?? 0) * sample;
      half += (HALF[tap] ?? 0) * sample;
      lastQuarter += (LAST_QUARTER[tap] ?? 0) * sample;
    }
    peak = Math.max(peak, Math.abs(firstQuarter), Math.abs(half), Math.abs(lastQuarter));
  }
  return peak;
}
