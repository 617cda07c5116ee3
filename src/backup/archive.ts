import { createReadStream } from 'node:fs';
import { open, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGunzip, createGzip } from 'node:zlib';
import { errorCode, InvalidInput } from '../domain/errors.ts';
import { syncToDisk } from '../runtime/folder.ts';
import { type BackupEntry, type FileEntry, findEntryKind, type Manifest, parseManifest } from './manifest.ts';
import { hashOf, readTar, TarError } from './tar.ts';

/** The backup contains secrets. */
const OWNER_ONLY = 0o600;
const CHUNK_BYTES = 256 * 1024;

/** Failures that an operator can correct, by the error code of the file system. */
const OBSTACLES: Record<string, string> = {
  ENOENT: 'there is no such folder',
  ENOTDIR: 'there is no such folder',
  EACCES: 'permission denied',
  EPERM: 'permission denied',
  EROFS: 'the file system is read-only',
  ENOSPC: 'the disk is full',
  EDQUOT: 'the disk quota is exceeded',
  EFBIG: 'the file is too large',
};

/**
 * Writes a `.tar.gz` under a temporary name; `path` appears only when it is complete.
 * @throws {InvalidInput} when the file cannot be written; what `chunks` throws.
 */
export async function writeArchive(path: string, chunks: AsyncIterable<Uint8Array>): Promise<void> {
  // A random suffix, because a PID repeats in containers, where a killed backup may have left its file.
  const draft = `${path}.${crypto.randomUUID().slice(0, 8)}.partial`;
  try {
    const file = await open(draft, 'wx', OWNER_ONLY);
    await pipeline(Readable.from(chunks), createGzip(), file.createWriteStream());
    await syncToDisk(draft);
    await rename(draft, path);
    await syncToDisk(dirname(path));
  } catch (error) {
    await rm(draft, { force: true });
    const obstacle = OBSTACLES[errorCode(error)];
    throw obstacle === undefined ? error : new InvalidInput(`${path} cannot be written: ${obstacle}`);
  }
}

type Callbacks = {
  /** Called with a part of a table, some megabytes of rows, each a line of JSON. */
  onRows?: (table: string, lines: Buffer) => Promise<void>;
  /** Called with each sound file. */
  onFile?: (entry: FileEntry, content: Uint8Array) => Promise<void>;
  /** Called with the share of the file that has been read, 0 to 1. */
  onProgress?: ((share: number) => void) | undefined;
};

/**
 * Reads a whole backup, and verifies that every entry has a name of one of a backup, and the content that the manifest
 * says. What the callbacks get is verified only when this returns.
 * @throws {InvalidInput} when the file is not a backup, is incomplete or was altered. Also what the callbacks throw.
 */
export async function readArchive(file: string, callbacks: Callbacks = {}): Promise<Manifest> {
  const { size } = Bun.file(file);
  const source = createReadStream(file, { highWaterMark: CHUNK_BYTES });
  source.on('data', () => callbacks.onProgress?.(source.bytesRead / size));
  let manifest: Manifest | undefined;
  try {
    await pipeline(source, createGunzip({ chunkSize: CHUNK_BYTES }), async (chunks) => {
      manifest = await readEntries(chunks, callbacks);
    });
    if (manifest) return manifest;
  } catch (error) {
    if (errorCode(error) === 'ENOENT') throw new InvalidInput(`There is no file ${JSON.stringify(file)}`);
    const reason = error instanceof TarError ? error.message : FAILURES[errorCode(error)];
    throw reason === undefined ? error : new InvalidInput(`${file} ${reason}`, { cause: error });
  }
  throw new InvalidInput(`${file} is not a backup of this service, or not complete: it has no manifest`);
}

/** What the file system and the unpacking of gzip report. */
const FAILURES: Record<string, string> = {
  Z_BUF_ERROR: 'is not complete: it ends too early',
  ERR_STREAM_PREMATURE_CLOSE: 'is not complete: it ends too early',
  Z_DATA_ERROR: 'is damaged, or is not a backup of this service: it cannot be unpacked',
  EISDIR: 'cannot be read: EISDIR',
  EACCES: 'cannot be read: EACCES',
};

async function readEntries(
  chunks: AsyncIterable<Uint8Array>,
  { onRows, onFile }: Callbacks,
): Promise<Manifest | undefined> {
  const entries: BackupEntry[] = [];
  let manifest: Manifest | undefined;
  for await (const { name, content } of readTar(chunks)) {
    if (manifest) throw new TarError('was altered: it continues after its manifest');
    const entry = findEntryKind(name);
    if (!entry) throw new TarError('is not a backup of this service');
    if (entry.kind === 'manifest') manifest = parseManifest(content);
    else entries.push({ name, sizeBytes: content.length, sha256: hashOf(content) });
    if (entry.kind === 'table') await onRows?.(entry.table, content);
    if (entry.kind === 'sound' || entry.kind === 'upload') await onFile?.(entry, content);
  }
  if (!manifest) return undefined;
  const wrong = manifest.entries.find((entry, index) => !Bun.deepEquals(entry, entries[index]));
  if (wrong) throw new TarError(`was altered: ${wrong.name} is not what its manifest says`);
  if (manifest.entries.length < entries.length) throw new TarError('was altered: it has too many entries');
  return manifest;
}
