import type { Audio } from './audio.ts';

/**
 * A meter of our own, to judge what the pipeline publishes: integrated loudness with the two gates, and the true peak
 * of the signal sampled four times as often. It shares no code with the pipeline's meter, whose defects it has to find.
 * @see https://www.itu.int/rec/R-REC-BS.1770 · https://tech.ebu.ch/docs/tech/tech3341.pdf
 */
type Measurement = { integratedLufs: number; truePeakDbtp: number; seconds: number };

const BLOCK_SECONDS = 0.4;
const STEP_SECONDS = 0.1;
const ABSOLUTE_GATE_LUFS = -70;
const RELATIVE_GATE_LU = -10;
const MIN_SECONDS = 3;

/** A clip below three seconds is measured as a loop: below 0.4 s there is no integrated loudness. */
export function judgeLoudness(audio: Audio): Measurement {
  const length = audio.channels[0]?.length ?? 0;
  const looped = length < MIN_SECONDS * audio.sampleRate ? loop(audio) : audio;
  return {
    integratedLufs: integrate(looped),
    /** Found when it is asked for: it takes most of the time. */
    get truePeakDbtp() {
      return 20 * Math.log10(Math.max(...audio.channels.map(findTruePeak)));
    },
    seconds: length / audio.sampleRate,
  };
}

function loop(audio: Audio): Audio {
  const wanted = MIN_SECONDS * audio.sampleRate;
  return {
    ...audio,
    channels: audio.channels.map((samples) => {
      const times = Math.ceil(wanted / Math.max(1, samples.length));
      return Float32Array.from(
        { length: samples.length * times },
        (_, at) => samples[at % samples.length] ?? 0,
      );
    }),
  };
}

function integrate({ sampleRate, channels }: Audio): number {
  const step = Math.round(STEP_SECONDS * sampleRate);
  const stepsPerBlock = Math.round(BLOCK_SECONDS / STEP_SECONDS);
  const energies = channels.map((samples) => stepEnergies(weight(samples, sampleRate), step));
  const steps = energies[0]?.length ?? 0;
  const blocks = Array.from({ length: Math.max(0, steps - stepsPerBlock + 1) }, (_, at) =>
    energies.reduce((sum, channel) => sum + mean(channel.slice(at, at + stepsPerBlock)), 0),
  );
  const audible = blocks.filter((energy) => toLufs(energy) > ABSOLUTE_GATE_LUFS);
  const gate = toLufs(mean(audible)) + RELATIVE_GATE_LU;
  return toLufs(mean(audible.filter((energy) => toLufs(energy) > gate)));
}

function stepEnergies(samples: Float64Array, step: number): number[] {
  return Array.from({ length: Math.floor(samples.length / step) }, (_, at) => {
    let sum = 0;
    for (let index = at * step; index < (at + 1) * step; index++) sum += (samples[index] ?? 0) ** 2;
    return sum / step;
  });
}

/** The two filters of BS.1770 annex 1, derived for any sample rate from their analogue shapes. */
function weight(samples: Float32Array, sampleRate: number): Float64Array {
  return filter(filter(Float64Array.from(samples), highShelf(sampleRate)), highPass(sampleRate));
}

type Biquad = { b: readonly [number, number, number]; a: readonly [number, number] };

function highShelf(sampleRate: number): Biquad {
  const k = Math.tan((Math.PI * 1681.9744509555319) / sampleRate);
  const q = 0.7071752369554193;
  const high = 10 ** (3.99984385397 / 20);
  const band = high ** 0.499666774155;
  const a0 = 1 + k / q + k * k;
  return {
    b: [
      (high + (band * k) / q + k * k) / a0,
      (2 * (k * k - high)) / a0,
      (high - (band * k) / q + k * k) / a0,
    ],
    a: [(2 * (k * k - 1)) / a0, (1 - k / q + k * k) / a0],
  };
}

function highPass(sampleRate: number): Biquad {
  const k = Math.tan((Math.PI * 38.13547087613982) / sampleRate);
  const q = 0.5003270373253953;
  const a0 = 1 + k / q + k * k;
  return { b: [1, -2, 1], a: [(2 * (k * k - 1)) / a0, (1 - k / q + k * k) / a0] };
}

function filter(samples: Float64Array, { b, a }: Biquad): Float64Array {
  const output = new Float64Array(samples.length);
  let [x1, x2, y1, y2] = [0, 0, 0, 0];
  for (let index = 0; index < samples.length; index++) {
    const x = samples[index] ?? 0;
    const y = b[0] * x + b[1] * x1 + b[2] * x2 - a[0] * y1 - a[1] * y2;
    [x2, x1, y2, y1] = [x1, x, y1, y];
    output[index] = y;
  }
  return output;
}

const OVERSAMPLING = 4;
const TAPS_PER_PHASE = 24;
const PHASES = Array.from({ length: OVERSAMPLING }, (_, phase) =>
  Float64Array.from({ length: TAPS_PER_PHASE }, (_, tap) => {
    const x = tap - TAPS_PER_PHASE / 2 + 1 - phase / OVERSAMPLING;
    const window = 0.5 + 0.5 * Math.cos((Math.PI * x) / (TAPS_PER_PHASE / 2));
    return x === 0 ? 1 : (Math.sin(Math.PI * x) / (Math.PI * x)) * window;
  }),
);

/** Only the surroundings of loud samples can hold the peak, so the rest is not interpolated. */
function findTruePeak(samples: Float32Array): number {
  const loudest = samples.reduce((largest, value) => Math.max(largest, Math.abs(value)), 0);
  let peak = loudest;
  for (let at = 0; at < samples.length; at++) {
    if (Math.max(Math.abs(samples[at] ?? 0), Math.abs(samples[at + 1] ?? 0)) < loudest * 0.5) continue;
    for (const phase of PHASES) {
      let value = 0;
      for (let tap = 0; tap < TAPS_PER_PHASE; tap++) {
        value += (phase[tap] ?? 0) * (samples[at + tap - TAPS_PER_PHASE / 2 + 1] ?? 0);
      }
      peak = Math.max(peak, Math.abs(value));
    }
  }
  return peak;
}

function mean(values: readonly number[]): number {
  return values.length === 0 ? 0 : values.reduce((sum, value) => sum + value, 0) / values.length;
}

function toLufs(energy: number): number {
  return -0.691 + 10 * Math.log10(energy);
}
