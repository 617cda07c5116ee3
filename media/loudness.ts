import { FRAMES_PER_BLOCK, type PcmScan, SAMPLE_RATE } from './pcm.ts';

/**
 * The decisions about a sound: what is kept of it, how much gain it gets, when it is good enough.
 * Loudness as in ITU-R BS.1770-4 and EBU R 128 (LUFS), peaks as true peaks (dBTP).
 */

/** A sound has to be this close to the loudness asked for. */
const TOLERANCE_LU = 0.3;
const CEILING_DBTP = -1;
/** The limiter aims lower: resampling and the encoder add peaks of their own. */
const LIMITER_CEILING_DB = -1.5;
const MOST_GAIN_DB = 40;
/** More limiting than this is heard as distortion; then the sound stays quieter instead. */
const MOST_REDUCTION_DB = 6;
/** LAME's constant 192 kbit/s comes out this much quieter than what went in. */
const ENCODER_LOSS_DB = 0.27;
/** Below this a clip has nothing to hear. */
export const SILENT_LUFS = -60;

/** How far peaks between the samples usually rise above these; at worst some 3 dB. */
const USUAL_OVERSHOOT_DB = 0.5;
/** Sounds that stay this far down need no measuring of true peaks, which takes as long as the rest of the measuring. */
const FAR_BELOW_CEILING_DB = 5;

const SILENCE_BELOW_PEAK_DB = 45;
const SILENCE_FLOOR_DBFS = -60;
/** Floating-point files may exceed full scale; not by more than this, or all of it is looked at. */
const LOUDEST_PEAK_DBFS = 6;
const KEEP_BEFORE_SECONDS = 0.01;
const KEEP_AFTER_SECONDS = 0.15;
const START_FADE_SECONDS = 0.003;
const END_FADE_SECONDS = 0.01;
const CUT_FADE_SECONDS = 0.8;
/** Integrated loudness needs blocks of 400 ms: a shorter clip is measured as a loop. */
const SHORTEST_MEASURED_SECONDS = 3;
const MOST_TURNS = 400;
const MEASUREMENT_STEP_SECONDS = 0.1;

/** The kept part, in frames; the end is exclusive. */
export type Trim = { start: number; end: number; isStripped: boolean; isCut: boolean };

/** One measurement. Where the true peak was not measured it is the largest sample and what usually lies between samples. */
export type Loudness = { integratedLufs: number; truePeakDbtp: number };

/** `ceilingDb` is set when the limiter runs. */
export type GainPlan = { gainDb: number; ceilingDb: number | undefined };

/**
 * What is kept: leading and trailing silence go, pauses inside stay, the rest is cut at the longest length.
 * @returns `undefined` when all of it is silent.
 */
export function decideTrim(scan: PcmScan, options: { maxSeconds: number }): Trim | undefined {
  const peak = scan.blockPeaks.reduce((largest, value) => Math.max(largest, value), 0);
  const threshold = Math.max(peak * toRatio(-SILENCE_BELOW_PEAK_DB), toRatio(SILENCE_FLOOR_DBFS));
  const first = scan.blockPeaks.findIndex((value) => value > threshold);
  if (first === -1) return undefined;
  const last = scan.blockPeaks.findLastIndex((value) => value > threshold);
  const start = Math.max(0, first * FRAMES_PER_BLOCK - toFrames(KEEP_BEFORE_SECONDS));
  const end = Math.min(scan.frames, (last + 1) * FRAMES_PER_BLOCK + toFrames(KEEP_AFTER_SECONDS));
  const longest = toFrames(options.maxSeconds);
  return {
    start,
    end: Math.min(end, start + longest),
    isStripped: start > 0,
    isCut: end - start > longest,
  };
}

/**
 * Whether {@link decideTrim} says the same about the beginning of a clip as it would about all of it: however loud the
 * rest is, the start is where it is, and sound goes on after the cut.
 */
export function isTrimCertain(scan: PcmScan, options: { maxSeconds: number }): boolean {
  const trim = decideTrim(scan, options);
  if (!trim?.isCut) return false;
  const isLoudInAnyClip = (value: number): boolean =>
    value > toRatio(LOUDEST_PEAK_DBFS - SILENCE_BELOW_PEAK_DB);
  const loudFirst = scan.blockPeaks.findIndex(isLoudInAnyClip);
  const loudLast = scan.blockPeaks.findLastIndex(isLoudInAnyClip);
  const loudStart = Math.max(0, loudFirst * FRAMES_PER_BLOCK - toFrames(KEEP_BEFORE_SECONDS));
  return loudFirst !== -1 && loudStart === trim.start && loudLast * FRAMES_PER_BLOCK >= trim.end;
}

