import { rename } from 'node:fs/promises';
import { join } from 'node:path';
import { type RoundSoundFailure, type SoundStart, UPLOAD_NAME } from '../../src/domain/round-sound.ts';
import { type Ffmpeg, type FfmpegJob, RENDER_LIMITS } from '../ffmpeg/ffmpeg.ts';
import { FRAMES_PER_MP3_FRAME } from './encode.ts';
import { computePeak, DECODED_FORMAT, type PcmScan, pcmOptions, scanPcm, toFrames } from './pcm.ts';
import { QUIET, runOnUpload, SoundRefused } from './run-ffmpeg.ts';
import type { Demuxer } from './sniff.ts';
import { decideTrim, findFirstSound, isTrimCertain, type Trim, trimFilters } from './trim.ts';

const DECODED_NAME = 'decoded.f32';
const SEARCHED_NAME = 'searched.f32';

/** How much of an upload is searched for its first audible sound. */
const MAX_DECODED_SECONDS = 75;
/** Decoded beyond the longest excerpt, to detect whether the sound continues. */
const SECONDS_AFTER_CUT = 2;
/** Resampling and encoding leave little of a shorter clip, so silence is added to it. */
const MIN_FRAMES = FRAMES_PER_MP3_FRAME;
/** A sample above this means that the file is damaged; 1 is full scale. */
const LOUDEST_SAMPLE = 1000;

const { sampleRate: SAMPLE_RATE } = DECODED_FORMAT;

/** How a decoded upload is read. */
export const DECODED_INPUT: FfmpegJob['input'] = {
  name: DECODED_NAME,
  options: [...QUIET, ...pcmOptions(DECODED_FORMAT)],
};

/** The kept part of {@link DECODED_INPUT}: the filters that cut it out, its length, and its largest sample; 1 is full scale. */
type KeptPart = { filters: string[]; frames: number; peak: number };

/** Where the kept part is in decoded audio. */
type Cut = { scan: PcmScan; trim: Trim };

type DecodeOptions = {
  demuxer: Demuxer;
  maxSeconds: number;
  /** Where the excerpt begins; at the first audible sound by default. */
  start?: SoundStart | undefined;
};

/**
 * The audio tracks that are tried in turn: the one that ffmpeg takes, as players do (it is flagged as the default, or has
 * the most channels), then the first four. Recordings often have one for each source, of which the first may be silent.
 */
const TRACKS = [undefined, 0, 1, 2, 3];
type Track = { index: number | undefined; deadlineMs: number };

/**
 * Decodes the first track of an upload that can be heard as {@link DECODED_INPUT}, and decides which part of it is kept.
 * @throws {SoundRefused} when the upload is the cause · {FfmpegError} for any other failure of ffmpeg.
 */
export async function decodeUpload(
  ffmpeg: Ffmpeg,
  directory: string,
  options: DecodeOptions,
): Promise<KeptPart> {
  const deadlineMs = performance.now() + RENDER_LIMITS.wallMs;
  let refusal: SoundRefused | undefined;
  for (const index of TRACKS) {
    try {
      return await decodeTrack(ffmpeg, directory, { ...options, track: { index, deadlineMs } });
    } catch (error) {
      if (!(error instanceof SoundRefused) || !NEXT_TRACK_REASONS.includes(error.reason)) throw error;
      if (refusal?.reason !== 'silent') refusal = error;
      if (saysNoTrack(error.cause)) break;
    }
    // A single track is not decoded twice.
    if (index === undefined && !(await hasSecondTrack(ffmpeg, directory, options, deadlineMs))) break;
  }
  throw refusal ?? new SoundRefused('unreadable');
}

const NEXT_TRACK_REASONS: RoundSoundFailure[] = ['silent', 'unreadable'];
const saysNoTrack = (error: unknown) => error instanceof Error && /matches no streams/.test(error.message);

async function hasSecondTrack(
  ffmpeg: Ffmpeg,
  directory: string,
  { demuxer }: DecodeOptions,
  deadlineMs: number,
): Promise<boolean> {
  const { input } = decodeJob(directory, { demuxer, track: { index: 1, deadlineMs }, seconds: 0 });
  const nothing = { directory, input, output: { options: ['-map', '0:a:1', '-t', '0'] } };
  try {
    await runOnUpload(ffmpeg, nothing, deadlineMs);
  } catch (error) {
    if (!(error instanceof SoundRefused)) throw error;
    return error.reason === 'unreadable' && !saysNoTrack(error.cause);
  }
  return true;
}

type TrackOptions = DecodeOptions & { track: Track };

async function decodeTrack(ffmpeg: Ffmpeg, directory: string, options: TrackOptions): Promise<KeptPart> {
  const { start, ...others } = options;
  const { scan, trim } = start?.startMs
    ? await decodeFromStart(ffmpeg, directory, { ...others, start })
    : await decodeFromFirstSound(ffmpeg, directory, others);
  return {
    filters: [...trimFilters(trim), `apad=whole_len=${MIN_FRAMES}`],
    frames: Math.max(MIN_FRAMES, trim.end - trim.start),
    peak: computePeak(scan, trim),
  };
}

