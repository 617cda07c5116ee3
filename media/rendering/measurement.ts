import { createKWeighting, type StepPower } from './k-weighting.ts';
import type { PcmFormat } from './pcm.ts';
import { createTruePeakMeter } from './true-peak.ts';
import { toDecibels, toFrames } from './units.ts';

/** Loudness as in ITU-R BS.1770-4 and EBU R 128. */
export type Loudness = { integratedLufs: number; truePeakDbtp: number };
/** Both channels, or one that replaces them. */
export type Mix = 'both' | 'average' | 'left' | 'right';
export type MeasuredMixes = Record<Mix, Loudness>;

export type Meter = {
  /** Adds the next frames, interleaved. */
  add(samples: Float32Array): void;
  /** Ends the clip. All mixes of one channel are that channel. */
  finish(): MeasuredMixes;
};

/** Integrated loudness needs blocks of 400 ms: a shorter clip is measured as a loop. */
const MIN_MEASURED_SECONDS = 3;
const STEPS_PER_BLOCK = 4;
const ABSOLUTE_GATE_LUFS = -70;
const RELATIVE_GATE_LU = -10;

/**
 * Measures a clip of `frames` frames. ffmpeg's `ebur128` is not used: one pass here serves every mix, decoded audio is read
 * anyway, and ffmpeg takes several times as long for true peaks.
 */
export function createMeter(format: PcmFormat, { frames }: { frames: number }): Meter {
  const repeats = Math.ceil(toFrames(MIN_MEASURED_SECONDS, format.sampleRate) / Math.max(frames, 1));
  const weighting = createKWeighting(format);
  const peaks = createPeakMeters(format);
  const looped = new Float32Array(repeats > 1 ? repeats * frames * format.channels : 0);
  let length = 0;
  return {
    add(samples) {
      peaks.add(samples);
      if (repeats === 1) weighting.add(samples);
      else looped.set(samples, length);
      length += samples.length;
    },
    finish() {
      for (let at = length; at > 0 && at < looped.length; at += length) looped.copyWithin(at, 0, length);
      weighting.add(looped);
      const truePeaks = peaks.finish();
      const measure = (mix: Mix): Loudness => ({
        integratedLufs: integrate(weighting.steps.map((step) => mixPower(step, mix, format))),
        truePeakDbtp: toDecibels(truePeaks[mix]),
      });
      return {
        both: measure('both'),
        average: measure('average'),
        left: measure('left'),
        right: measure('right'),
      };
    },
  };
}

/** True peaks of every mix; 1 is full scale. */
function createPeakMeters({ channels }: PcmFormat): {
  add(samples: Float32Array): void;
  finish(): Record<Mix, number>;
} {
  const left = createTruePeakMeter({ channels, first: 1, last: 0 });
  const right = createTruePeakMeter({ channels, first: 0, last: 1 });
  const average = createTruePeakMeter({ channels, first: 0.5, last: 0.5 });
  const used = channels === 1 ? [left] : [left, right, average];
  return {
    add(samples) {
      for (const meter of used) meter.add(samples);
    },
    finish() {
      const peak = left.finish();
      if (channels === 1) return { both: peak, average: peak, left: peak, right: peak };
      const other = right.finish();
      return { both: Math.max(peak, other), average: average.finish(), left: peak, right: other };
    },
  };
}

/** BS.1770 adds the power of the channels. */
function mixPower({ left, right, product }: StepPower, mix: Mix, { channels }: PcmFormat): number {
  const powers: Record<Mix, number> = {
    both: channels === 1 ? left : left + right,
    average: (left + right + 2 * product) / 4,
    left,
    right,
  };
  return powers[mix];
}

/** The mean power of blocks of 400 ms, every 100 ms, that are not much quieter than the others. */
function integrate(steps: readonly number[]): number {
  const blocks = steps
    .slice(STEPS_PER_BLOCK - 1)
    .map((_, first) => mean(steps.slice(first, first + STEPS_PER_BLOCK)));
  const audible = blocks.filter((power) => toLufs(power) > ABSOLUTE_GATE_LUFS);
  const gateLufs = toLufs(mean(audible)) + RELATIVE_GATE_LU;
  return toLufs(mean(audible.filter((power) => toLufs(power) > gateLufs)));
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / Math.max(values.length, 1);
}

function toLufs(power: number): number {
  return -0.691 + 10 * Math.log10(power);
}
