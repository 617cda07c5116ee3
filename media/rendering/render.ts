import { join } from 'node:path';
import { type SoundStart, UPLOAD_NAME } from '../../src/domain/round-sound.ts';
import type { Ffmpeg } from '../ffmpeg/ffmpeg.ts';
import { DECODED_INPUT, decodeUpload } from './decode.ts';
import { encodeUntilRight, type Mp3Format } from './encode.ts';
import { SILENT_LUFS } from './gain.ts';
import { measureLoudness } from './loudness.ts';
import { DECODED_FORMAT } from './pcm.ts';
import { SoundRefused } from './run-ffmpeg.ts';
import { sniffAudioFile } from './sniff.ts';

export const SOUND_NAME = 'sound.mp3';
const SOUND_FORMAT: Mp3Format = {
  ...DECODED_FORMAT,
  fileName: SOUND_NAME,
  bitRateKbps: 192,
  encoderLossDb: 0.264,
  limiterCeilingDb: -1.5,
  maxReductionDb: 6,
};

export type RenderedSound = {
  durationMs: number;
  /** In LUFS: of the kept part of the upload, and of the published file. */
  loudnessBeforeLufs: number;
  loudnessAfterLufs: number;
  /** Peaks of the published file from 0 to 100. */
  waveform: number[];
};

type RenderOptions = {
  maxSeconds: number;
  targetLufs: number;
  /** Where the excerpt begins; at the first audible sound by default. */
  start?: SoundStart;
  /** Called after measuring, when rendering begins. */
  onRendering?: () => Promise<void>;
};

/**
 * Renders `upload.bin` of the folder as `sound.mp3`: decodes, trims, measures, corrects the loudness, encodes, and
 * verifies the encoded file. The same upload gives the same bytes. Temporary files stay in the folder.
 * @throws {SoundRefused} when the upload is the cause.
 * @throws {FfmpegError} for any other failure of ffmpeg, such as a full disk or a missing program.
 */
export async function renderSound(
  ffmpeg: Ffmpeg,
  directory: string,
  { maxSeconds, targetLufs, start, onRendering }: RenderOptions,
): Promise<RenderedSound> {
  const demuxer = await sniffAudioFile(join(directory, UPLOAD_NAME));
  if (demuxer === undefined) throw new SoundRefused('not-audio');
  const excerpt = await decodeUpload(ffmpeg, directory, { demuxer, maxSeconds, start });
  const input = DECODED_INPUT;
  const source = await measureLoudness(ffmpeg, directory, { input, format: DECODED_FORMAT, ...excerpt });
  if (source.integratedLufs <= SILENT_LUFS) throw new SoundRefused('silent');
  await onRendering?.();
  const { durationMs, integratedLufs, waveform } = await encodeUntilRight(ffmpeg, directory, {
    input,
    filters: excerpt.filters,
    source,
    frames: excerpt.frames,
    format: SOUND_FORMAT,
    targetLufs,
  });
  const loudnessBeforeLufs = source.integratedLufs;
  return { durationMs, loudnessBeforeLufs, loudnessAfterLufs: integratedLufs, waveform };
}
