import { mkdtemp, rename, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createEmbeddedFfmpeg } from '../../../media/ffmpeg/embedded.ts';
import type { Ffmpeg, FfmpegLog } from '../../../media/ffmpeg/ffmpeg.ts';
import { RENDER_LIMITS } from '../../../media/ffmpeg/ffmpeg.ts';
import { createNativeFfmpeg } from '../../../media/ffmpeg/native.ts';
import packageJson from '../../../package.json';

export const SILENT_LOG: FfmpegLog = { info: () => undefined, warn: () => undefined };

/** Whether this machine has an ffmpeg of its own. CI must have one: there, its absence fails a test. */
export const HAS_NATIVE_FFMPEG = Bun.which('ffmpeg') !== null;

/** The engines to test here; the native one is left out (and shown as skipped) where there is none. */
export const ENGINES = ['native', 'embedded'] as const;
export type EngineName = (typeof ENGINES)[number];

/** What the fast half judges sounds with, which needs no program; `native.slow.test.ts` repeats that with the system's. */
export const JUDGED_ENGINES: readonly EngineName[] =
  process.env.JUDGED_ENGINE === 'native' ? ['native'] : ['embedded'];

export function isOnThisMachine(engine: EngineName): boolean {
  return engine === 'embedded' || HAS_NATIVE_FFMPEG;
}

export async function openEngine(engine: EngineName, workDirectory: string): Promise<Ffmpeg> {
  if (engine === 'embedded') return createEmbeddedFfmpeg();
  const native = await createNativeFfmpeg(SILENT_LOG, { path: 'ffmpeg', workDirectory });
  if (typeof native === 'string') throw new Error(native);
  return native;
}

/** Makes a folder for this test file; `remove` it at the end. */
export async function makeFolder(name: string): Promise<{ path: string; remove: () => Promise<void> }> {
  const path = await mkdtemp(join(tmpdir(), `${name}-`));
  return { path, remove: () => rm(path, { recursive: true, force: true }) };
}

/** Sounds that were encoded in earlier runs, by a hash of what they are made from. */
const ENCODED = fileURLToPath(new URL('../../../node_modules/.cache/test-sounds', import.meta.url));

/** Encodes a WAV with the embedded ffmpeg, so that no encoder has to be installed; each only once on a machine. */
export async function encode(
  ffmpeg: Ffmpeg,
  folder: string,
  request: { wav: Uint8Array; options: readonly string[]; extension: string },
): Promise<Uint8Array> {
  const recipe = JSON.stringify([
    packageJson.dependencies['@ffmpeg/core'],
    request.options,
    request.extension,
  ]);
  const hash = new Bun.CryptoHasher('sha256').update(recipe).update(request.wav).digest('hex');
  const kept = join(ENCODED, `${hash.slice(0, 32)}.${request.extension}`);
  if (await Bun.file(kept).exists()) return Bun.file(kept).bytes();
  const output = `encoded.${request.extension}`;
  await Bun.write(join(folder, 'source.wav'), request.wav);
  await ffmpeg.run(
    {
      directory: folder,
      input: { name: 'source.wav', options: ['-v', 'error', '-f', 'wav'] },
      output: { name: output, options: request.options },
    },
    RENDER_LIMITS,
  );
  const bytes = await Bun.file(join(folder, output)).bytes();
  // Two processes may encode the same sound at once.
  await Bun.write(`${kept}.${process.pid}`, bytes);
  await rename(`${kept}.${process.pid}`, kept);
  return bytes;
}
