import { rename } from 'node:fs/promises';
import { join } from 'node:path';
import type { Ffmpeg, FfmpegJob } from '../ffmpeg/ffmpeg.ts';
import {
  correctGain,
  type GainPlan,
  type GainTask,
  gainFilters,
  isBetterLoudness,
  isRightLoudness,
  planGain,
} from './gain.ts';
import { type Loudness, measureLoudness } from './loudness.ts';
import { type PcmFormat, scanPcm, toWaveform } from './pcm.ts';
import { QUIET, runOnOwn, SoundRefused } from './run-ffmpeg.ts';

const ATTEMPT_NAME = 'attempt.mp3';
const VERIFIED_NAME = 'verified.f32';

const WAVEFORM_BARS = 160;
const MAX_CORRECTIONS = 3;

/** Fixed by MPEG-1 Audio Layer III. */
export const FRAMES_PER_MP3_FRAME = 1152;

/** An MP3 of constant bit rate. */
export type Mp3Format = PcmFormat & {
  fileName: string;
  bitRateKbps: number;
} & Pick<GainTask, 'encoderLossDb' | 'limiterCeilingDb' | 'maxReductionDb'>;

type EncodeRequest = {
  input: FfmpegJob['input'];
  /** Filters applied to the input before the gain. */
  filters: readonly string[];
  /** The loudness after these filters. */
  source: Loudness;
  /** Length of the result at its sample rate. */
  frames: number;
  format: Mp3Format;
  targetLufs: number;
};

/** Measurements of the encoded file as players decode it. */
export type Encoded = Loudness & { durationMs: number; waveform: number[] };

/**
 * Encodes and measures repeatedly, until the result has the target loudness, or is as close to it as its peaks allow.
 * @throws as {@link runOnOwn} does.
 */
export async function encodeUntilRight(
  ffmpeg: Ffmpeg,
  directory: string,
  request: EncodeRequest,
): Promise<Encoded> {
  const { input, source, targetLufs, format } = request;
  const task = { ...format, source, targetLufs };
  let plan = planGain(task);
  let best: Encoded | undefined;
  for (let correction = 0; correction <= MAX_CORRECTIONS; correction++) {
    const options = encodeOptions(request, plan);
    await runOnOwn(ffmpeg, { directory, input, output: { name: ATTEMPT_NAME, options } });
    const result = await measureAttempt(ffmpeg, directory, request);
    if (best === undefined || isBetterLoudness(result, best, targetLufs)) {
      await rename(join(directory, ATTEMPT_NAME), join(directory, format.fileName));
      best = result;
    }
    if (isRightLoudness(result, task, plan)) break;
    plan = correctGain(plan, result, task);
  }
  if (best === undefined) throw new SoundRefused('unreadable');
  return best;
}

/** Decodes an encoded file like a player, and measures the result. */
async function measureAttempt(
  ffmpeg: Ffmpeg,
  directory: string,
  { frames, format }: EncodeRequest,
): Promise<Encoded> {
  const input = mp3Input(ATTEMPT_NAME);
  const loudness = await measureLoudness(ffmpeg, directory, {
    input,
    format,
    frames,
    pcmName: VERIFIED_NAME,
  });
  const scan = await scanPcm(join(directory, VERIFIED_NAME), format);
  if (scan.frames + FRAMES_PER_MP3_FRAME < frames) throw new Error('an encoded sound is not whole');
  const durationMs = Math.round((scan.frames * 1000) / format.sampleRate);
  return { ...loudness, durationMs, waveform: toWaveform(scan.blockPeaks, WAVEFORM_BARS) };
}

/** The input of a job that reads an MP3. */
export function mp3Input(name: string): FfmpegJob['input'] {
  return { name, options: [...QUIET, '-f', 'mp3'] };
}

/** Deterministic: without tags or anything else that differs between runs. */
function encodeOptions({ filters, format }: EncodeRequest, plan: GainPlan): string[] {
  const { sampleRate, channels, bitRateKbps } = format;
  return [
    ...['-af', [...filters, ...gainFilters(plan, sampleRate)].join(',')],
    ...['-filter_threads', '1', '-threads', '1', '-c:a', 'libmp3lame', '-b:a', `${bitRateKbps}k`],
    ...['-ar', String(sampleRate), '-ac', String(channels)],
    ...['-map_metadata', '-1', '-id3v2_version', '0', '-write_id3v1', '0'],
    ...['-fflags', '+bitexact', '-flags:a', '+bitexact', '-f', 'mp3'],
  ];
}
