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
  planGain,
} from './gain.ts';
import { createMeter, type Loudness, type MeasuredMixes, type Mix } from './measurement.ts';
import { MIX_FILTERS } from './mixes.ts';
import { countFrames, type PcmFormat, pcmOptions, scanPcm, toWaveform } from './pcm.ts';
import { QUIET, runOnOwn, SoundRefused } from './run-ffmpeg.ts';
import { toFrames } from './units.ts';

const ATTEMPT_NAME = 'attempt.mp3';
const VERIFIED_NAME = 'verified.f32';
/** Temporary files, for cleaning up. */
export const ENCODE_SCRATCH = [ATTEMPT_NAME, VERIFIED_NAME];
const ATTEMPT = { name: ATTEMPT_NAME, options: [...QUIET, '-f', 'mp3'] };

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
  /** What of the input is encoded. */
  mix: Mix;
  /** How loud that is. */
  source: Loudness;
  /** Length of the result at its sample rate. */
  frames: number;
  format: Mp3Format;
  targetLufs: number;
};

/** Measurements of the encoded file as players decode it. */
export type Encoded = Loudness & {
  durationMs: number;
  waveform: number[];
  mixes: MeasuredMixes;
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
    const result = await decodeAndMeasure(ffmpeg, directory, { ...request, input: ATTEMPT });
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

/**
 * Decodes an encoded file like a player, and measures the result.
 * @param options.frames the length it should have.
 */
export async function decodeAndMeasure(
  ffmpeg: Ffmpeg,
  directory: string,
  { input, frames, format }: Pick<EncodeRequest, 'input' | 'frames'> & { format: PcmFormat },
): Promise<Encoded> {
  const toPcm = [...pcmOptions(format), '-c:a', 'pcm_f32le', '-threads', '1'];
  await runOnOwn(ffmpeg, { directory, input, output: { name: VERIFIED_NAME, options: toPcm } });
  const path = join(directory, VERIFIED_NAME);
  const decoded = await countFrames(path, format);
  if (decoded + FRAMES_PER_MP3_FRAME < frames) throw new Error('an encoded sound is not whole');
  const durationMs = toMs(Math.min(decoded, frames), format.sampleRate);
  // Rounded as it is for whoever has the file and its duration alone.
  const measured = { frames: Math.min(decoded, toFrames(durationMs / 1000, format.sampleRate)) };
  const meter = createMeter(format, measured);
  const { blockPeaks } = await scanPcm(path, { ...format, ...measured }, meter.add);
  const mixes = meter.finish();
  return { ...mixes.both, durationMs, waveform: toWaveform(blockPeaks, WAVEFORM_BARS), mixes };
}

function toMs(frames: number, sampleRate: number): number {
  return Math.round((frames * 1000) / sampleRate);
}

/** Deterministic: without tags or anything else that differs between runs. */
function encodeJob(directory: string, { input, mix, format }: EncodeRequest, plan: GainPlan): FfmpegJob {
  const { sampleRate, channels, bitRateKbps } = format;
  return {
    directory,
    input,
    output: {
      name: ATTEMPT_NAME,
      options: [
        ...['-af', [MIX_FILTERS[mix], ...gainFilters(plan, sampleRate)].join(',')],
        ...['-filter_threads', '1', '-threads', '1', '-c:a', 'libmp3lame', '-b:a', `${bitRateKbps}k`],
        ...['-ar', String(sampleRate), '-ac', String(channels)],
        ...['-map_metadata', '-1', '-id3v2_version', '0', '-write_id3v1', '0'],
        ...['-fflags', '+bitexact', '-flags:a', '+bitexact', '-f', 'mp3'],
      ],
    },
  };
}
