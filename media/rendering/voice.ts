import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Ffmpeg } from '../ffmpeg/ffmpeg.ts';
import { ENCODE_SCRATCH, encodeUntilRight, type Mp3Format } from './encode.ts';
import { type Loudness, measureFilters, readMeasurement } from './measurement.ts';
import { isAverageEnough, type MeasuredChannels, MIXES, type Mix } from './mixes.ts';
import { DECODED_FORMAT } from './pcm.ts';
import { SOUND_NAME } from './render.ts';
import { QUIET, runOnOwn } from './run-ffmpeg.ts';
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

const MIX_NAMES = ['both', 'average', 'left', 'right'] as const satisfies Mix[];

/** The published sound as input. */
const INPUT = { name: SOUND_NAME, options: [...QUIET, '-f', 'mp3'] };

/**
 * Renders `sound.mp3` of the folder as `voice.mp3`, for game servers that play it as voice: mono, with the same loudness
 * and length. It is rendered from the published sound, so that sounds from before get the same result.
 * @param options.durationMs the duration of the sound.
 * @param options.channels their measurements, if they were taken when the sound was rendered: saves one call.
 * @throws {FfmpegError} when ffmpeg is missing.
 */
export async function renderVoice(
  ffmpeg: Ffmpeg,
  directory: string,
  {
    durationMs,
    targetLufs,
    channels,
  }: { durationMs: number; targetLufs: number; channels?: MeasuredChannels | undefined },
): Promise<void> {
  const seconds = durationMs / 1000;
  try {
    const isKnown = channels && isAverageEnough(channels);
    const { mix, source } = isKnown
      ? { mix: 'average' as const, source: channels.average }
      : await chooseMix(ffmpeg, directory, seconds);
    await encodeUntilRight(ffmpeg, directory, {
      input: INPUT,
      filters: [MIXES[mix]],
      source,
      frames: toFrames(seconds, VOICE_FORMAT.sampleRate),
      format: VOICE_FORMAT,
      targetLufs,
    });
  } finally {
    const scratch = [...ENCODE_SCRATCH, ...MIX_NAMES.map(measurementName)];
    await Promise.all(scratch.map((name) => rm(join(directory, name), { force: true })));
  }
}

async function chooseMix(
  ffmpeg: Ffmpeg,
  directory: string,
  seconds: number,
): Promise<{ mix: Mix; source: Loudness }> {
  const { sampleRate } = DECODED_FORMAT;
  const clip = { frames: toFrames(seconds, sampleRate), sampleRate };
  const branches = MIX_NAMES.map((mix) => {
    const measuring = measureFilters({ ...clip, fileName: measurementName(mix), peaks: 'sample' });
    return `[${mix}]${[MIXES[mix], ...measuring].join(',')}${mix === 'both' ? '[out]' : ',anullsink'}`;
  });
  const labels = MIX_NAMES.map((mix) => `[${mix}]`).join('');
  const graph = [`[0:a]asplit=${MIX_NAMES.length}${labels}`, ...branches].join(';');
  await runOnOwn(ffmpeg, {
    directory,
    input: INPUT,
    output: { options: ['-filter_complex', graph, '-filter_complex_threads', '1', '-map', '[out]'] },
    sideOutputs: MIX_NAMES.map(measurementName),
  });
  const read = async (mix: Mix): Promise<Loudness> => {
    const loudness = await readMeasurement(directory, { ...clip, fileName: measurementName(mix) });
    if (loudness === undefined) throw new Error('a published sound was not measured to its end');
    return loudness;
  };
  const [both, average, left, right] = [
    await read('both'),
    await read('average'),
    await read('left'),
    await read('right'),
  ];
  if (isAverageEnough({ both, average })) return { mix: 'average', source: average };
  return left.integratedLufs >= right.integratedLufs
    ? { mix: 'left', source: left }
    : { mix: 'right', source: right };
}

function measurementName(mix: Mix): string {
  return `${mix}.txt`;
}
