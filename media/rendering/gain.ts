import type { Loudness } from './measurement.ts';
import { toRatio } from './units.ts';

/** How much gain a rendition gets, and when it is good enough. */

/** A sound has to be this close to the loudness asked for. */
const TOLERANCE_LU = 0.3;
const CEILING_DBTP = -1;
const MOST_GAIN_DB = 40;
/** Below this a clip has nothing to hear. */
export const SILENT_LUFS = -60;

/** Sounds that stay this far down need no measuring of true peaks, which takes as long as the rest of the measuring. */
const FAR_BELOW_CEILING_DB = 5;

/** Below this, two attempts tell nothing about how the limiter behaves. */
const SMALLEST_STEP_DB = 0.2;
const USUAL_LIMITED_SLOPE = 0.6;
const LEAST_SLOPE = 0.15;

/** What a gain is planned for. */
export type GainTask = {
  source: Loudness;
  targetLufs: number;
  /** How much quieter the encoder makes it. */
  encoderLossDb: number;
  /** What the limiter aims at: below the ceiling, as resampling and the encoder add peaks of their own. */
  limiterCeilingDb: number;
  /** The most that the limiter may take away, as more is heard as distortion; then the sound stays quieter instead. */
  mostReductionDb: number;
};

/** `ceilingDb` is set when the limiter runs. */
export type GainPlan = { gainDb: number; ceilingDb: number | undefined };

/**
 * The gain that brings a clip to the loudness asked for, and whether the limiter has to help.
 * A clip that would need more limiting than may be is planned quieter.
 */
export function planGain(task: GainTask): GainPlan {
  const wanted = task.targetLufs - task.source.integratedLufs + task.encoderLossDb;
  return boundGain(task, { gainDb: wanted, ceilingDb: undefined });
}

/** Whether an encoded sound may be published; the gain of a clip at its bounds cannot rise, so it may be quieter. */
export function isRightLoudness(result: Loudness, task: GainTask, plan: GainPlan): boolean {
  if (result.truePeakDbtp > CEILING_DBTP) return false;
  const error = result.integratedLufs - task.targetLufs;
  if (Math.abs(error) <= TOLERANCE_LU) return true;
  return error < 0 && plan.gainDb > computeMostGain(task, plan) - 0.05;
}

/** What came of a plan. */
export type GainAttempt = { plan: GainPlan; result: Loudness };

/** The next plan, from what the last one came out as, and the one before it. */
export function correctGain(last: GainAttempt, before: GainAttempt | undefined, task: GainTask): GainPlan {
  const { plan, result } = last;
  const overshoot = result.truePeakDbtp - CEILING_DBTP;
  const ceilingDb =
    overshoot > 0 ? (plan.ceilingDb ?? task.limiterCeilingDb) - overshoot - 0.1 : plan.ceilingDb;
  const error = result.integratedLufs - task.targetLufs;
  const isNear = Math.abs(error) <= TOLERANCE_LU / 2;
  const gainDb = isNear ? plan.gainDb : plan.gainDb - error / computeSlope(last, before);
  return boundGain(task, { gainDb, ceilingDb });
}

/** How much louder a decibel of gain makes it: one, but where the limiter takes a part of it away again. */
function computeSlope(last: GainAttempt, before: GainAttempt | undefined): number {
  if (last.plan.ceilingDb === undefined) return 1;
  const moreGainDb = last.plan.gainDb - (before?.plan.gainDb ?? last.plan.gainDb);
  if (!before || Math.abs(moreGainDb) < SMALLEST_STEP_DB) return USUAL_LIMITED_SLOPE;
  const slope = (last.result.integratedLufs - before.result.integratedLufs) / moreGainDb;
  return Math.min(1, Math.max(LEAST_SLOPE, slope));
}

/** Of what was encoded, the one to publish when none is right: peaks kept first, then nearest to the target. */
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
  const { source, mostReductionDb, limiterCeilingDb } = task;
  const ceiling = ceilingDb ?? limiterCeilingDb;
  return Math.min(MOST_GAIN_DB, ceiling + mostReductionDb - source.truePeakDbtp);
}

/** Gain, then the limiter on a signal sampled four times as often, where true peaks are samples. */
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

/** Whether an encoded sound may come near the ceiling, so that its true peak has to be measured. */
export function needsTruePeak(source: Loudness, plan: GainPlan): boolean {
  const expected = source.truePeakDbtp + plan.gainDb;
  return plan.ceilingDb !== undefined || expected > CEILING_DBTP - FAR_BELOW_CEILING_DB;
}
