import { join } from 'node:path';
import type { Ffmpeg, FfmpegJob } from '../ffmpeg/ffmpeg.ts';
import { type Loudness, measureFilters, readMeasurement } from './measurement.ts';
import { computePeak, DECODED_FORMAT, type PcmScan, pcmOptions, scanPcm } from './pcm.ts';
import { QUIET, runOnOwn, runOnUpload, SoundRefused } from './run-ffmpeg.ts';
import type { Demuxer } from './sniff.ts';
import { decideTrim, findFirstSound, isTrimCertain, longestTrim, type Trim, trimFilters } from './trim.ts';
import { toFrames } from './units.ts';

/** File names in the folder of an upload; they never come from the user. */
export const UPLOAD_NAME = 'upload.bin';
const DECODED_NAME = 'decoded.f32';
const MEASUREMENT_NAME = 'source.txt';
/** Temporary files, for cleaning up. */
export const DECODE_SCRATCH = [DECODED_NAME, MEASUREMENT_NAME];

/** How much of an upload is searched for its first audible sound. */
const MOST_DECODED_SECONDS = 75;
/** Decoded beyond the longest excerpt, to detect whether the sound continues. */
const SECONDS_AFTER_CUT = 2;
/** A louder sample means a damaged file. */
const LOUDEST_SAMPLE = 1000;

const { sampleRate: SAMPLE_RATE } = DECODED_FORMAT;

/** How a decoded upload is read. */
export const DECODED_INPUT: FfmpegJob['input'] = {
  name: DECODED_NAME,
  options: [...QUIET, ...pcmOptions(DECODED_FORMAT)],
};

/** `trim` is the part of {@link DECODED_INPUT} that is kept, `source` its loudness. */
export type DecodedUpload = { trim: Trim; source: Loudness };

export type DecodeOptions = {
  demuxer: Demuxer;
  maxSeconds: number;
  /** Where the excerpt begins, counted from the first audible sound. */
  startMs: number;
};

/**
 * Decodes the kept part of an upload with a little more around it, and measures the kept part.
 * @throws {SoundRefused} when the upload is the cause; {@link FfmpegError}.
 */
export async function decodeUpload(
  ffmpeg: Ffmpeg,
  directory: string,
  options: DecodeOptions,
): Promise<DecodedUpload> {
  if (options.startMs === 0) return decodeFromFirstSound(ffmpeg, directory, options);
  return measureKept(ffmpeg, directory, await decodeFromStart(ffmpeg, directory, options));
}

type Kept = { scan: PcmScan; trim: Trim };

/**
 * Decodes a little more than can be kept, and at the same time measures the most likely excerpt of a long clip. If the
 * kept part cannot be decided from that, more is decoded, and the kept part is measured afterwards.
 */
async function decodeFromFirstSound(
  ffmpeg: Ffmpeg,
  directory: string,
  { demuxer, maxSeconds }: DecodeOptions,
): Promise<DecodedUpload> {
  const likely = longestTrim({ maxSeconds });
  const firstSeconds = Math.min(MOST_DECODED_SECONDS, maxSeconds + SECONDS_AFTER_CUT);
  await runOnUpload(ffmpeg, decodeJob(directory, { demuxer, seconds: firstSeconds, likely }));
  let scan = await scanDecoded(directory);
  const isWhole = scan.frames < firstSeconds * SAMPLE_RATE;
  if (!isWhole && !isTrimCertain(scan, { maxSeconds })) {
    await runOnUpload(ffmpeg, decodeJob(directory, { demuxer, seconds: MOST_DECODED_SECONDS }));
    scan = await scanDecoded(directory);
  }
  const trim = decideTrim(scan, { maxSeconds });
  if (trim === undefined) throw new SoundRefused('silent');
  const isLikely = trim.start === likely.start && trim.end === likely.end && trim.isCut;
  const source = isLikely ? await readMeasurement(directory, measuredClip(scan, trim)) : undefined;
  return source ? { trim, source } : measureKept(ffmpeg, directory, { scan, trim });
}

/** Finds the first audible sound, then decodes from the start of the excerpt, wherever that is in the upload. */
async function decodeFromStart(
  ffmpeg: Ffmpeg,
  directory: string,
  { demuxer, maxSeconds, startMs }: DecodeOptions,
): Promise<Kept> {
  await runOnUpload(ffmpeg, decodeJob(directory, { demuxer, seconds: MOST_DECODED_SECONDS }));
  const scan = await scanDecoded(directory);
  const firstSound = findFirstSound(scan);
  if (firstSound === undefined) throw new SoundRefused('silent');
  const startFrame = firstSound + toFrames(startMs / 1000, SAMPLE_RATE);
  const neededFrames = startFrame + toFrames(maxSeconds + SECONDS_AFTER_CUT, SAMPLE_RATE);
  const isInside = scan.frames < MOST_DECODED_SECONDS * SAMPLE_RATE || neededFrames <= scan.frames;
  if (isInside) return keepFrom(scan, { maxSeconds, startFrame });
  const seconds = maxSeconds + SECONDS_AFTER_CUT;
  await runOnUpload(ffmpeg, decodeJob(directory, { demuxer, seconds, startFrame }));
  const rest = await scanDecoded(directory, { mayBeEmpty: true });
  return keepFrom(rest, { maxSeconds, startFrame: 0 });
}

