import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { open, stat } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGunzip } from 'node:zlib';
import { createTarDecoder } from 'modern-tar';
import { errorCauses, errorCode, hasErrorCode } from '../domain/error-causes.ts';
import { InvalidInput } from '../domain/errors.ts';
import { type BackupEntry, findEntryKind, MANIFEST_NAME, type Manifest, parseManifest } from './manifest.ts';

/** Called with the share of the file that has been read, 0 to 1. */
export type ReadProgress = (share: number) => void;

type Options = {
  /** Called for every entry except the manifest, in order. */
  onEntry?: (name: string, bytes: Uint8Array) => Promise<void>;
  onProgress?: ReadProgress | undefined;
};

/** The first bytes of a gzip file. RFC 1952, section 2.3.1. */
const GZIP_MAGIC = [0x1f, 0x8b];

/**
 * Reads a whole backup and verifies every entry against the manifest.
 * @throws {InvalidInput} when the file is not a backup, is incomplete or was altered. Also what `onEntry` throws.
 */
export async function readArchive(file: string, { onEntry, onProgress }: Options = {}): Promise<Manifest> {
  await requireGzip(file);
  const found: BackupEntry[] = [];
  let manifest: Manifest | undefined;
  let entryFailure: unknown;
  try {
    for await (const { name, bytes } of decode(file, onProgress)) {
      if (manifest) throw new InvalidInput(`${file} was altered: it continues after its manifest`);
      if (name === MANIFEST_NAME) {
        manifest = parseManifest(bytes, file);
        continue;
      }
      if (!findEntryKind(name)) throw new InvalidInput(`${file} is not a backup of this service`);
      found.push({ name, sizeBytes: bytes.byteLength, sha256: hash(bytes) });
      await onEntry?.(name, bytes).catch((error: unknown) => {
        entryFailure = error;
        throw error;
      });
    }
  } catch (error) {
    throw error === entryFailure ? error : toReadFailure(error, file);
  }
  if (!manifest) {
    throw new InvalidInput(`${file} is not a backup of this service, or not complete: it has no manifest`);
  }
  requireSame(found, manifest.entries, file);
  return manifest;
}

async function requireGzip(file: string): Promise<void> {
  try {
    const handle = await open(file, 'r');
    try {
      const { buffer, bytesRead } = await handle.read(
        Buffer.alloc(GZIP_MAGIC.length),
        0,
        GZIP_MAGIC.length,
        0,
      );
      if (bytesRead === GZIP_MAGIC.length && GZIP_MAGIC.every((byte, index) => buffer[index] === byte))
        return;
    } finally {
      await handle.close();
    }
  } catch (error) {
    if (hasErrorCode(error, ['ENOENT'])) throw new InvalidInput(`There is no file ${JSON.stringify(file)}`);
    if (hasErrorCode(error, ['EISDIR', 'EACCES']))
      throw new InvalidInput(`${file} cannot be read: ${errorCode(error)}`);
    throw error;
  }
  throw new InvalidInput(`${file} is not a backup of this service: a backup is a .tar.gz file`);
}

/** Yields whole entries in order: each is at most as large as an upload, or some megabytes of a table. */
async function* decode(
  file: string,
  onProgress?: ReadProgress,
): AsyncGenerator<{ name: string; bytes: Uint8Array }> {
  const { size } = await stat(file);
  let readBytes = 0;
  const source = createReadStream(file);
  source.on('data', (chunk) => {
    readBytes += chunk.length;
    onProgress?.(readBytes / Math.max(size, 1));
  });
  const decoder = createTarDecoder({ strict: true });
  const unpacked = createGunzip();
  const piped = pipeline(source, unpacked, async (chunks) => {
    const writer = decoder.writable.getWriter();
    for await (const chunk of chunks) await writer.write(chunk);
    await writer.close();
  });
  const failed = piped.then(() => new Promise<never>(() => {}));
  failed.catch(() => {});
  const entries = decoder.readable.getReader();
  try {
    for (;;) {
      const { done, value } = await Promise.race([entries.read(), failed]);
      if (done) break;
      const bytes = await Promise.race([new Response(value.body).bytes(), failed]);
      yield { name: value.header.name, bytes };
    }
    await piped;
  } finally {
    source.destroy();
    Readable.prototype.destroy.call(unpacked);
  }
}

function toReadFailure(error: unknown, file: string): unknown {
  if (error instanceof InvalidInput) return error;
  for (const cause of errorCauses(error)) {
    const code = errorCode(cause);
    if (code === 'Z_BUF_ERROR' || code === 'ERR_STREAM_PREMATURE_CLOSE') {
      return new InvalidInput(`${file} is not complete: it ends too early`, { cause: error });
    }
    if (['EIO', 'EACCES', 'ENOENT'].includes(code)) return error;
  }
  return new InvalidInput(`${file} is damaged: it cannot be unpacked`, { cause: error });
}

function requireSame(found: readonly BackupEntry[], expected: readonly BackupEntry[], file: string): void {
  const wrong = expected.find(
    ({ name, sha256 }, index) => found[index]?.name !== name || found[index].sha256 !== sha256,
  );
  if (wrong) throw new InvalidInput(`${file} was altered: ${wrong.name} is not what its manifest says`);
  if (found.length !== expected.length) {
    throw new InvalidInput(
      `${file} was altered: it holds ${found.length} entries instead of ${expected.length}`,
    );
  }
}

function hash(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}
