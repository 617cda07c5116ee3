import { InvalidInput } from '../../src/domain/errors.ts';
import { createEmbeddedFfmpeg } from './embedded.ts';
import type { Ffmpeg, Log } from './ffmpeg.ts';
import { createNativeFfmpeg, OLDEST_VERSION } from './native.ts';

/**
 * Chooses the ffmpeg: the configured one, otherwise the system's (5.1 or newer, with the required filters), otherwise the
 * embedded one.
 * @param options.ffmpegPath the operator's `FFMPEG_PATH`.
 * @param options.systemName the program to look for in PATH otherwise; `ffmpeg` by default.
 * @throws {InvalidInput} when the configured ffmpeg cannot be used.
 */
export async function chooseFfmpeg(
  log: Log,
  { ffmpegPath, systemName = 'ffmpeg' }: { ffmpegPath?: string | undefined; systemName?: string },
): Promise<Ffmpeg> {
  const native = await createNativeFfmpeg(log, ffmpegPath ?? systemName);
  if (typeof native !== 'string') {
    log.info({ ffmpeg: native.description }, 'using a native ffmpeg');
    return native;
  }
  if (ffmpegPath !== undefined) {
    throw new InvalidInput(
      `FFMPEG_PATH=${JSON.stringify(ffmpegPath)} isn't valid: ${native}; use an ffmpeg of version ${OLDEST_VERSION.join('.')} or newer, or leave it unset`,
    );
  }
  log.info({ reason: native }, 'using the embedded ffmpeg');
  return createEmbeddedFfmpeg();
}
