import { mkdtemp, rename, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createEmbeddedFfmpeg } from '../../../media/ffmpeg/embedded.ts';
import { type Ffmpeg, type Log, RENDER_LIMITS } from '../../../media/ffmpeg/ffmpeg.ts';
import { createNativeFfmpeg } from '../../../media/ffmpeg/native.ts';
import packageJson from '../../../package.json';
import { UPLOAD_NAME } from '../../../src/domain/round-sound.ts';

const silent = () => undefined;
export const SILENT_LOG: Log = { info: silent, warn: silent, error: silent };

/** Whether an ffmpeg is installed on this machine. CI must have one: there, its absence fails a test. */
export const HAS_NATIVE_FFMPEG = Bun.which('ffmpeg') !== null;

/** The engines to test here; the native one is left out (and shown as skipped) where there is none. */
export const ENGINES = ['native', 'embedded'] as const;
export type EngineName = (typeof ENGINES)[number];

/** What sounds are judged with: no program in the fast half, that of the system in `native.slow.test.ts`. */
export const JUDGED_ENGINE: EngineName = process.env.JUDGED_ENGINE === 'native' ? 'native' : 'embedded';

/** What the service chooses on this machine. */
export const USUAL_ENGINE: EngineName = HAS_NATIVE_FFMPEG ? 'native' : 'embedded';

export function isOnThisMachine(engine: EngineName): boolean {
  return engine === 'embedded' || HAS_NATIVE_FFMPEG;
}

export async function openEngine(engine: EngineName): Promise<Ffmpeg> {
  if (engine === 'embedded') return createEmbeddedFfmpeg();
  const native = await createNativeFfmpeg(SILENT_LOG, 'ffmpeg');
  if (typeof native === 'string') throw new Error(native);
  return native;
}

/** Sounds that were encoded in earlier runs, by a hash of what they are made from. */
const ENCODED = fileURLToPath(new URL('../../../node_modules/.cache/test-sounds', import.meta.url));

/** Encodes a WAV with the embedded ffmpeg, so that no encoder has to be installed; each only once on a machine. */
export async function encode(
  wav: Uint8Array,
  extension: string,
  options: readonly string[],
): Promise<Uint8Array> {
  const recipe = JSON.stringify([packageJson.dependencies['@ffmpeg/core'], options, extension]);
  const hash = new Bun.CryptoHasher('sha256').update(recipe).update(wav).digest('hex');
  const kept = join(ENCODED, `${hash.slice(0, 32)}.${extension}`);
  if (await Bun.file(kept).exists()) return Bun.file(kept).bytes();
  const folder = await mkdtemp(join(tmpdir(), 'encode-'));
  await Bun.write(join(folder, 'source.wav'), wav);
  const bytes = await convert(folder, ['source.wav', 'wav'], [`encoded.${extension}`, ...options]);
  await rm(folder, { recursive: true });
  // Two processes may encode the same sound at once.
  await Bun.write(`${kept}.${process.pid}`, bytes);
  await rename(`${kept}.${process.pid}`, kept);
  return bytes;
}

/** What the embedded ffmpeg makes of a file. */
export async function convert(
  directory: string,
  [name, format]: [string, string],
  [output, ...options]: [string, ...string[]],
): Promise<Uint8Array> {
  const ffmpeg = createEmbeddedFfmpeg();
  const input = { name, options: ['-v', 'error', '-f', format] };
  await ffmpeg.run({ directory, input, output: { name: output, options } }, RENDER_LIMITS);
  await ffmpeg.close();
  return Bun.file(join(directory, output)).bytes();
}

/** A folder inside this one, as the service makes for an upload. */
export async function makeUpload(folder: string, bytes: Uint8Array): Promise<string> {
  const directory = join(folder, Bun.randomUUIDv7());
  await Bun.write(join(directory, UPLOAD_NAME), bytes);
  return directory;
}
