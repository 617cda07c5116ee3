import { rename } from 'node:fs/promises';
import { join } from 'node:path';
import type { Ffmpeg, FfmpegJob } from '../ffmpeg/ffmpeg.ts';
import {
  correctGain,
  type GainAttempt,
  type GainPlan,
  type GainTask,
  gainFilters,
  isBetterLoudness,
  isRightLoudness,
  needsTruePeak,
  planGain,
} from './gain.ts';
import { type Loudness, measureFilters, readMeasurement } from './measurement.ts';
import { computePeak, type PcmFormat, pcmOptions, scanPcm, toWaveform } from './pcm.ts';
import { QUIET, runOnOwn, SoundRefused } from './run-ffmpeg.ts';
import { toFrames } from './units.ts';

const ATTEMPT_NAME = 'attempt.mp3';
const VERIFIED_NAME = 'verified.f32';
const MEASUREMENT_NAME = 'encoded.txt';
const MIX_MEASUREMENT_NAME = 'mixed.txt';
/** Temporary files, for cleaning up. */
export const ENCODE_SCRATCH = [ATTEMPT_NAME, VERIFIED_NAME, MEASUREMENT_NAME, MIX_MEASUREMENT_NAME];

const FRAMES_PER_MP3_FRAME = 1152;
const WAVEFORM_BARS = 160;
const MOST_CORRECTIONS = 3;

/** An MP3 of constant bit rate. */
export type Mp3Format = PcmFormat & {
  fileName: string;
  bitRateKbps: number;
} & Pick<GainTask, 'encoderLossDb' | 'limiterCeilingDb' | 'mostReductionDb'>;

export type EncodeRequest = {
  input: FfmpegJob['input'];
  /** Filters on the input before the gain. */
  filters: readonly string[];
  /** The loudness of the input after these filters. */
  source: Loudness;
  /** Length of the result at its sample rate. */
  frames: number;
  format: Mp3Format;
  targetLufs: number;
  /** A filter that mixes the encoded channels into one: how loud that is, is measured in the same call. */
  alsoMeasuredMix?: string;
};

/** Measurements of the encoded file as players decode it. */
export type Encoded = Loudness & {
  durationMs: number;
  waveform: number[];
  /** Of `alsoMeasuredMix`. */
  mix: Loudness | undefined;
};

/** Encodes and measures repeatedly, until the result has the target loudness, or as close as its peaks allow. */
export async function encodeUntilRight(
  ffmpeg: Ffmpeg,
  directory: string,
  request: EncodeRequest,
): Promise<Encoded> {
  const { source, targetLufs, format } = request;
  const task = { ...format, source, targetLufs };
  let plan = planGain(task);
  let last: GainAttempt | undefined;
  let best: Encoded | undefined;
  for (let correction = 0; correction <= MOST_CORRECTIONS; correction++) {
    await runOnOwn(ffmpeg, encodeJob(directory, request, plan));
    const result = await verify(ffmpeg, directory, { request, withTruePeak: needsTruePeak(source, plan) });
    if (best === undefined || isBetterLoudness(result, best, targetLufs)) {
      await rename(join(directory, ATTEMPT_NAME), join(directory, format.fileName));
      best = result;
    }
    if (isRightLoudness(result, task, plan)) break;
    const attempt = { plan, result };
    plan = correctGain(attempt, last, task);
    last = attempt;
  }
  if (best === undefined) throw new SoundRefused('unreadable');
  return best;
}

/** Decodes the encoded file like a player, and measures the result. */
async function verify(
  ffmpeg: Ffmpeg,
  directory: string,
  { request, withTruePeak }: { request: EncodeRequest; withTruePeak: boolean },
): Promise<Encoded> {
  const { frames, format, alsoMeasuredMix } = request;
  const { sampleRate, channels } = format;
  const clip = { fileName: MEASUREMENT_NAME, frames, sampleRate };
  const mixed = {
    fileName: MIX_MEASUREMENT_NAME,
    sampleRate,
    // Rounded as who has the published file alone knows it.
    frames: toFrames(toMs(frames, sampleRate) / 1000, sampleRate),
  };
  const filters = measureFilters({ ...clip, ...(withTruePeak && { peaks: 'true' }) });
  const mixFilters =
    alsoMeasuredMix !== undefined
      ? [alsoMeasuredMix, ...measureFilters({ ...mixed, peaks: 'sample' }), 'anullsink']
      : undefined;
  const graph = mixFilters
    ? `[0:a]asplit[all][mix];[all]${filters.join(',')}[out];[mix]${mixFilters.join(',')}`
    : `[0:a]${filters.join(',')}[out]`;
  const toPcm = [...pcmOptions(format), '-c:a', 'pcm_f32le', '-threads', '1'];
  const filtering = ['-filter_complex', graph, '-filter_complex_threads', '1', '-map', '[out]'];
  await runOnOwn(ffmpeg, {
    directory,
    input: { name: ATTEMPT_NAME, options: [...QUIET, '-f', 'mp3'] },
    output: { name: VERIFIED_NAME, options: [...filtering, ...toPcm] },
    sideOutputs: [MEASUREMENT_NAME, ...(mixFilters ? [MIX_MEASUREMENT_NAME] : [])],
  });
  const scan = await scanPcm(join(directory, VERIFIED_NAME), { channels, maxFrames: frames });
  const measured = await readMeasurement(directory, { ...clip, samplePeak: computePeak(scan) });
  if (measured === undefined || scan.frames + FRAMES_PER_MP3_FRAME < frames) {
    throw new Error('an encoded sound is not whole');
  }
  return {
    ...measured,
    durationMs: toMs(scan.frames, sampleRate),
    waveform: toWaveform(scan.blockPeaks, WAVEFORM_BARS),
    mix: mixFilters && (await readMeasurement(directory, mixed)),
  };
}

function toMs(frames: number, sampleRate: number): number {
  return Math.round((frames * 1000) / sampleRate);
}

/** Deterministic: without tags or anything else that differs between runs. */
function encodeJob(directory: string, { input, filters, format }: EncodeRequest, plan: GainPlan): FfmpegJob {
  const { sampleRate, channels, bitRateKbps } = format;
  return {
    directory,
    input,
    output: {
      name: ATTEMPT_NAME,
      options: [
        ...['-af', [...filters, ...gainFilters(plan, sampleRate)].join(',')],
        ...['-filter_threads', '1', '-threads', '1', '-c:a', 'libmp3lame', '-b:a', `${bitRateKbps}k`],
        ...['-ar', String(sampleRate), '-ac', String(channels)],
        ...['-map_metadata', '-1', '-id3v2_version', '0', '-write_id3v1', '0'],
        ...['-fflags', '+bitexact', '-flags:a', '+bitexact', '-f', 'mp3'],
      ],
    },
  };
}
