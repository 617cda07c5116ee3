import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { toDecibels, toFrames } from './units.ts';

/** Loudness as in ITU-R BS.1770-4 and EBU R 128, measured by ffmpeg's `ebur128`; peaks as true peaks. */

/** Integrated loudness needs blocks of 400 ms: a shorter clip is measured as a loop. */
const SHORTEST_MEASURED_SECONDS = 3;
const MOST_TURNS = 400;
const STEP_SECONDS = 0.1;
/** How far true peaks usually exceed the largest sample; at worst some 3 dB. */
const USUAL_OVERSHOOT_DB = 0.5;

/** One measurement. If the true peak was not measured, it is estimated from the largest sample. */
export type Loudness = { integratedLufs: number; truePeakDbtp: number };

export type MeasuredClip = { frames: number; sampleRate: number };

type MeasureOptions = MeasuredClip & {
  /** The file for the measurement, which {@link readMeasurement} reads. */
  fileName: string;
  /** `sample` is free; `true` takes as long as everything else; none by default. */
  peaks?: 'sample' | 'true';
};

/** Measures the first `frames` frames, looped if too short, and writes the result to the file. */
export function measureFilters({ frames, sampleRate, fileName, peaks }: MeasureOptions): string[] {
  const options = `metadata=1:framelog=verbose${peaks === 'sample' ? ':peak=sample' : ''}`;
  return [
    ...loopFilters(frames, sampleRate),
    ...(peaks === 'true' ? truePeakFilters(sampleRate) : []),
    `ebur128=${options}`,
    `ametadata=mode=print:file=${fileName}`,
  ];
}

/** `aloop` emits all repetitions at once, each in a buffer of its own: nested loops keep the number small. */
function loopFilters(frames: number, sampleRate: number): string[] {
  const size = Math.max(frames, 1);
  const turns = Math.ceil(toFrames(SHORTEST_MEASURED_SECONDS, sampleRate) / size);
  if (turns <= 1) return [];
  const inner = Math.min(turns, MOST_TURNS);
  const outer = Math.ceil(turns / inner);
  return [
    `aloop=loop=${inner - 1}:size=${size}`,
    ...(outer > 1 ? [`aloop=loop=${outer - 1}:size=${size * inner}`] : []),
  ];
}

/**
 * The meter's resampler misses the peak of a sound that starts abruptly, so silence is added before it. Since silence
 * would change the loudness, true peaks are measured by a filter of their own, and the silence is removed again. It is
 * exactly one step long, so that steps stay aligned and the peaks in the metadata reach the end of the chain.
 */
function truePeakFilters(sampleRate: number): string[] {
  const stepFrames = toFrames(STEP_SECONDS, sampleRate);
  return [
    `adelay=delays=${stepFrames}S:all=1`,
    'ebur128=metadata=1:peak=true:framelog=verbose',
    `atrim=start_sample=${stepFrames}`,
    'asetpts=N/SR/TB',
  ];
}

/**
 * Reads what {@link measureFilters} wrote.
 * @param clip with its largest absolute sample, used if no peak was measured.
 * @returns `undefined` if it does not reach the end of the clip: the filter does not report a full disk, and ffmpeg
 * restarts it when the format of an upload changes in the middle.
 */
export async function readMeasurement(
  directory: string,
  clip: MeasuredClip & { fileName: string; samplePeak?: number },
): Promise<Loudness | undefined> {
  return tryParseMeasurement(await readFile(join(directory, clip.fileName), 'utf8'), clip);
}

/** The text has a block of `key=value` lines every 100 ms; the last value of each key counts. */
function tryParseMeasurement(
  text: string,
  { frames, sampleRate, samplePeak = 0 }: MeasuredClip & { samplePeak?: number },
): Loudness | undefined {
  const integratedLufs = lastNumber(text, 'lavfi.r128.I=');
  const lastStepAt = lastNumber(text, 'pts_time:') ?? Number.NEGATIVE_INFINITY;
  const endsAt = Math.max(frames / sampleRate, SHORTEST_MEASURED_SECONDS);
  const isWhole = text.endsWith('\n') && lastStepAt + 2 * STEP_SECONDS > endsAt;
  if (integratedLufs === undefined || !isWhole) return undefined;
  const truePeak = largestOfChannels(text, 'true');
  const largestSample = largestOfChannels(text, 'sample') ?? samplePeak;
  const truePeakDbtp =
    truePeak === undefined ? toDecibels(largestSample) + USUAL_OVERSHOOT_DB : toDecibels(truePeak);
  return { integratedLufs, truePeakDbtp };
}

function largestOfChannels(text: string, kind: 'true' | 'sample'): number | undefined {
  const peaks = [0, 1]
    .map((channel) => lastNumber(text, `lavfi.r128.${kind}_peaks_ch${channel}=`))
    .filter((peak) => peak !== undefined);
  return peaks.length > 0 ? Math.max(...peaks) : undefined;
}

function lastNumber(text: string, label: string): number | undefined {
  const at = text.lastIndexOf(label);
  if (at === -1) return undefined;
  const value = Number.parseFloat(text.slice(at + label.length));
  return Number.isFinite(value) ? value : undefined;
}