function keepFrom(scan: PcmScan, options: { maxSeconds: number; startFrame: number }): Kept {
  const trim = decideTrim(scan, options);
  if (trim === undefined) throw new SoundRefused('start-after-end');
  return { scan, trim };
}

async function measureKept(ffmpeg: Ffmpeg, directory: string, { scan, trim }: Kept): Promise<DecodedUpload> {
  await runOnOwn(ffmpeg, measureJob(directory, trim));
  const source = await readMeasurement(directory, measuredClip(scan, trim));
  if (source === undefined) throw new Error('a clip was not measured to its end');
  return { trim, source };
}

/** Without true peaks, which only matter after the gain and are measured then. */
function measuredClip(scan: PcmScan, trim: Trim) {
  return { ...measurementOf(trim), samplePeak: computePeak(scan, trim) };
}

function measurementOf({ start, end }: Trim) {
  return { fileName: MEASUREMENT_NAME, frames: end - start, sampleRate: SAMPLE_RATE };
}

async function scanDecoded(directory: string, { mayBeEmpty = false } = {}): Promise<PcmScan> {
  const scan = await scanPcm(join(directory, DECODED_NAME), { channels: DECODED_FORMAT.channels });
  const isEmpty = scan.frames === 0 && !mayBeEmpty;
  if (isEmpty || scan.invalidSamples > 0 || computePeak(scan) > LOUDEST_SAMPLE) {
    throw new SoundRefused('unreadable');
  }
  return scan;
}

function measureJob(directory: string, trim: Trim): FfmpegJob {
  const filters = [...trimFilters(trim), ...measureFilters(measurementOf(trim))];
  return {
    directory,
    input: DECODED_INPUT,
    output: { options: ['-filter_threads', '1', '-af', filters.join(',')] },
    sideOutputs: [MEASUREMENT_NAME],
  };
}

/**
 * The only call that reads an uploaded file. The demuxer is fixed; other demuxers, protocols other than plain files, many
 * streams and long probing are refused by ffmpeg itself. Pictures, subtitles and data are not decoded.
 */
function decodeJob(
  directory: string,
  options: { demuxer: Demuxer; seconds: number; startFrame?: number; likely?: Trim },
): FfmpegJob {
  const { demuxer, seconds, startFrame = 0, likely } = options;
  const startSeconds = Math.ceil(startFrame / SAMPLE_RATE);
  // Trimmed by sample count: `-t` uses timestamps, which have gaps in a recording that was paused. Also before
  // resampling, because at very low sample rates a single frame can last hours.
  const toPcm = [
    `[0:a:0]asetpts=N/SR/TB,atrim=end=${startSeconds + seconds + 1}`,
    `aresample=${SAMPLE_RATE},aformat=sample_fmts=flt:channel_layouts=stereo`,
    `atrim=start_sample=${startFrame}:end_sample=${startFrame + seconds * SAMPLE_RATE}`,
  ].join(',');
  const measuring = likely && [...trimFilters(likely), ...measureFilters(measurementOf(likely))];
  const graph = measuring
    ? `${toPcm},asplit[pcm][copy];[copy]${measuring.join(',')},anullsink`
    : `${toPcm}[pcm]`;
  return {
    directory,
    input: {
      name: UPLOAD_NAME,
      options: [
        ...QUIET,
        ...['-protocol_whitelist', 'file,pipe'],
        ...['-format_whitelist', 'mp3,wav,w64,aiff,ogg,flac,mov,matroska,aac,caf'],
        ...['-max_streams', '16', '-probesize', '5000000', '-analyzeduration', '5000000'],
        ...['-t', String(MOST_DECODED_SECONDS + startSeconds), '-vn', '-sn', '-dn', '-f', demuxer],
        // The defaults, set explicitly: otherwise ffmpeg would open files that the upload names.
        ...(demuxer === 'mov' ? ['-enable_drefs', '0', '-use_absolute_path', '0'] : []),
      ],
    },
    output: {
      name: DECODED_NAME,
      options: [
        ...['-filter_complex', graph, '-map', '[pcm]', '-map_metadata', '-1', '-vn', '-sn', '-dn'],
        ...['-f', 'f32le', '-c:a', 'pcm_f32le', '-threads', '1', '-filter_complex_threads', '1'],
      ],
    },
    sideOutputs: likely ? [MEASUREMENT_NAME] : [],
  };
}
