import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Ffmpeg } from '../ffmpeg/ffmpeg.ts';
import { DECODE_SCRATCH, decodeUpload, KEPT_INPUT, UPLOAD_NAME } from './decode.ts';
import { ENCODE_SCRATCH, encodeUntilRight } from './encode.ts';
import { SOUND_FORMAT } from './formats.ts';
import { type GainPlan, SILENT_LUFS } from './gain.ts';
import type { Loudness, MeasuredMixes } from './measurement.ts';
import { SoundRefused } from './run-ffmpeg.ts';
import { sniffAudioFile } from './sniff.ts';
import { requestVoice } from './voice.ts';

export type RenderedSound = {
  durationMs: number;
  /** In LUFS: of the kept part of the upload, and of the published file. */
  loudnessBeforeLufs: number;
  loudnessAfterLufs: number;
  /** Peaks of the published file from 0 to 100. */
  waveform: number[];
  /** Measurements that the voice rendition needs. */
  mixes: MeasuredMixes;
  /** The encoder options of the draft of the voice rendition. */
  draftOptions: string | undefined;
};

export type RenderOptions = {
  maxSeconds: number;
  targetLufs: number;
  /** Where the excerpt begins, counted from the first audible sound; 0 by default. */
  startMs?: number;
  /** Whether the voice rendition is rendered next: it is drafted, and the draft remains in the folder. */
  isVoiceNext?: boolean;
  /** Called after measuring, when rendering begins. */
  onRendering?: () => Promise<void>;
};

/**
 * Renders `upload.bin` of the folder as `sound.mp3`: decodes, trims, measures, corrects the loudness, encodes, and
 * verifies the encoded file. The same upload gives the same bytes. Temporary files are removed.
 * @throws {SoundRefused} when the upload is the cause.
 * @throws {FfmpegError} for any other failure of ffmpeg, such as a full disk or a missing program.
 */
export async function renderSound(
  ffmpeg: Ffmpeg,
  directory: string,
  { maxSeconds, targetLufs, startMs = 0, isVoiceNext = false, onRendering }: RenderOptions,
): Promise<RenderedSound> {
  try {
    const demuxer = await sniffAudioFile(join(directory, UPLOAD_NAME));
    if (demuxer === undefined) throw new SoundRefused('not-audio');
    const kept = await decodeUpload(ffmpeg, directory, { demuxer, maxSeconds, startMs });
    if (kept.mixes.both.integratedLufs <= SILENT_LUFS) throw new SoundRefused('silent');
    await onRendering?.();
    const encoded = await encodeUntilRight(ffmpeg, directory, {
      input: KEPT_INPUT,
      mix: 'both',
      source: kept.mixes.both,
      frames: kept.frames,
      format: SOUND_FORMAT,
      targetLufs,
      predictNext: (plan) => {
        const mixes = isVoiceNext ? predictMixes(kept.mixes, plan) : undefined;
        return mixes && requestVoice(mixes, { seconds: 0, targetLufs });
      },
    });
    const { durationMs, waveform, mixes, draftOptions } = encoded;
    return {
      durationMs,
      loudnessBeforeLufs: kept.mixes.both.integratedLufs,
      loudnessAfterLufs: encoded.integratedLufs,
      waveform,
      mixes,
      draftOptions,
    };
  } finally {
    const scratch = [...DECODE_SCRATCH, ...ENCODE_SCRATCH];
    await Promise.all(scratch.map((name) => rm(join(directory, name), { force: true })));
  }
}

/** What the published file will measure: nearly exact without the limiter, unknown with it. */
function predictMixes(mixes: MeasuredMixes, { gainDb, ceilingDb }: GainPlan): MeasuredMixes | undefined {
  if (ceilingDb !== undefined) return undefined;
  const changeDb = gainDb - SOUND_FORMAT.encoderLossDb;
  const change = ({ integratedLufs, truePeakDbtp }: Loudness): Loudness => ({
    integratedLufs: integratedLufs + changeDb,
    truePeakDbtp: truePeakDbtp + changeDb,
  });
  return {
    both: change(mixes.both),
    average: change(mixes.average),
    left: change(mixes.left),
    right: change(mixes.right),
  };
}
