import { toRatio } from './loudness.ts';
import { computePeak, DECODED_FORMAT, FRAMES_PER_BLOCK, type PcmScan, toFrames } from './pcm.ts';

/** Trimming: silence at both ends is removed, pauses inside stay, and the end is cut at the maximum length. */

const SILENCE_BELOW_PEAK_DB = 45;
const SILENCE_FLOOR_DBFS = -60;
/** Assumed maximum of floating-point files, which may exceed full scale; see {@link isTrimCertain}. */
const LOUDEST_PEAK_DBFS = 6;
const KEEP_BEFORE_SECONDS = 0.01;
const KEEP_AFTER_SECONDS = 0.15;
const START_FADE_SECONDS = 0.003;
const END_FADE_SECONDS = 0.01;
const CUT_FADE_SECONDS = 0.8;

/** The kept part, in frames; the end is exclusive. */
export type Trim = { start: number; end: number; isStripped: boolean; isCut: boolean };

type TrimOptions = {
  maxSeconds: number;
  /** Where the excerpt begins; 10 ms before the first audible sound by default. */
  startFrame?: number | undefined;
};

/**
 * Decides which part of a clip is kept.
 * @returns `undefined` when the clip, or everything after `startFrame`, is silent.
 */
export function decideTrim(scan: PcmScan, { maxSeconds, startFrame }: TrimOptions): Trim | undefined {
  const first = findFirstSound(scan);
  if (first === undefined) return undefined;
  const last = scan.blockPeaks.findLastIndex(isAudibleIn(scan));
  const start = startFrame ?? Math.max(0, first - frames(KEEP_BEFORE_SECONDS));
  const lastEnd = (last + 1) * FRAMES_PER_BLOCK;
  if (start >= Math.min(lastEnd, scan.frames)) return undefined;
  const end = Math.min(scan.frames, lastEnd + frames(KEEP_AFTER_SECONDS));
  const maxFrames = frames(maxSeconds);
  return {
    start,
    end: Math.min(end, start + maxFrames),
    isStripped: start > 0 || startFrame !== undefined,
    isCut: end - start > maxFrames,
  };
}

/** The first frame of the first audible block; `undefined` when all is silent. */
export function findFirstSound(scan: PcmScan): number | undefined {
  const first = scan.blockPeaks.findIndex(isAudibleIn(scan));
  return first === -1 ? undefined : first * FRAMES_PER_BLOCK;
}

/**
 * Whether {@link decideTrim} would give the same result for the whole clip as for this beginning of it: however loud the
 * rest is, the start stays the same, and the sound continues after the cut.
 */
export function isTrimCertain(scan: PcmScan, options: { maxSeconds: number }): boolean {
  const trim = decideTrim(scan, options);
  if (!trim?.isCut) return false;
  const isLoudInAnyClip = (value: number): boolean =>
    value > toRatio(LOUDEST_PEAK_DBFS - SILENCE_BELOW_PEAK_DB);
  const loudFirst = scan.blockPeaks.findIndex(isLoudInAnyClip);
  const loudLast = scan.blockPeaks.findLastIndex(isLoudInAnyClip);
  const loudStart = Math.max(0, loudFirst * FRAMES_PER_BLOCK - frames(KEEP_BEFORE_SECONDS));
  return loudFirst !== -1 && loudStart === trim.start && loudLast * FRAMES_PER_BLOCK >= trim.end;
}

/** The filters of ffmpeg that cut the kept part out and fade its ends. */
export function trimFilters({ start, end, isStripped, isCut }: Trim): string[] {
  const length = end - start;
  const startFade = isStripped ? Math.min(frames(START_FADE_SECONDS), length) : 0;
  const endFade = Math.min(frames(isCut ? CUT_FADE_SECONDS : END_FADE_SECONDS), length);
  return [
    `atrim=start_sample=${start}:end_sample=${end},asetpts=N/SR/TB`,
    ...(startFade > 0 ? [`afade=t=in:ns=${startFade}`] : []),
    `afade=t=out:ss=${length - endFade}:ns=${endFade}`,
  ];
}

function isAudibleIn(scan: PcmScan): (blockPeak: number) => boolean {
  const threshold = Math.max(
    computePeak(scan) * toRatio(-SILENCE_BELOW_PEAK_DB),
    toRatio(SILENCE_FLOOR_DBFS),
  );
  return (blockPeak) => blockPeak > threshold;
}

function frames(seconds: number): number {
  return toFrames(seconds, DECODED_FORMAT.sampleRate);
}
