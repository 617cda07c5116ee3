import { InvalidInput } from '../../src/domain/errors.ts';
import { createEmbeddedFfmpeg } from './embedded.ts';
import { type Ffmpeg, FfmpegError, type FfmpegLog } from './ffmpeg.ts';
import { createNativeFfmpeg, OLDEST_VERSION } from './native.ts';

/**
 * Chooses the ffmpeg: the configured one, otherwise the system's (5.1 or newer, with the required filters), otherwise the
 * embedded one. A native ffmpeg that vanishes later is replaced by the next choice, with a log line.
 * @param options.ffmpegPath the operator's `FFMPEG_PATH`.
 * @param options.systemName the program to look for in PATH otherwise; `ffmpeg` by default.
 * @param options.workDirectory the folder for the launcher script.
 * @throws {InvalidInput} when the configured ffmpeg cannot be used.
 */
export async function chooseFfmpeg(
  log: FfmpegLog,
  options: { ffmpegPath?: string | undefined; systemName?: string; workDirectory: string },
): Promise<Ffmpeg> {
  const { ffmpegPath, systemName = 'ffmpeg', workDirectory } = options;
  const native = await createNativeFfmpeg(log, { path: ffmpegPath ?? systemName, workDirectory });
  if (typeof native !== 'string') {
    log.info({ ffmpeg: native.description }, 'using a native ffmpeg');
    return replaceWhenMissing(log, native, workDirectory);
  }
  if (ffmpegPath !== undefined) {
    throw new InvalidInput(
      `FFMPEG_PATH=${JSON.stringify(ffmpegPath)} isn't valid: ${native}; use an ffmpeg of version ${OLDEST_VERSION.join('.')} or newer, or leave it unset`,
    );
  }
  log.info({ reason: native }, 'using the embedded ffmpeg');
  return createEmbeddedFfmpeg();
}

function replaceWhenMissing(log: FfmpegLog, first: Ffmpeg, workDirectory: string): Ffmpeg {
  let current = first;
  let isReplaced = false;
  return {
    get description() {
      return current.description;
    },
    async run(job, limits) {
      try {
        await current.run(job, limits);
      } catch (error) {
        if (isReplaced || !(error instanceof FfmpegError) || error.failure !== 'missing') throw error;
        isReplaced = true;
        log.warn({ ffmpeg: first.description }, 'ffmpeg is gone; looking for another one');
        current = await chooseFfmpeg(log, { workDirectory });
        await current.run(job, limits);
      }
    },
    close: () => current.close(),
  };
}
