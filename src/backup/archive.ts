import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { open, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { getSystemErrorMap } from 'node:util';
import { createGunzip, createGzip } from 'node:zlib';
import { outageCodeOf } from '../db/client.ts';
import { errorCode, InvalidInput } from '../domain/errors.ts';
import { isUploadKey, type SoundFolders, tryParseSoundFileName, UPLOAD_NAME } from '../domain/round-sound.ts';
import { syncToDisk } from '../runtime/folder.ts';

/** The last entry of a backup, which describes all others. */
export type Manifest = {
  format: string;
  formatVersion: number;
  /** The time of the snapshot, ISO 8601. */
  takenAt: string;
  /** Versions of the program that wrote it, and of the PostgreSQL server. */
  productVersion: string;
  postgresVersion: string;
  /** The SHA-256 of each applied migration, in order; together they identify the schema. */
  migrations: string[];
  /** In loading order: no table references a later one. */
  tables: { name: string; rows: number }[];
  sequences: SequenceState[];
  /** Every other entry, in the order of the archive. */
  entries: { name: string; sizeBytes: number; sha256: string }[];
};
export type SequenceState = { name: string; lastValue: string; isCalled: boolean };

/** A database of this service, and its folders of sounds. */
export type BackupPlace = { databaseUrl: string; folders: SoundFolders };

const FORMAT = 'community-api backup';
const FORMAT_VERSION = 1;
const MANIFEST_NAME = 'manifest.json';

/** A file of a sound or a queued upload, by its path in these folders; or a part of a table. */
export type FileEntry = { kind: 'sound' | 'upload'; pathIn: (folders: FileFolders) => string };
type ContentEntry = FileEntry | { kind: 'table'; table: string };
type FileFolders = Pick<SoundFolders, 'published' | 'inbox'>;

/** @returns undefined for a name that no content of a backup has. */
export function findEntry(name: string): ContentEntry | undefined {
  const [, table] = /^tables\/([a-z_]{1,63})\/[0-9]{6,9}\.ndjson$/.exec(name) ?? [];
  if (table !== undefined) return { kind: 'table', table };
  const [, folder, file = ''] = /^(sounds|uploads)\/([^/]+)$/.exec(name) ?? [];
  if (folder === 'sounds' && tryParseSoundFileName(file) !== undefined)
    return { kind: 'sound', pathIn: ({ published }) => join(published, file) };
  if (folder === 'uploads' && isUploadKey(file))
    return { kind: 'upload', pathIn: ({ inbox }) => join(inbox, file, UPLOAD_NAME) };
  return undefined;
}

/** The backup contains secrets. */
const OWNER_ONLY = 0o600;
const CHUNK_BYTES = 256 * 1024;

type Entry = { name: string; content: Uint8Array };

/**
 * Writes a `.tar.gz` under a temporary name; `path` appears only when it is complete.
 * @param about the rest of the manifest, which `entries` may complete while they are read.
 * @throws {InvalidInput} when the file cannot be written; what `entries` throws.
 */
export async function writeArchive(
  path: string,
  entries: AsyncIterable<Entry>,
  about: Omit<Manifest, 'format' | 'formatVersion' | 'entries'>,
): Promise<Manifest> {
  const manifest: Manifest = { format: FORMAT, formatVersion: FORMAT_VERSION, ...about, entries: [] };
  async function* pack() {
    for await (const { name, content } of entries) {
      manifest.entries.push({ name, sizeBytes: content.length, sha256: hashOf(content) });
      yield* packEntry(name, content);
    }
    yield* packEntry(MANIFEST_NAME, Buffer.from(JSON.stringify(manifest, null, 1)));
    yield Buffer.alloc(2 * BLOCK_BYTES);
  }
  // A random suffix, because a PID repeats in containers, where a killed backup may have left its file.
  const draft = `${path}.${crypto.randomUUID().slice(0, 8)}.partial`;
  try {
    const file = await open(draft, 'wx', OWNER_ONLY);
    await pipeline(Readable.from(pack()), createGzip(), file.createWriteStream());
    await syncToDisk(draft);
    await rename(draft, path);
    await syncToDisk(dirname(path));
    return manifest;
  } catch (error) {
    await rm(draft, { force: true });
    const obstacle = systemMessage(error);
    throw obstacle === undefined ? error : new InvalidInput(`${path} cannot be written: ${obstacle}`);
  }
}

/** What the system calls a failure of a file, such as "permission denied"; undefined for other errors. */
function systemMessage(error: unknown): string | undefined {
  const isOfFile = error instanceof Error && 'syscall' in error && outageCodeOf(error) === undefined;
  if (!isOfFile) return undefined;
  return [...getSystemErrorMap().values()].find(([code]) => code === errorCode(error))?.[1];
}

type Callbacks = {
  /** Called with each sound file, and with each part of a table: some megabytes of rows, each a line of JSON. */
  onEntry?: (entry: ContentEntry, content: Buffer) => Promise<void>;
  /** Called with the share of the file that has been read, 0 to 1. */
  onProgress?: ((share: number) => void) | undefined;
};

/** The file is no backup, or not as it was written; the message follows its name. */
class BadArchive extends Error {}

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
    const obstacle = systemMessage(error);
    const failure = obstacle ? `cannot be read: ${obstacle}` : GZIP_FAILURES[errorCode(error)];
    const reason = error instanceof BadArchive ? error.message : failure;
    throw reason === undefined ? error : new InvalidInput(`${file} ${reason}`, { cause: error });
  }
  throw new InvalidInput(`${file} is not a backup of this service, or not complete: it has no manifest`);
}