/** Decodes a little more than can be kept; if that does not determine the kept part, decodes much more. */
async function decodeFromFirstSound(
  ffmpeg: Ffmpeg,
  directory: string,
  { demuxer, track, maxSeconds }: TrackOptions,
): Promise<Cut> {
  const firstSeconds = Math.min(MAX_DECODED_SECONDS, maxSeconds + SECONDS_AFTER_CUT);
  let scan = await decode(ffmpeg, directory, { demuxer, track, seconds: firstSeconds });
  const isWhole = scan.frames < firstSeconds * SAMPLE_RATE;
  if (!isWhole && !isTrimCertain(scan, { maxSeconds })) {
    scan = await decode(ffmpeg, directory, { demuxer, track, seconds: MAX_DECODED_SECONDS });
  }
  const trim = decideTrim(scan, { maxSeconds });
  if (trim === undefined) throw new SoundRefused('silent');
  return { scan, trim };
}

/** Finds the first audible sound, then decodes from the start of the excerpt, wherever that is in the upload. */
async function decodeFromStart(
  ffmpeg: Ffmpeg,
  directory: string,
  { demuxer, track, maxSeconds, start }: TrackOptions & { start: SoundStart },
): Promise<Cut> {
  const scan = await decode(ffmpeg, directory, { demuxer, track, seconds: MAX_DECODED_SECONDS });
  const firstSound = findFirstSound(scan);
  if (firstSound === undefined) throw new SoundRefused('silent');
  const frames = toFrames(start.startMs / 1000, SAMPLE_RATE);
  const startFrame = start.startFrom === 'file' ? Math.max(firstSound, frames) : firstSound + frames;
  const neededFrames = startFrame + toFrames(maxSeconds + SECONDS_AFTER_CUT, SAMPLE_RATE);
  if (neededFrames <= scan.frames) return keepFrom(scan, { maxSeconds, startFrame });
  const [decoded, searched] = [join(directory, DECODED_NAME), join(directory, SEARCHED_NAME)];
  await rename(decoded, searched);
  const seconds = maxSeconds + SECONDS_AFTER_CUT;
  const rest = await decode(ffmpeg, directory, { demuxer, track, seconds, startFrame });
  // Only this tells whether the upload goes on: the search may end early, since time stamps may have gaps.
  if (rest.frames > scan.frames - startFrame) return keepFrom(rest, { maxSeconds, startFrame: 0 });
  await rename(searched, decoded);
  return keepFrom(scan, { maxSeconds, startFrame });
}

function keepFrom(scan: PcmScan, options: { maxSeconds: number; startFrame: number }): Cut {
  const trim = decideTrim(scan, options);
  if (trim === undefined) throw new SoundRefused('start-after-end');
  return { scan, trim };
}

type Part = { demuxer: Demuxer; track: Track; seconds: number; startFrame?: number };

/** Decodes a part of the upload, which may end before `startFrame`. */
async function decode(ffmpeg: Ffmpeg, directory: string, part: Part): Promise<PcmScan> {
  await runOnUpload(ffmpeg, decodeJob(directory, part), part.track.deadlineMs);
  const scan = await scanPcm(join(directory, DECODED_NAME), DECODED_FORMAT);
  const isEmpty = scan.frames === 0 && part.startFrame === undefined;
  if (isEmpty || scan.invalidSamples > 0 || computePeak(scan) > LOUDEST_SAMPLE) {
    throw new SoundRefused('unreadable');
  }
  return scan;
}

/**
 * The only call that reads an uploaded file. The demuxer is fixed; other demuxers, protocols other than plain files, many
 * streams and long probing are refused by ffmpeg itself. Pictures, subtitles and data are not decoded.
 */
function decodeJob(directory: string, { demuxer, track, seconds, startFrame = 0 }: Part): FfmpegJob {
  const startSeconds = Math.ceil(startFrame / SAMPLE_RATE);
  // Trimmed by sample count, without `-t`: timestamps have gaps in a recording that was paused. Also before resampling,
  // because at very low sample rates a single frame can last hours.
  const toPcm = [
    `asetpts=N/SR/TB,atrim=end=${startSeconds + seconds + 1}`,
    `aresample=${SAMPLE_RATE},aformat=sample_fmts=flt:channel_layouts=stereo`,
    `atrim=start_sample=${startFrame}:end_sample=${startFrame + seconds * SAMPLE_RATE}`,
  ].join(',');
  return {
    directory,
    input: {
      name: UPLOAD_NAME,
      options: [
        ...QUIET,
        ...['-protocol_whitelist', 'file,pipe'],
        ...['-format_whitelist', 'mp3,wav,w64,aiff,ogg,flac,mov,matroska,aac,caf'],
        ...['-max_streams', '16', '-probesize', '5000000', '-analyzeduration', '5000000'],
        ...['-vn', '-sn', '-dn', '-f', demuxer],
        // The defaults, set explicitly: otherwise ffmpeg would open files that the upload names.
        ...(demuxer === 'mov' ? ['-enable_drefs', '0', '-use_absolute_path', '0'] : []),
      ],
    },
    output: {
      name: DECODED_NAME,
      options: [
        ...(track.index === undefined ? [] : ['-map', `0:a:${track.index}`]),
        ...['-af', toPcm, '-map_metadata', '-1', '-vn', '-sn', '-dn'],
        ...['-f', 'f32le', '-c:a', 'pcm_f32le', '-threads', '1', '-filter_threads', '1'],
      ],
    },
  };
}
