import { type Loudness, toRatio } from './loudness.ts';

/** How much gain a rendition gets, and which results are accepted. */

/** The accepted distance from the target loudness. */
const TOLERANCE_LU = 0.3;
const CEILING_DBTP = -1;
const MAX_GAIN_DB = 40;
/** A gain that is closer than this to its maximum counts as the maximum. */
const AT_MAXIMUM_DB = 0.05;
/** Quieter clips count as silent. */
export const SILENT_LUFS = -60;

/** How much louder a decibel of gain makes a sound while the limiter is active, about. */
const LIMITED_SLOPE = 0.6;
/** How much further than its overshoot the limiter's threshold is lowered. */
const PEAK_MARGIN_DB = 0.1;

/** The input of gain planning. */
export type GainTask = {
  source: Loudness;
  targetLufs: number;
  /** How much quieter the encoder makes the sound. */
  encoderLossDb: number;
  /** The limiter's threshold, below the ceiling because resampling and encoding add peaks. */
  limiterCeilingDb: number;
  /** The most that the limiter may reduce peaks: more is audible as distortion, so the sound stays quieter instead. */
  maxReductionDb: number;
};

/** `ceilingDb` is set when the limiter runs. */
export type GainPlan = { gainDb: number; ceilingDb: number | undefined };

/**
 * The gain for the target loudness, and whether the limiter is needed.
 * A clip that would need too much limiting is planned quieter.
 */
export function planGain(task: GainTask): GainPlan {
  const gainDb = task.targetLufs - task.source.integratedLufs + task.encoderLossDb;
  return boundGain(task, { gainDb, ceilingDb: undefined });
}

/** Whether an encoded sound is accepted. A sound that is too quiet is accepted if its gain is at the maximum. */
export function isRightLoudness(result: Loudness, task: GainTask, plan: GainPlan): boolean {
  if (result.truePeakDbtp > CEILING_DBTP) return false;
  const error = result.integratedLufs - task.targetLufs;
  if (Math.abs(error) <= TOLERANCE_LU) return true;
  return error < 0 && plan.gainDb > computeMostGain(task, plan) - AT_MAXIMUM_DB;
}

/** The next plan, computed from the last one and its measured result. */
export function correctGain(plan: GainPlan, result: Loudness, task: GainTask): GainPlan {
  const overshoot = result.truePeakDbtp - CEILING_DBTP;
  const ceilingDb =
    overshoot > 0 ? (plan.ceilingDb ?? task.limiterCeilingDb) - overshoot - PEAK_MARGIN_DB : plan.ceilingDb;
  const error = result.integratedLufs - task.targetLufs;
  const isNear = Math.abs(error) <= TOLERANCE_LU / 2;
  const slope = plan.ceilingDb === undefined ? 1 : LIMITED_SLOPE;
  const gainDb = isNear ? plan.gainDb : plan.gainDb - error / slope;
  return boundGain(task, { gainDb, ceilingDb });
}

/** Which result to publish if none is accepted: first those below the peak ceiling, then the closest to the target. */
export function isBetterLoudness(candidate: Loudness, other: Loudness, targetLufs: number): boolean {
  const candidateFits = candidate.truePeakDbtp <= CEILING_DBTP;
  const otherFits = other.truePeakDbtp <= CEILING_DBTP;
  if (candidateFits !== otherFits) return candidateFits;
  return Math.abs(candidate.integratedLufs - targetLufs) < Math.abs(other.integratedLufs - targetLufs);
}

function boundGain(task: GainTask, plan: GainPlan): GainPlan {
  const ceiling = plan.ceilingDb ?? task.limiterCeilingDb;
  const gainDb = Math.min(plan.gainDb, computeMostGain(task, plan));
  const needsLimiter = plan.ceilingDb !== undefined || task.source.truePeakDbtp + gainDb > ceiling;
  return { gainDb, ceilingDb: needsLimiter ? ceiling : undefined };
}

function computeMostGain(task: GainTask, { ceilingDb }: GainPlan): number {
  const { source, maxReductionDb, limiterCeilingDb } = task;
  const ceiling = ceilingDb ?? limiterCeilingDb;
  return Math.min(MAX_GAIN_DB, ceiling + maxReductionDb - source.truePeakDbtp);
}

/** Gain, then the limiter at four times the sample rate, where true peaks are visible as samples. */
export function gainFilters({ gainDb, ceilingDb }: GainPlan, sampleRate: number): string[] {
  const volume = `volume=${gainDb.toFixed(4)}dB:precision=double`;
  if (ceilingDb === undefined) return [volume];
  const limit = toRatio(ceilingDb).toFixed(6);
  return [
    volume,
    `aresample=${sampleRate * 4}`,
    `alimiter=limit=${limit}:level=false:attack=2:release=80:latency=true`,
    `aresample=${sampleRate}`,
  ];
}
