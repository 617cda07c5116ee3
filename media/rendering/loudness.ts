import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Ffmpeg, FfmpegJob } from '../ffmpeg/ffmpeg.ts';
import { type PcmFormat, pcmOptions, toFrames } from './pcm.ts';
import { runOnOwn } from './run-ffmpeg.ts';

/** Loudness as in ITU-R BS.1770-4 and EBU R 128. */
export type Loudness = { integratedLufs: number; truePeakDbtp: number };

const LOUDNESS_NAME = 'loudness.txt';
const PEAKS_NAME = 'peaks.txt';

/** Integrated loudness needs blocks of 400 ms: a shorter clip is measured as a loop. */
const MIN_MEASURED_SECONDS = 3;
/** Before and after the clip, as during playback: the meter's resampler misses peaks at the very start and end. */
const SILENCE_SECONDS = 0.1;

/**
 * Measures the beginning of a file by ffmpeg's `ebur128`.
 * @param options.filters applied before; none by default.
 * @param options.frames how much is measured.
 * @param options.peak the largest sample: the clip is measured at full scale, because the meter counts loudness up to
 * +10 LUFS only, and gives peaks in steps of 0.001; 1 by default.
 * @param options.pcmName where to write what was measured as PCM, if anywhere.
 * @throws as {@link runOnOwn} does.
 */
export async function measureLoudness(
  ffmpeg: Ffmpeg,
  directory: string,
  options: {
    input: FfmpegJob['input'];
    format: PcmFormat;
    frames: number;
    filters?: readonly string[];
    peak?: number;
    pcmName?: string;
  },
): Promise<Loudness> {
  const { input, format, frames, filters = [], peak = 1, pcmName } = options;
  const repeats = Math.ceil(toFrames(MIN_MEASURED_SECONDS, format.sampleRate) / frames);
  const graph = [
    `[0:a]${[...filters, `atrim=end_sample=${frames}`].join(',')},asplit[pcm][clip]`,
    `[clip]volume=${1 / peak}:precision=double,asplit[once][loop]`,
    `[loop]aloop=${repeats - 1}:${frames},ebur128=metadata=1,${print('I', LOUDNESS_NAME)}`,
    `[once]adelay=${SILENCE_SECONDS * 1000}:all=1,apad=pad_dur=${SILENCE_SECONDS},ebur128=metadata=1:peak=true,${print('true_peak', PEAKS_NAME)}`,
  ];
  const pcm = ['-filter_complex', graph.join(';'), '-filter_complex_threads', '1', '-map', '[pcm]'];
  await runOnOwn(ffmpeg, {
    directory,
    input,
    output:
      pcmName === undefined ? { options: pcm } : { name: pcmName, options: [...pcm, ...pcmOptions(format)] },
    sideOutputs: [LOUDNESS_NAME, PEAKS_NAME],
  });
  return {
    integratedLufs: (await readLast(join(directory, LOUDNESS_NAME))) + toDecibels(peak),
    truePeakDbtp: toDecibels((await readLast(join(directory, PEAKS_NAME))) * peak),
  };
}

/** Writes a value of the meter, as of each step of 100 ms, into a file. */
function print(key: string, fileName: string): string {
  return `ametadata=mode=print:key=lavfi.r128.${key}:file=${fileName},anullsink`;
}

/** The value as of the last step. */
async function readLast(path: string): Promise<number> {
  const [, value] = /.*=(.*)\s*$/.exec(await readFile(path, 'utf8')) ?? [];
  if (value === undefined) throw new Error(`ffmpeg measured nothing: ${path} is empty`);
  return Number(value);
}

/** Decibels as a ratio of amplitudes. */
export function toRatio(decibels: number): number {
  return 10 ** (decibels / 20);
}

function toDecibels(ratio: number): number {
  return 20 * Math.log10(ratio);
}
