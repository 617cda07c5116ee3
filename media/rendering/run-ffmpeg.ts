import { join } from 'node:path';
import type { RoundSoundFailure } from '../../src/domain/round-sound.ts';
import { hashFile } from '../../src/runtime/folder.ts';
import { isDiskTrouble } from '../disk-trouble.ts';
import {
  type Ffmpeg,
  FfmpegError,
  type FfmpegJob,
  type FfmpegLimits,
  RENDER_LIMITS,
} from '../ffmpeg/ffmpeg.ts';

/** The first options of every call: no banner, no prompts, one thread. */
export const QUIET = ['-hide_banner', '-nostdin', '-v', 'error', '-threads', '1'];

/** The upload cannot become a sound; `reason` is shown to the player. */
export class SoundRefused extends Error {
  override name = 'SoundRefused';

  constructor(
    readonly reason: RoundSoundFailure,
    options?: ErrorOptions,
  ) {
    super(`the sound is refused: ${reason}`, options);
  }
}

/**
 * Runs a job whose failure is caused by the upload, unless ffmpeg could not be started, ran out of time, or the disk
 * failed. Whether the disk can be read is tried here: ffmpeg does not tell a failing disk from a file that ends too early.
 * @param deadlineMs by the monotonic clock, for calls that share a time limit.
 * @throws {SoundRefused} when the upload is the cause · {FfmpegError} otherwise.
 */
export async function runOnUpload(ffmpeg: Ffmpeg, job: FfmpegJob, deadlineMs: number): Promise<void> {
  try {
    await runOnOwn(ffmpeg, job, { wallMs: Math.max(1, deadlineMs - performance.now()) });
  } catch (error) {
    const isRejected = error instanceof FfmpegError && error.failure === 'rejected';
    if (!isRejected || isDiskTrouble(error)) throw error;
    await hashFile(join(job.directory, job.input.name));
    throw new SoundRefused('unreadable', { cause: error });
  }
}

/**
 * Runs a job on files that an earlier job wrote: a failure (such as a full disk) is not caused by the upload.
 * @throws {SoundRefused} when the job exceeds the limits on processor time or memory · {FfmpegError} for any other failure.
 */
export async function runOnOwn(
  ffmpeg: Ffmpeg,
  job: FfmpegJob,
  limits: Partial<FfmpegLimits> = {},
): Promise<void> {
  try {
    await ffmpeg.run(job, { ...RENDER_LIMITS, ...limits });
  } catch (error) {
    if (!(error instanceof FfmpegError) || error.failure !== 'overran') throw error;
    throw new SoundRefused('too-complex', { cause: error });
  }
}
