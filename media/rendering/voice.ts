import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Ffmpeg } from '../ffmpeg/ffmpeg.ts';
import {
  DRAFT_NAME,
  decodeAndMeasure,
  ENCODE_SCRATCH,
  type EncodeRequest,
  encodeUntilRight,
} from './encode.ts';
import { mp3Input, SOUND_NAME, VOICE_FORMAT } from './formats.ts';
import type { MeasuredMixes } from './measurement.ts';
import { chooseMix } from './mixes.ts';
import { DECODED_FORMAT } from './pcm.ts';
import { toFrames } from './units.ts';

/** The published sound as input. */
const INPUT = mp3Input(SOUND_NAME);

/**
 * Renders `sound.mp3` of the folder as `voice.mp3`, for game servers that play it as voice: mono, with the same loudness
 * and length. It is rendered from the published sound, so that sounds published without a voice file get the same result.
 * @param options.durationMs the duration of the sound.
 * @param options.mixes its measurements, if they were taken when the sound was rendered: they save one call of ffmpeg.
 * @param options.draftOptions the encoder options of the draft, if one was encoded then: it saves another call.
 * @throws {SoundRefused} when rendering exceeds the limits on time or memory.
 * @throws {FfmpegError} for any other failure of ffmpeg, such as a full disk or a missing program.
 */
export async function renderVoice(
  ffmpeg: Ffmpeg,
  directory: string,
  options: {
    durationMs: number;
    targetLufs: number;
    mixes?: MeasuredMixes;
    draftOptions?: string | undefined;
  },
): Promise<void> {
  const { durationMs, targetLufs, draftOptions } = options;
  // Sounds of earlier versions may be shorter than what can be measured.
  const seconds = Math.max(durationMs, 1) / 1000;
  try {
    const mixes = options.mixes ?? (await measureSound(ffmpeg, directory, seconds));
    await encodeUntilRight(ffmpeg, directory, {
      ...requestVoice(mixes, { seconds, targetLufs }),
      draftOptions,
    });
  } finally {
    const scratch = [...ENCODE_SCRATCH, DRAFT_NAME];
    await Promise.all(scratch.map((name) => rm(join(directory, name), { force: true })));
  }
}

/**
 * How the voice rendition of a sound with these measurements is encoded. Loudness is rounded, so that predicted and actual
 * measurements nearly always give the same request.
 */
export function requestVoice(
  mixes: MeasuredMixes,
  { seconds, targetLufs }: { seconds: number; targetLufs: number },
): EncodeRequest {
  const mix = chooseMix(mixes);
  const { integratedLufs, truePeakDbtp } = mixes[mix];
  return {
    input: INPUT,
    mix,
    source: { integratedLufs: Math.round(integratedLufs * 10) / 10, truePeakDbtp },
    frames: toFrames(seconds, VOICE_FORMAT.sampleRate),
    format: VOICE_FORMAT,
    targetLufs,
  };
}

async function measureSound(ffmpeg: Ffmpeg, directory: string, seconds: number): Promise<MeasuredMixes> {
  const frames = toFrames(seconds, DECODED_FORMAT.sampleRate);
  const { mixes } = await decodeAndMeasure(ffmpeg, directory, {
    input: INPUT,
    format: DECODED_FORMAT,
    frames,
  });
  return mixes;
}
