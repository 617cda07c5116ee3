import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Ffmpeg } from '../ffmpeg/ffmpeg.ts';
import { decodeAndMeasure, ENCODE_SCRATCH, encodeUntilRight, type Mp3Format } from './encode.ts';
import type { MeasuredMixes } from './measurement.ts';
import { chooseMix } from './mixes.ts';
import { DECODED_FORMAT } from './pcm.ts';
import { SOUND_NAME } from './render.ts';
import { QUIET } from './run-ffmpeg.ts';
import { toFrames } from './units.ts';

export const VOICE_NAME = 'voice.mp3';
const VOICE_FORMAT: Mp3Format = {
  fileName: VOICE_NAME,
  sampleRate: 48_000,
  channels: 1,
  bitRateKbps: 96,
  encoderLossDb: 0.4,
  limiterCeilingDb: -2,
  // One channel replaces two, so peaks rise by 3 dB, of a sound that may already be limited.
  mostReductionDb: 15,
};

/** The published sound as input. */
const INPUT = { name: SOUND_NAME, options: [...QUIET, '-f', 'mp3'] };

/**
 * Renders `sound.mp3` of the folder as `voice.mp3`, for game servers that play it as voice: mono, with the same loudness
 * and length. It is rendered from the published sound, so that sounds from before get the same result.
 * @param options.durationMs the duration of the sound.
 * @param options.mixes its measurements, if they were taken when the sound was rendered: saves one call.
 * @throws {FfmpegError} when ffmpeg is missing.
 */
export async function renderVoice(
  ffmpeg: Ffmpeg,
  directory: string,
  options: { durationMs: number; targetLufs: number; mixes?: MeasuredMixes },
): Promise<void> {
  const { durationMs, targetLufs } = options;
  // Sounds from before may be shorter than what can be measured.
  const seconds = Math.max(durationMs, 1) / 1000;
  try {
    const mixes = options.mixes ?? (await measureSound(ffmpeg, directory, seconds));
    const mix = chooseMix(mixes);
    await encodeUntilRight(ffmpeg, directory, {
      input: INPUT,
      mix,
      source: mixes[mix],
      frames: toFrames(seconds, VOICE_FORMAT.sampleRate),
      format: VOICE_FORMAT,
      targetLufs,
    });
  } finally {
    await Promise.all(ENCODE_SCRATCH.map((name) => rm(join(directory, name), { force: true })));
  }
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
