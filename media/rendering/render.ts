import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Ffmpeg } from '../ffmpeg/ffmpeg.ts';
import { DECODE_SCRATCH, decodeUpload, KEPT_INPUT, UPLOAD_NAME } from './decode.ts';
import { ENCODE_SCRATCH, encodeUntilRight, type Mp3Format } from './encode.ts';
import { SILENT_LUFS } from './gain.ts';
import type { MeasuredMixes } from './measurement.ts';
import { DECODED_FORMAT } from './pcm.ts';
import { SoundRefused } from './run-ffmpeg.ts';
import { sniffAudioFile } from './sniff.ts';

export const SOUND_NAME = 'sound.mp3';
const SOUND_FORMAT: Mp3Format = {
  ...DECODED_FORMAT,
  fileName: SOUND_NAME,
  bitRateKbps: 192,
  encoderLossDb: 0.27,
  limiterCeilingDb: -1.5,
  mostReductionDb: 6,
};

export type RenderedSound = {
  durationMs: number;
  /** In LUFS: of the kept part of the upload, and of the published file. */
  loudnessBefore: number;
  loudnessAfter: number;
  truePeakDbtp: number;
  /** Peaks of the published file from 0 to 100. */
  waveform: number[];
  /** What the voice rendition is made by. */
  mixes: MeasuredMixes;
};

export type RenderOptions = {
  maxSeconds: number;
  targetLufs: number;
  /** Where the excerpt begins, counted from the first audible sound; 0 by default. */
  startMs?: number;
  /** Called after measuring, when rendering begins. */
  onRendering?: () => Promise<void>;
};

/**
 * Renders `upload.bin` of the folder as `sound.mp3`: decodes, trims, measures, corrects the loudness, encodes, and
 * verifies the encoded file. The same upload gives the same bytes. Temporary files are removed.
 * @throws {SoundRefused} when the upload is the cause.
 * @throws {FfmpegError} when ffmpeg is missing.
 */
export async function renderSound(
  ffmpeg: Ffmpeg,
  directory: string,
  { maxSeconds, targetLufs, startMs = 0, onRendering }: RenderOptions,
): Promise<RenderedSound> {
  try {
    const demuxer = await sniffAudioFile(join(directory, UPLOAD_NAME));
    if (demuxer === undefined) throw new SoundRefused('not-audio');
    const kept = await decodeUpload(ffmpeg, directory, { demuxer, maxSeconds, startMs });
    if (kept.loudness.integratedLufs <= SILENT_LUFS) throw new SoundRefused('silent');
    await onRendering?.();
    const encoded = await encodeUntilRight(ffmpeg, directory, {
      input: KEPT_INPUT,
      mix: 'both',
      source: kept.loudness,
      frames: kept.frames,
      format: SOUND_FORMAT,
      targetLufs,
    });
    const { durationMs, waveform, mixes } = encoded;
    return {
      durationMs,
      loudnessBefore: kept.loudness.integratedLufs,
      loudnessAfter: encoded.integratedLufs,
      truePeakDbtp: encoded.truePeakDbtp,
      waveform,
      mixes,
    };
  } finally {
    const scratch = [...DECODE_SCRATCH, ...ENCODE_SCRATCH];
    await Promise.all(scratch.map((name) => rm(join(directory, name), { force: true })));
  }
}
