import { createHash, type Hash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { pipeline } from 'node:stream/promises';
import { createGunzip } from 'node:zlib';
import { errorCode } from '../domain/error-causes.ts';
import { DomainError, InvalidInput } from '../domain/errors.ts';
import { isUploadKey } from '../domain/round-sound.ts';
import {
  type BackupEntry,
  type FileEntry,
  findEntryKind,
  MAX_ENTRY_BYTES,
  type Manifest,
  parseManifest,
} from './manifest.ts';
import { collect, readTar, TarError } from './tar.ts';

/** Called with the share of the file that has been read, 0 to 1. */
export type ReadProgress = (share: number) => void;

type Options = {
  /** Called with rows of a table, each a line of JSON, about a megabyte at a time. */
  onRows?: (table: string, lines: Buffer) => Promise<void>;
  /** Called with each sound file; reads the whole body. */
  onFile?: (entry: FileEntry, body: AsyncIterable<Uint8Array>) => Promise<void>;
  onProgress?: ReadProgress | undefined;
};

/** The first bytes of a gzip file. RFC 1952, section 2.3.1. */
const GZIP_MAGIC = '1f8b';
const CHUNK_BYTES = 256 * 1024;
const BATCH_BYTES = 1024 * 1024;
/** Longer than any row that the service writes. */
const MAX_ROW_BYTES = 4 * 1024 * 1024;
/** Left to itself, Bun collects garbage when it has several hundred megabytes. */
const MAX_GARBAGE_BYTES = 32 * 1024 * 1024;
/** What reading an entry takes besides its content, roughly. */
const ENTRY_GARBAGE_BYTES = 4096;
/** As many as a manifest has room for. */
const MAX_ENTRIES = 100_000;

/**
 * Reads a whole backup in little memory, and verifies every entry: it is a regular file with the name and the size of one
 * of a backup, and its content is what the manifest says. What the callbacks get is verified only when this returns.
 * @throws {InvalidInput} when the file is not a backup, is incomplete or was altered. Also what the callbacks throw.
 */
export async function readArchive(file: string, options: Options = {}): Promise<Manifest> {
  let manifest: Manifest | undefined;
  try {
    const { size } = Bun.file(file);
    const start = await Bun.file(file).slice(0, 2).bytes();
    if (start.toHex() !== GZIP_MAGIC)
      throw new TarError('is not a backup of this service: a backup is a .tar.gz file');
    const source = createReadStream(file, { highWaterMark: CHUNK_BYTES });
    source.on('data', () => options.onProgress?.(source.bytesRead / size));
    await pipeline(source, createGunzip({ chunkSize: CHUNK_BYTES }), async (chunks) => {
      manifest = await readEntries(chunks, options, file);
    });
  } catch (error) {
    throw toReadFailure(error, file);
  }
  if (manifest) return manifest;
  throw new InvalidInput(`${file} is not a backup of this service, or not complete: it has no manifest`);
}

async function readEntries(
  chunks: AsyncIterable<Uint8Array>,
  { onRows, onFile }: Options,
  file: string,
): Promise<Manifest | undefined> {
  const entries: BackupEntry[] = [];
  let manifest: Manifest | undefined;
  let garbageBytes = 0;
  for await (const { name, sizeBytes, body } of readTar(chunks)) {
    if (manifest) throw new TarError('was altered: it continues after its manifest');
    const entry = findEntryKind(name);
    if (!entry) throw new TarError('is not a backup of this service');
    if (sizeBytes > MAX_ENTRY_BYTES[entry.kind]) throw new TarError(`was altered: ${name} is too large`);
    if (entries.length > MAX_ENTRIES) throw new TarError('was altered: it has too many entries');
    if (entry.kind === 'manifest') {
      manifest = parseManifest(await collect(body), { file, entries: entries.length });
      continue;
    }
    const hash = createHash('sha256');
    const content = hashing(body, hash);
    if (entry.kind === 'table') {
      for await (const lines of wholeLines(content, name)) {
        if (entry.table === 'round_sounds') requireUploadKeys(lines, name);
        await onRows?.(entry.table, lines);
      }
    } else if (onFile) await onFile(entry, content);
    else for await (const _ of content);
    entries.push({ name, sizeBytes, sha256: hash.digest('hex') });
    garbageBytes += sizeBytes + ENTRY_GARBAGE_BYTES;
    if (garbageBytes < MAX_GARBAGE_BYTES) continue;
    Bun.gc(true);
    garbageBytes = 0;
  }
  if (manifest) requireSame(entries, manifest.entries);
  return manifest;
}

async function* hashing(body: AsyncIterable<Uint8Array>, hash: Hash): AsyncGenerator<Uint8Array, void> {
  for await (const chunk of body) {
    hash.update(chunk);
    yield chunk;
  }
}

/** About a megabyte at a time. */
async function* wholeLines(body: AsyncIterable<Uint8Array>, name: string): AsyncGenerator<Buffer, void> {
  let chunks: Uint8Array[] = [];
  let sizeBytes = 0;
  for await (const chunk of body) {
    chunks.push(chunk);
    sizeBytes += chunk.length;
    if (sizeBytes > MAX_ROW_BYTES) throw new TarError(`was altered: ${name} has a row that is too large`);
    if (sizeBytes < BATCH_BYTES || !chunk.includes(0x0a)) continue;
    const bytes = Buffer.concat(chunks);
    const end = bytes.lastIndexOf('\n') + 1;
    yield bytes.subarray(0, end);
    chunks = [bytes.subarray(end)];
    sizeBytes = bytes.length - end;
  }
  if (sizeBytes > 0) yield Buffer.concat(chunks);
}

/** The key of an upload names a folder. */
function requireUploadKeys(lines: Buffer, name: string): void {
  try {
    const rows: unknown[] = lines
      .toString()
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line).upload_key);
    if (rows.every(isUploadKey)) return;
  } catch {}
  throw new TarError(`was altered: ${name} has an upload_key that is not a UUID`);
}

function requireSame(actual: readonly BackupEntry[], expected: readonly BackupEntry[]): void {
  const wrong = expected.find((entry, index) => !Bun.deepEquals(entry, actual[index], true));
  if (wrong) throw new TarError(`was altered: ${wrong.name} is not what its manifest says`);
  if (actual.length === expected.length) return;
  throw new TarError(`was altered: it holds ${actual.length} entries instead of ${expected.length}`);
}

/** Failures of the file itself, by error code. */
const FAILURES: Record<string, string> = {
  Z_BUF_ERROR: 'is not complete: it ends too early',
  ERR_STREAM_PREMATURE_CLOSE: 'is not complete: it ends too early',
  Z_DATA_ERROR: 'is damaged: it cannot be unpacked',
  EISDIR: 'cannot be read: EISDIR',
  EACCES: 'cannot be read: EACCES',
};

function toReadFailure(error: unknown, file: string): unknown {
  if (error instanceof DomainError) return error;
  if (errorCode(error) === 'ENOENT') return new InvalidInput(`There is no file ${JSON.stringify(file)}`);
  const reason = error instanceof TarError ? error.message : FAILURES[errorCode(error)];
  return reason === undefined ? error : new InvalidInput(`${file} ${reason}`, { cause: error });
}
