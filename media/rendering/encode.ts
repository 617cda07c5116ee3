import { rename } from 'node:fs/promises';
import { join } from 'node:path';
import type { Ffmpeg, FfmpegJob } from '../ffmpeg/ffmpeg.ts';
import { FRAMES_PER_MP3_FRAME, type Mp3Format, mp3Input } from './formats.ts';
import {
  correctGain,
  type GainAttempt,
  type GainPlan,
  gainFilters,
  isBetterLoudness,
  isRightLoudness,
  planGain,
} from './gain.ts';
import { createMeter, type Loudness, type MeasuredMixes, type Mix } from './measurement.ts';
import { MIX_FILTERS } from './mixes.ts';
import { countFrames, type PcmFormat, pcmOptions, scanPcm, toWaveform } from './pcm.ts';
import { runOnOwn, SoundRefused } from './run-ffmpeg.ts';
import { toFrames } from './units.ts';

const ATTEMPT_NAME = 'attempt.mp3';
const VERIFIED_NAME = 'verified.f32';
/** Temporary files, for cleaning up. */
export const ENCODE_SCRATCH = [ATTEMPT_NAME, VERIFIED_NAME];
/** The next rendition, encoded as a draft by the call that verifies this one; see {@link EncodeRequest}. */
export const DRAFT_NAME = 'draft.mp3';
const ATTEMPT = mp3Input(ATTEMPT_NAME);

const WAVEFORM_BARS = 160;
const MAX_CORRECTIONS = 3;

export type EncodeRequest = {
  input: FfmpegJob['input'];
  /** The mix of the input's channels that is encoded. */
  mix: Mix;
  /** The loudness of that mix. */
  source: Loudness;
  /** Length of the result at its sample rate. */
  frames: number;
  format: Mp3Format;
  targetLufs: number;
  /** The encoder options of the draft in the folder. If the first attempt has the same options, it uses that file. */
  draftOptions?: string | undefined;
  /** Predicts the request for the next rendition, which the verifying call then encodes as a draft. */
  predictNext?: (plan: GainPlan) => EncodeRequest | undefined;
};

/** Measurements of the encoded file as players decode it. */
export type Encoded = Loudness & {
  durationMs: number;
  waveform: number[];
  mixes: MeasuredMixes;
  /** The encoder options of the draft that was encoded from it. */
  draftOptions: string | undefined;
};

/**
 * Encodes and measures repeatedly, until the result has the target loudness, or is as close to it as its peaks allow.
 * @throws as {@link runOnOwn} does.
 */
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
  for (let correction = 0; correction <= MAX_CORRECTIONS; correction++) {
    const isFirst = correction === 0;
    const options = encodeOptions(request, plan);
    if (isFirst && request.draftOptions === String(options)) {
      await rename(join(directory, DRAFT_NAME), join(directory, ATTEMPT_NAME));
    } else {
      await runOnOwn(ffmpeg, { directory, input: request.input, output: { name: ATTEMPT_NAME, options } });
    }
    const next = isFirst ? request.predictNext?.(plan) : undefined;
    const result = await decodeAndMeasure(ffmpeg, directory, { ...request, input: ATTEMPT, next });
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
 * @param options.next the rendition to encode from it as a draft at the same time.
 */
export async function decodeAndMeasure(
  ffmpeg: Ffmpeg,
  directory: string,
  options: Pick<EncodeRequest, 'input' | 'frames'> & { format: PcmFormat; next?: EncodeRequest | undefined },
): Promise<Encoded> {
  const { input, frames, format, next } = options;
  const toPcm = [...pcmOptions(format), '-c:a', 'pcm_f32le', '-threads', '1'];
  const draft = next && encodeOptions(next, planGain({ ...next.format, ...next }));
  await runOnOwn(ffmpeg, {
    directory,
    input,
    // A job has one output: the other is named among its options.
    output: draft
      ? { name: DRAFT_NAME, options: [...toPcm, VERIFIED_NAME, ...draft] }
      : { name: VERIFIED_NAME, options: toPcm },
    sideOutputs: draft ? [VERIFIED_NAME] : [],
  });
  const path = join(directory, VERIFIED_NAME);
  const decoded = await countFrames(path, format);
  if (decoded + FRAMES_PER_MP3_FRAME < frames) throw new Error('an encoded sound is not whole');
  const durationMs = toMs(Math.min(decoded, frames), format.sampleRate);
  // The frames of the rounded duration, so that a later call that knows only file and duration measures the same.
  const measured = { frames: Math.min(decoded, toFrames(durationMs / 1000, format.sampleRate)) };
  const meter = createMeter(format, measured);
  const { blockPeaks } = await scanPcm(path, { ...format, ...measured }, meter.add);
  const mixes = meter.finish();
  const waveform = toWaveform(blockPeaks, WAVEFORM_BARS);
  return { ...mixes.both, durationMs, waveform, mixes, draftOptions: draft && String(draft) };
}

function toMs(frames: number, sampleRate: number): number {
  return Math.round((frames * 1000) / sampleRate);
}

/** Deterministic: without tags or anything else that differs between runs. */
function encodeOptions({ mix, format }: EncodeRequest, plan: GainPlan): string[] {
  const { sampleRate, channels, bitRateKbps } = format;
  return [
    ...['-af', [MIX_FILTERS[mix], ...gainFilters(plan, sampleRate)].join(',')],
    ...['-filter_threads', '1', '-threads', '1', '-c:a', 'libmp3lame', '-b:a', `${bitRateKbps}k`],
    ...['-ar', String(sampleRate), '-ac', String(channels)],
    ...['-map_metadata', '-1', '-id3v2_version', '0', '-write_id3v1', '0'],
    ...['-fflags', '+bitexact', '-flags:a', '+bitexact', '-f', 'mp3'],
  ];
}