/** The cut that most long clips get: nothing stripped, as long as may be. */
export function longestTrim(options: { maxSeconds: number }): Trim {
  return { start: 0, end: toFrames(options.maxSeconds), isStripped: false, isCut: true };
}

/**
 * The gain that brings a clip to the loudness asked for, and whether the limiter has to help.
 * A clip that would need more than 6 dB of limiting is planned quieter.
 */
export function planGain(measured: Loudness, options: { targetLufs: number }): GainPlan {
  const wanted = options.targetLufs - measured.integratedLufs + ENCODER_LOSS_DB;
  return boundGain(measured, { gainDb: Math.min(wanted, MOST_GAIN_DB), ceilingDb: undefined });
}

/** Whether an encoded sound may be published; the gain of a clip at its bounds cannot rise, so it may be quieter. */
export function isRightLoudness(
  result: Loudness,
  context: { source: Loudness; plan: GainPlan; targetLufs: number },
): boolean {
  const { source, plan, targetLufs } = context;
  if (result.truePeakDbtp > CEILING_DBTP) return false;
  const error = result.integratedLufs - targetLufs;
  if (Math.abs(error) <= TOLERANCE_LU) return true;
  return error < 0 && isAtBounds(source, plan);
}

/** The next attempt, from what the last one came out as. */
export function correctGain(
  result: Loudness,
  context: { source: Loudness; plan: GainPlan; targetLufs: number },
): GainPlan {
  const { source, plan, targetLufs } = context;
  const overshoot = result.truePeakDbtp - CEILING_DBTP;
  const ceilingDb = overshoot > 0 ? (plan.ceilingDb ?? LIMITER_CEILING_DB) - overshoot - 0.1 : plan.ceilingDb;
  const error = result.integratedLufs - targetLufs;
  const gainDb = Math.abs(error) <= TOLERANCE_LU / 2 ? plan.gainDb : plan.gainDb - error;
  return boundGain(source, { gainDb: Math.min(gainDb, MOST_GAIN_DB), ceilingDb });
}

/** Of what was encoded, the one to publish when none is right: peaks kept first, then nearest to the target. */
export function isBetterLoudness(candidate: Loudness, other: Loudness, targetLufs: number): boolean {
  const candidateFits = candidate.truePeakDbtp <= CEILING_DBTP;
  const otherFits = other.truePeakDbtp <= CEILING_DBTP;
  if (candidateFits !== otherFits) return candidateFits;
  return Math.abs(candidate.integratedLufs - targetLufs) < Math.abs(other.integratedLufs - targetLufs);
}

function boundGain(source: Loudness, plan: GainPlan): GainPlan {
  const ceiling = plan.ceilingDb ?? LIMITER_CEILING_DB;
  const mostGain = ceiling + MOST_REDUCTION_DB - source.truePeakDbtp;
  const gainDb = Math.min(plan.gainDb, mostGain);
  const needsLimiter = plan.ceilingDb !== undefined || source.truePeakDbtp + gainDb > ceiling;
  return { gainDb, ceilingDb: needsLimiter ? ceiling : undefined };
}

function isAtBounds(source: Loudness, plan: GainPlan): boolean {
  const mostGain = Math.min(
    MOST_GAIN_DB,
    (plan.ceilingDb ?? LIMITER_CEILING_DB) + MOST_REDUCTION_DB - source.truePeakDbtp,
  );
  return plan.gainDb > mostGain - 0.05;
}

/** Cuts the kept part out and rounds its edges. */
export function trimFilters(trim: Trim): string[] {
  const length = trim.end - trim.start;
  const endFade = Math.min(toFrames(trim.isCut ? CUT_FADE_SECONDS : END_FADE_SECONDS), length);
  const startFade = Math.min(toFrames(START_FADE_SECONDS), length);
  return [
    `atrim=start_sample=${trim.start}:end_sample=${trim.end}`,
    'asetpts=N/SR/TB',
    ...(trim.isStripped ? [`afade=t=in:ss=0:ns=${startFade}`] : []),
    `afade=t=out:ss=${length - endFade}:ns=${endFade}`,
  ];
}

/** Gain, then the limiter on a signal sampled four times as often, where true peaks are samples. */
export function gainFilters({ gainDb, ceilingDb }: GainPlan): string[] {
  const volume = `volume=${gainDb.toFixed(4)}dB:precision=double`;
  if (ceilingDb === undefined) return [volume];
  const limit = toRatio(ceilingDb).toFixed(6);
  return [
    volume,
    `aresample=${SAMPLE_RATE * 4}`,
    `alimiter=limit=${limit}:level=false:attack=2:release=80:latency=true`,
    `aresample=${SAMPLE_RATE}`,
  ];
}