const TOO_SHORT = 'is not complete: it ends too early';
const FOREIGN = 'is not a backup of this service';

const GZIP_FAILURES: Record<string, string> = {
  Z_BUF_ERROR: TOO_SHORT,
  ERR_STREAM_PREMATURE_CLOSE: TOO_SHORT,
  Z_DATA_ERROR: 'is damaged, or is not a backup of this service: it cannot be unpacked',
};

async function readEntries(
  chunks: AsyncIterable<Uint8Array>,
  { onEntry }: Callbacks,
): Promise<Manifest | undefined> {
  const entries: Manifest['entries'] = [];
  let manifest: Manifest | undefined;
  for await (const { name, content } of readTar(chunks)) {
    if (manifest) throw new BadArchive('was altered: it continues after its manifest');
    if (name === MANIFEST_NAME) {
      manifest = parseManifest(content);
      continue;
    }
    const entry = findEntry(name);
    if (!entry) throw new BadArchive(FOREIGN);
    entries.push({ name, sizeBytes: content.length, sha256: hashOf(content) });
    await onEntry?.(entry, content);
  }
  if (!manifest) return undefined;
  const wrong = manifest.entries.find((entry, index) => !Bun.deepEquals(entry, entries[index]));
  if (wrong) throw new BadArchive(`was altered: ${wrong.name} is not what its manifest says`);
  if (manifest.entries.length < entries.length) throw new BadArchive('was altered: it has too many entries');
  return manifest;
}

function parseManifest(bytes: Buffer): Manifest {
  let manifest: Manifest;
  try {
    manifest = JSON.parse(bytes.toString());
  } catch (cause) {
    throw new BadArchive(FOREIGN, { cause });
  }
  const { format, formatVersion, productVersion } = manifest;
  if (format !== FORMAT) throw new BadArchive(FOREIGN);
  if (formatVersion === FORMAT_VERSION) return manifest;
  throw new BadArchive(
    `has format ${formatVersion}, and this version reads format ${FORMAT_VERSION}: use the version that made it (${productVersion})`,
  );
}

/** SHA-256, hexadecimal. */
export function hashOf(content: Uint8Array): string {
  return createHash('sha256').update(content).digest('hex');
}

const BLOCK_BYTES = 512;
const REGULAR_FILE = '0';

/**
 * An entry as the bytes of a tar archive. https://pubs.opengroup.org/onlinepubs/9699919799/utilities/pax.html#tag_20_92_13_06
 * @param name ASCII, at most 100 characters.
 */
function packEntry(name: string, content: Uint8Array): Uint8Array[] {
  const header = Buffer.alloc(BLOCK_BYTES);
  header.write(name, 0);
  header.write('0000600\0', 100);
  header.write(toOctal(content.length, 11), 124);
  header.write(toOctal(Math.floor(Date.now() / 1000), 11), 136);
  header.write(REGULAR_FILE, 156);
  header.write('ustar\x0000', 257);
  // The sum of all bytes, with the checksum itself taken as spaces.
  header.write(' '.repeat(8), 148);
  const checksum = header.reduce((sum, byte) => sum + byte, 0);
  header.write(`${toOctal(checksum, 6)}\0 `, 148);
  return [header, content, Buffer.alloc(paddingOf(content.length))];
}

/** Reads an archive of regular files with short names, as {@link packEntry} writes them. */
async function* readTar(
  chunks: AsyncIterable<Uint8Array>,
): AsyncGenerator<{ name: string; content: Buffer }, void> {
  const source = chunks[Symbol.asyncIterator]();
  let unread: Uint8Array = new Uint8Array();

  async function read(sizeBytes: number): Promise<Buffer> {
    const parts: Uint8Array[] = [];
    for (let missingBytes = sizeBytes; missingBytes > 0; ) {
      if (unread.length === 0) {
        const { done, value } = await source.next();
        if (done) throw new BadArchive(TOO_SHORT);
        unread = value;
      }
      const part = unread.subarray(0, missingBytes);
      unread = unread.subarray(part.length);
      missingBytes -= part.length;
      parts.push(part);
    }
    return Buffer.concat(parts, sizeBytes);
  }

  for (;;) {
    const header = await read(BLOCK_BYTES);
    if (header.every((byte) => byte === 0)) break;
    const [, size] = /^([0-7]{11})[\0 ]$/.exec(header.toString('latin1', 124, 136)) ?? [];
    if (!size || header.toString('latin1', 156, 157) !== REGULAR_FILE) {
      throw new BadArchive('was altered: it has an entry that is not a regular file');
    }
    const sizeBytes = Number.parseInt(size, 8);
    yield { name: header.toString('latin1', 0, header.indexOf(0)), content: await read(sizeBytes) };
    await read(paddingOf(sizeBytes));
  }
  // To the end, where gzip has its checksum.
  while (!(await source.next()).done);
}

function toOctal(value: number, digits: number): string {
  return value.toString(8).padStart(digits, '0');
}

function paddingOf(sizeBytes: number): number {
  return (BLOCK_BYTES - (sizeBytes % BLOCK_BYTES)) % BLOCK_BYTES;
}
