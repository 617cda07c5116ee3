import { readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { RoundSoundFailure } from '../src/round-sound.ts';
import { type Ffmpeg, FfmpegError, type FfmpegJob, NO_SPACE, RENDER_LIMITS } from './ffmpeg.ts';
import {
  correctGain,
  decideTrim,
  findPeak,
  type GainPlan,
  gainFilters,
  isBetterLoudness,
  isRightLoudness,
  isTrimCertain,
  type Loudness,
  longestTrim,
  measureFilters,
  needsTruePeak,
  parseMeasurement,
  planGain,
  SILENT_LUFS,
  type Trim,
  trimFilters,
} from './loudness.ts';
import { type PcmScan, SAMPLE_RATE, scanPcm, toWaveform } from './pcm.ts';
import { type Demuxer, sniffAudioFile } from './sniff.ts';

/** The names inside the folder of an upload; nothing of the user's is ever a file name. */
export const UPLOAD_NAME = 'upload.bin';
export const SOUND_NAME = 'sound.mp3';
const DECODED_NAME = 'decoded.f32';
const ATTEMPT_NAME = 'attempt.mp3';
const VERIFIED_NAME = 'verified.f32';
const MEASUREMENT_NAME = 'measured.txt';

/** How much of an upload is looked at, silence at its start included. */
const MOST_DECODED_SECONDS = 75;
/** Decoded after the longest cut, to hear that the sound goes on there. */
const SECONDS_AFTER_CUT = 2;
const FRAMES_PER_MP3_FRAME = 1152;
const WAVEFORM_BARS = 160;
const MOST_CORRECTIONS = 3;
/** Louder than this is no recording but damage. */
const LOUDEST_SAMPLE = 1000;

/** The upload cannot become a sound; `reason` is what the player is told. */
export class SoundRefused extends Error {
  override name = 'SoundRefused';

  constructor(
    readonly reason: RoundSoundFailure,
    options?: ErrorOptions,
  ) {
    super(`the sound is refused: ${reason}`, options);
  }
}

export type RenderedSound = {
  durationMs: number;
  /** Of the kept part before, and of the published file after, in LUFS. */
  loudnessBefore: number;
  loudnessAfter: number;
  truePeakDbtp: number;
  /** Peaks of the published file from 0 to 100. */
  waveform: number[];
};

export type RenderOptions = {
  maxSeconds: number;
  targetLufs: number;
  /** Told when the clip is measured and rendering begins. */
  onRendering?: () => Promise<void>;
};

/**
 * Makes `sound.mp3` out of `upload.bin` in the folder: decodes, trims, measures, corrects the loudness, encodes,
 * and verifies the encoded file. The same upload gives the same bytes. What it needs besides is removed.
 * @throws {SoundRefused} when the upload is to blame.
 * @throws {FfmpegError} when ffmpeg is missing.
 */
export async function renderSound(
  ffmpeg: Ffmpeg,
  directory: string,
  options: RenderOptions,
): Promise<RenderedSound> {
  try {
    const demuxer = await sniffAudioFile(join(directory, UPLOAD_NAME));
    if (demuxer === undefined) throw new SoundRefused('not-audio');
    const { trim, source } = await decodeAndMeasure(ffmpeg, directory, {
      demuxer,
      maxSeconds: options.maxSeconds,
    });
    if (source.integratedLufs <= SILENT_LUFS) throw new SoundRefused('silent');
    await options.onRendering?.();
    return await encodeUntilRight(ffmpeg, directory, { trim, source, targetLufs: options.targetLufs });
  } finally {
    const scratch = [DECODED_NAME, ATTEMPT_NAME, VERIFIED_NAME, MEASUREMENT_NAME];
    await Promise.all(scratch.map((name) => rm(join(directory, name), { force: true })));
  }
}

type Decoded = { trim: Trim; source: Loudness };

/**
 * Decodes a little more than can be kept, and measures the cut that a long clip most likely gets on the way. Where that
 * does not settle what is kept, all of it is decoded, and measured once that is known.
 */
async function decodeAndMeasure(
  ffmpeg: Ffmpeg,
  directory: string,
  options: { demuxer: Demuxer; maxSeconds: number },
): Promise<Decoded> {
  const { demuxer, maxSeconds } = options;
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
  const clip = { frames: trim.end - trim.start, samplePeak: findPeak(scan, trim) };
  const isLikely = trim.start === likely.start && trim.end === likely.end && trim.isCut;
  let source = isLikely ? await readMeasurement(directory, clip) : undefined;
  if (source === undefined) {
    await runOnOwn(ffmpeg, measureJob(directory, trim));
    source = await readMeasurement(directory, clip);
  }
  if (source === undefined) throw new Error('a clip was not measured to its end');
  return { trim, source };
}

async function readMeasurement(
  directory: string,
  clip: { frames: number; samplePeak: number },
): Promise<Loudness | undefined> {
  return parseMeasurement(await readFile(join(directory, MEASUREMENT_NAME), 'utf8'), clip);
}

async function scanDecoded(directory: string): Promise<PcmScan> {
  const scan = await scanPcm(join(directory, DECODED_NAME));
  const loudest = scan.blockPeaks.reduce((largest, value) => Math.max(largest, value), 0);
  if (scan.frames === 0 || scan.invalidSamples > 0 || loudest > LOUDEST_SAMPLE) {
    throw new SoundRefused('unreadable');
  }
  return scan;
}

function measureJob(directory: string, trim: Trim): FfmpegJob {
  const filters = [...trimFilters(trim), ...measureFilters(trim.end - trim.start, SOURCE_MEASUREMENT)];
  return {
    directory,
    input: PCM_INPUT,
    output: { options: ['-filter_threads', '1', '-af', filters.join(',')] },
    sideOutputs: [MEASUREMENT_NAME],
  };
}

async function encodeUntilRight(
  ffmpeg: Ffmpeg,
  directory: string,
  context: { trim: Trim; source: Loudness; targetLufs: number },
): Promise<RenderedSound> {
  const { trim, source, targetLufs } = context;
  let plan = planGain(source, { targetLufs });
  let best: (Loudness & { durationMs: number; waveform: number[] }) | undefined;
  for (let correction = 0; correction <= MOST_CORRECTIONS; correction++) {
    await runOnOwn(ffmpeg, encodeJob(directory, trim, plan));
    const result = await verify(ffmpeg, directory, {
      frames: trim.end - trim.start,
      withTruePeak: needsTruePeak(source, plan),
    });
    if (best === undefined || isBetterLoudness(result, best, targetLufs)) {
      await rename(join(directory, ATTEMPT_NAME), join(directory, SOUND_NAME));
      best = result;
    }
    if (isRightLoudness(result, { source, plan, targetLufs })) break;
    plan = correctGain(result, { source, plan, targetLufs });
  }
  if (best === undefined) throw new SoundRefused('unreadable');
  return {
    durationMs: best.durationMs,
    loudnessBefore: source.integratedLufs,
    loudnessAfter: best.integratedLufs,
    truePeakDbtp: best.truePeakDbtp,
    waveform: best.waveform,
  };
}

/** Decodes the encoded file as players will, and measures that. */
async function verify(
  ffmpeg: Ffmpeg,
  directory: string,
  { frames, withTruePeak }: { frames: number; withTruePeak: boolean },
): Promise<Loudness & { durationMs: number; waveform: number[] }> {
  const filters = measureFilters(frames, { fileName: MEASUREMENT_NAME, withTruePeak });
  await runOnOwn(ffmpeg, {
    directory,
    input: { name: ATTEMPT_NAME, options: [...QUIET, '-f', 'mp3'] },
    output: { name: VERIFIED_NAME, options: [...PCM_OUTPUT, '-af', filters.join(',')] },
    sideOutputs: [MEASUREMENT_NAME],
  });
  const scan = await scanPcm(join(directory, VERIFIED_NAME), { maxFrames: frames });
  const samplePeak = scan.blockPeaks.reduce((largest, value) => Math.max(largest, value), 0);
  const measured = await readMeasurement(directory, { frames, samplePeak });
  if (measured === undefined || scan.frames + FRAMES_PER_MP3_FRAME < frames) {
    throw new Error('an encoded sound is not whole');
  }
  return {
    ...measured,
    durationMs: Math.round((scan.frames * 1000) / SAMPLE_RATE),
    waveform: toWaveform(scan.blockPeaks, WAVEFORM_BARS),
  };
}

/** Of what was uploaded only the loudness: its true peak matters after the gain, and is measured there. */
const SOURCE_MEASUREMENT = { fileName: MEASUREMENT_NAME, withTruePeak: false };
const QUIET = ['-hide_banner', '-nostdin', '-v', 'error', '-threads', '1'];
const PCM_FORMAT = ['-f', 'f32le', '-ar', String(SAMPLE_RATE), '-ac', '2'];
const PCM_INPUT: FfmpegJob['input'] = { name: DECODED_NAME, options: [...QUIET, ...PCM_FORMAT] };
const PCM_OUTPUT = [...PCM_FORMAT, '-c:a', 'pcm_f32le', '-threads', '1', '-filter_threads', '1'];

/**
 * The only call that reads what a stranger sent. The demuxer is forced; others, other protocols than plain files,
 * many streams, and long probing are refused by ffmpeg itself. Pictures, subtitles and data are not decoded.
 */
function decodeJob(
  directory: string,
  options: { demuxer: Demuxer; seconds: number; likely?: Trim },
): FfmpegJob {
  const { demuxer, seconds, likely } = options;
  // By count: `-t` goes by time stamps, and a recording that was paused has a gap in them. Twice, as a second of some
  // rates is a handful of samples, and one frame of them hours.
  const toPcm = [
    `[0:a:0]asetpts=N/SR/TB,atrim=end=${seconds + 1}`,
    `aresample=${SAMPLE_RATE},aformat=sample_fmts=flt:channel_layouts=stereo`,
    `atrim=end_sample=${seconds * SAMPLE_RATE}`,
  ].join(',');
  const measuring = likely && [
    ...trimFilters(likely),
    ...measureFilters(likely.end - likely.start, SOURCE_MEASUREMENT),
  ];
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
        ...['-t', String(MOST_DECODED_SECONDS), '-vn', '-sn', '-dn', '-f', demuxer],
        // Off by default; said all the same, as it would open what the upload names.
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

/** MP3 at a constant 192 kbit/s, without tags or anything that differs from one run to the next. */
function encodeJob(directory: string, trim: Trim, plan: GainPlan): FfmpegJob {
  const filters = [...trimFilters(trim), ...gainFilters(plan)];
  return {
    directory,
    input: PCM_INPUT,
    output: {
      name: ATTEMPT_NAME,
      options: [
        ...['-af', filters.join(','), '-filter_threads', '1', '-threads', '1'],
        ...['-c:a', 'libmp3lame', '-b:a', '192k', '-ar', String(SAMPLE_RATE), '-ac', '2'],
        ...['-map_metadata', '-1', '-id3v2_version', '0', '-write_id3v1', '0'],
        ...['-fflags', '+bitexact', '-flags:a', '+bitexact', '-f', 'mp3'],
      ],
    },
  };
}

/** A call whose failure is the upload's fault, unless ffmpeg could not be started or the disk is full. */
async function runOnUpload(ffmpeg: Ffmpeg, job: FfmpegJob): Promise<void> {
  try {
    await runOnOwn(ffmpeg, job);
  } catch (error) {
    const isRejected = error instanceof FfmpegError && error.failure === 'rejected';
    if (!isRejected || NO_SPACE.test(error.message) || BROKEN_DISK.test(error.message)) throw error;
    throw new SoundRefused('unreadable', { cause: error });
  }
}

/** A call on files that we made: that ffmpeg rejects them, half written on a full disk, is no fault of the upload. */
async function runOnOwn(ffmpeg: Ffmpeg, job: FfmpegJob): Promise<void> {
  try {
    await ffmpeg.run(job, RENDER_LIMITS);
  } catch (error) {
    if (!(error instanceof FfmpegError) || error.failure !== 'overran') throw error;
    throw new SoundRefused('too-complex', { cause: error });
  }
}

const BROKEN_DISK = /Input\/output error/;