/** Whether an encoded sound may come near the ceiling, so that its true peak has to be measured. */
export function needsTruePeak(source: Loudness, plan: GainPlan): boolean {
  const expected = source.truePeakDbtp + plan.gainDb;
  return plan.ceilingDb !== undefined || expected > CEILING_DBTP - FAR_BELOW_CEILING_DB;
}

/** Measures `frames` frames into the file, and passes them on; {@link parseMeasurement} reads it. */
export function measureFilters(
  frames: number,
  { fileName, withTruePeak }: { fileName: string; withTruePeak: boolean },
): string[] {
  return [
    ...loopFilters(frames),
    ...(withTruePeak ? TRUE_PEAK_FILTERS : []),
    'ebur128=metadata=1:framelog=verbose',
    `ametadata=mode=print:file=${fileName}`,
  ];
}

/** The filter hands on all its turns in one go, each in a buffer of its own: a loop of loops keeps them few. */
function loopFilters(frames: number): string[] {
  const size = Math.max(frames, 1);
  const turns = Math.ceil(toFrames(SHORTEST_MEASURED_SECONDS) / size);
  if (turns <= 1) return [];
  const inner = Math.min(turns, MOST_TURNS);
  const outer = Math.ceil(turns / inner);
  return [
    `aloop=loop=${inner - 1}:size=${size}`,
    ...(outer > 1 ? [`aloop=loop=${outer - 1}:size=${size * inner}`] : []),
  ];
}

/**
 * The meter resamples as if the signal had been there before, and misses the peak of a sound that starts with a jump:
 * so it gets silence first. That would count as loudness: so this is measured apart. The silence is one step long, for
 * the steps to stay the same and to carry the peaks to the end of the chain.
 */
const TRUE_PEAK_FILTERS = [
  `adelay=delays=${toFrames(MEASUREMENT_STEP_SECONDS)}S:all=1`,
  'ebur128=metadata=1:peak=true:framelog=verbose',
  `atrim=start_sample=${toFrames(MEASUREMENT_STEP_SECONDS)}`,
  'asetpts=N/SR/TB',
];

/**
 * Reads what `ametadata` wrote: a block of `key=value` lines every 100 ms, the last of each counts.
 * @param clip its length, and its largest absolute sample for where the true peak was not measured.
 * @returns `undefined` unless it goes on to the end of the clip. The filter says nothing when the disk is full; and
 *   where the format of an upload changes in the middle, ffmpeg starts again from there.
 */
export function parseMeasurement(
  text: string,
  { frames, samplePeak }: { frames: number; samplePeak: number },
): Loudness | undefined {
  const integratedLufs = lastNumber(text, 'lavfi.r128.I=');
  const lastStepAt = lastNumber(text, 'pts_time:') ?? Number.NEGATIVE_INFINITY;
  const endsAt = Math.max(frames / SAMPLE_RATE, SHORTEST_MEASURED_SECONDS);
  const isWhole = text.endsWith('\n') && lastStepAt + 2 * MEASUREMENT_STEP_SECONDS > endsAt;
  if (integratedLufs === undefined || !isWhole) return undefined;
  const peaks = ['lavfi.r128.true_peaks_ch0=', 'lavfi.r128.true_peaks_ch1=']
    .map((key) => lastNumber(text, key))
    .filter((peak) => peak !== undefined);
  return {
    integratedLufs,
    truePeakDbtp:
      peaks.length > 0 ? toDecibels(Math.max(...peaks)) : toDecibels(samplePeak) + USUAL_OVERSHOOT_DB,
  };
}

/** The largest absolute sample of the kept part. */
export function findPeak(scan: PcmScan, trim: Trim): number {
  const blocks = scan.blockPeaks.subarray(
    Math.floor(trim.start / FRAMES_PER_BLOCK),
    Math.ceil(trim.end / FRAMES_PER_BLOCK),
  );
  return blocks.reduce((largest, value) => Math.max(largest, value), 0);
}

function lastNumber(text: string, label: string): number | undefined {
  const at = text.lastIndexOf(label);
  if (at === -1) return undefined;
  const value = Number.parseFloat(text.slice(at + label.length));
  return Number.isFinite(value) ? value : undefined;
}

function toFrames(seconds: number): number {
  return Math.round(seconds * SAMPLE_RATE);
}

function toRatio(decibels: number): number {
  return 10 ** (decibels / 20);
}

function toDecibels(ratio: number): number {
  return 20 * Math.log10(ratio);
}
