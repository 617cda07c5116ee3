import type { Ffmpeg } from '../ffmpeg/ffmpeg.ts';
import { encodeUntilRight, type Mp3Format, mp3Input } from './encode.ts';
import { type Loudness, measureLoudness } from './loudness.ts';
import { DECODED_FORMAT, toFrames } from './pcm.ts';
import { SOUND_NAME } from './render.ts';

export const VOICE_NAME = 'voice.mp3';
const VOICE_FORMAT: Mp3Format = {
  fileName: VOICE_NAME,
  sampleRate: 48_000,
  channels: 1,
  bitRateKbps: 96,
  encoderLossDb: 0.4,
  limiterCeilingDb: -2,
  // One channel replaces two, so peaks rise by 3 dB, and the sound may have been limited already.
  maxReductionDb: 15,
};

/** One of two equal channels is this much quieter than both: BS.1770 adds the power of the channels. */
const ONE_OF_TWO_CHANNELS_LU = 3.01;
/** If averaging loses more than this, the channels cancel each other out, and the louder channel is used instead. */
const MAX_AVERAGING_LOSS_LU = 6;

/** Filters that mix stereo to mono. */
export const MIX_FILTERS = {
  average: 'pan=mono|c0=0.5*c0+0.5*c1',
  left: 'pan=mono|c0=c0',
  right: 'pan=mono|c0=c1',
};

/** The published sound as input. */
const INPUT = mp3Input(SOUND_NAME);

/**
 * Renders `sound.mp3` of the folder as `voice.mp3`, for game servers that play it as voice: mono, with the same loudness
 * and length.
 * @param options.durationMs the duration of the sound.
 * @param options.soundLufs its loudness.
 * @throws {SoundRefused} when rendering exceeds the limits on processor time or memory.
 * @throws {FfmpegError} for any other failure of ffmpeg, such as a full disk or a missing program.
 */
export async function renderVoice(
  ffmpeg: Ffmpeg,
  directory: string,
  { durationMs, soundLufs, targetLufs }: { durationMs: number; soundLufs: number; targetLufs: number },
): Promise<void> {
  const seconds = durationMs / 1000;
  const frames = toFrames(seconds, DECODED_FORMAT.sampleRate);
  const measure = (filter: string) =>
    measureLoudness(ffmpeg, directory, { input: INPUT, format: DECODED_FORMAT, frames, filters: [filter] });
  await encodeUntilRight(ffmpeg, directory, {
    input: INPUT,
    ...(await chooseMix(measure, soundLufs)),
    frames: toFrames(seconds, VOICE_FORMAT.sampleRate),
    format: VOICE_FORMAT,
    targetLufs,
  });
}

/** Chooses the filter that mixes stereo to mono. @returns the filter, and the loudness of its output. */
async function chooseMix(
  measure: (filter: string) => Promise<Loudness>,
  soundLufs: number,
): Promise<{ filters: string[]; source: Loudness }> {
  const average = await measure(MIX_FILTERS.average);
  const lossLu = soundLufs - ONE_OF_TWO_CHANNELS_LU - average.integratedLufs;
  if (lossLu <= MAX_AVERAGING_LOSS_LU) return { filters: [MIX_FILTERS.average], source: average };
  const [left, right] = [await measure(MIX_FILTERS.left), await measure(MIX_FILTERS.right)];
  return left.integratedLufs >= right.integratedLufs
    ? { filters: [MIX_FILTERS.left], source: left }
    : { filters: [MIX_FILTERS.right], source: right };
}
