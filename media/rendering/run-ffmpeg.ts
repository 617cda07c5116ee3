import type { RoundSoundFailure } from '../../src/domain/round-sound.ts';
import { isDiskTrouble } from '../disk-trouble.ts';
import { type Ffmpeg, FfmpegError, type FfmpegJob, RENDER_LIMITS } from '../ffmpeg/ffmpeg.ts';

/** Begins every call: no banner, no questions, one thread. */
export const QUIET = ['-hide_banner', '-nostdin', '-v', 'error', '-threads', '1'];

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

/**
 * A call whose failure is the upload's fault, unless ffmpeg could not be started or the disk is to blame.
 * @throws {SoundRefused} {FfmpegError}
 */
export async function runOnUpload(ffmpeg: Ffmpeg, job: FfmpegJob): Promise<void> {
  try {
    await runOnOwn(ffmpeg, job);
  } catch (error) {
    const isRejected = error instanceof FfmpegError && error.failure === 'rejected';
    if (!isRejected || isDiskTrouble(error)) throw error;
    throw new SoundRefused('unreadable', { cause: error });
  }
}

/**
 * A call on files that we made: that ffmpeg rejects them, half written on a full disk, is no fault of the upload.
 * @throws {SoundRefused} only when it takes more time or memory than a sound may; {FfmpegError}
 */
export async function runOnOwn(ffmpeg: Ffmpeg, job: FfmpegJob): Promise<void> {
  try {
    await ffmpeg.run(job, RENDER_LIMITS);
  } catch (error) {
    if (!(error instanceof FfmpegError) || error.failure !== 'overran') throw error;
    throw new SoundRefused('too-complex', { cause: error });
  }
}
