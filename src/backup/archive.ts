import { createHash, type Hash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { open, rename, rm, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { getSystemErrorMap } from 'node:util';
import { createGunzip, createGzip } from 'node:zlib';
import { type Static, Type } from '@sinclair/typebox';
import { Value } from '@sinclair/typebox/value';
import { outageCodeOf } from '../db/client.ts';
import { errorCode, InvalidInput } from '../domain/errors.ts';
import { isUploadKey, MAX_UPLOAD_MB, type SoundEntry, tryParseSoundFileName } from '../domain/round-sound.ts';
import { syncToDisk } from '../runtime/folder.ts';
import { BadArchive, CONTINUES, drain, packEntry, readTar, TAR_END, TOO_SHORT } from './tar.ts';

const FORMAT = 'community-api backup';
const FORMAT_VERSION = 1;

/** The part of a manifest that is the same in every version of the format. */
const VERSIONS = Type.Object({
  format: Type.Literal(FORMAT),
  formatVersion: Type.Integer(),
  /** The version of the program that wrote it. */
  productVersion: Type.String({ maxLength: 64 }),
});
const Count = Type.Integer({ minimum: 0 });
const MANIFEST = Type.Object({
  ...VERSIONS.properties,
  /** The time of the snapshot, ISO 8601. */
  takenAt: Type.String({ pattern: '^[0-9]{4}-[01][0-9]-[0-3][0-9]T[0-9:.]{8,15}[+]00:00$' }),
  /** The version of the PostgreSQL server. */
  postgresVersion: Type.String(),
  /** The SHA-256 of each applied migration, in order; together they identify the schema. */
  migrations: Type.Array(Type.String()),
  /** Every table of the schema. */
  tables: Type.Array(Type.Object({ name: Type.String(), rows: Count })),
  /** Every other entry, in the order of the archive. */
  entries: Type.Array(Type.Object({ name: Type.String(), sizeBytes: Count, sha256: Type.String() })),
});

/** The last entry of a backup, which describes all others. */
export type Manifest = Static<typeof MANIFEST>;

const MANIFEST_NAME = 'manifest.json';
/** @returns undefined for a name that no entry of a backup has. */
export function findEntry(
  name: string,
): SoundEntry | { kind: 'table'; table: string } | { kind: 'manifest' } | undefined {
  if (name === MANIFEST_NAME) return { kind: 'manifest' };
  const [, table] = /^tables\/([a-z_]{1,63})\/[0-9]{6,9}\.ndjson$/.exec(name) ?? [];
  if (table !== undefined) return { kind: 'table', table };
  const [, folder, file = ''] = /^(sounds|uploads)\/([^/]+)$/.exec(name) ?? [];
  if (folder === 'sounds' && tryParseSoundFileName(file) !== undefined)
    return { kind: 'sound', fileName: file };
  if (folder === 'uploads' && isUploadKey(file)) return { kind: 'upload', key: file };
  return undefined;
}

/** The largest entries. Parts of tables are written in some megabytes; a sound of a minute is 1.4 MB. */
const MAX_MB = { table: 64, sound: 4, upload: MAX_UPLOAD_MB, manifest: 16 };
/** The longest line of a table. */
const MAX_ROW_MB = 8;
const MB = 1024 * 1024;
/** More than a manifest can list. */
const MAX_ENTRIES = 150_000;
/** More than a manifest of 16 MB needs; each may take a hundred bytes of memory when it is parsed. */
const MAX_JSON_PARTS = 750_000;
const SEPARATORS: ReadonlySet<number | undefined> = new Set(Buffer.from('[{:,'));

/** @throws {BadArchive} */
function requireSize(name: string, sizeBytes: number, maxMb: number): void {
  if (sizeBytes > maxMb * MB) throw new BadArchive(`was altered: ${name} is larger than ${maxMb} MB`);
}

/** The backup contains secrets. */
const OWNER_ONLY = 0o600;
const CHUNK_BYTES = 256 * 1024;

/**
 * Writes a `.tar.gz` under a temporary name; `path` appears only when it is complete.
 * @param about the rest of the manifest, which `entries` may complete while they are read.
 * @throws {InvalidInput} when the file cannot be written; what `entries` throws.
 */
export async function writeArchive(
  path: string,
  entries: AsyncIterable<{ name: string; content: Uint8Array }>,
  about: Omit<Manifest, 'format' | 'formatVersion' | 'entries'>,
): Promise<Manifest> {
  const manifest: Manifest = { format: FORMAT, formatVersion: FORMAT_VERSION, ...about, entries: [] };
  async function* pack() {
    for await (const { name, content } of entries) {
      manifest.entries.push({ name, sizeBytes: content.length, sha256: hashOf(content) });
      yield* packEntry(name, content);
    }
    const content = Buffer.from(JSON.stringify(manifest, null, 1));
    if (content.length > MAX_MB.manifest * MB)
      throw new InvalidInput('There are more sounds than a backup can list');
    yield* packEntry(MANIFEST_NAME, content);
    yield TAR_END;
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
export function systemMessage(error: unknown): string | undefined {
  const isOfFile = error instanceof Error && 'syscall' in error && outageCodeOf(error) === undefined;
  if (!isOfFile) return undefined;
  return [...getSystemErrorMap().values()].find(([code]) => code === errorCode(error))?.[1];
}

type Callbacks = {
  /**
   * Called with the rows of each table, some at a time, each a line of JSON.
   * @param from the entry they come from, and the number of the first line in it.
   */
  onRows?: (table: string, lines: string[], from: { name: string; line: number }) => Promise<void>;
  /** Called with each file, whose content has to be read to its end. */
  onFile?: (entry: SoundEntry, content: AsyncIterable<Buffer>) => Promise<void>;
  /** Called with the share of the file that has been read, 0 to 1. */
  onProgress?: ((share: number) => void) | undefined;
  signal?: AbortSignal | undefined;
};

/**
 * Reads a whole backup as a stream, and verifies that every entry has a name and size of one of a backup, and the content
 * and the number of rows that the manifest says. What the callbacks get is verified only when this returns.
 * @throws {InvalidInput} when the file is not a backup, is incomplete or was altered. Also what the callbacks throw.
 */
export async function readArchive(file: string, callbacks: Callbacks = {}): Promise<Manifest> {
  let manifest: Manifest | undefined;
  try {
    const stats = await stat(file);
    if (!stats.isFile()) throw new BadArchive('is not a regular file: a restore reads the backup twice');
    if (await isTar(file))
      throw new BadArchive('is a .tar that was unpacked, perhaps by a browser: gzip it again');
    const source = createReadStream(file, { highWaterMark: CHUNK_BYTES });
    source.on('data', () => callbacks.onProgress?.(source.bytesRead / stats.size));
    const gunzip = createGunzip({ chunkSize: CHUNK_BYTES });
    await pipeline(source, gunzip, async (chunks) => {
      manifest = await readEntries(chunks, callbacks);
    });
    // gunzip skips a few zeros after the end.
    if (gunzip.bytesWritten < stats.size) throw new BadArchive(CONTINUES);
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

const FOREIGN = 'is not a backup of this service';

const GZIP_FAILURES: Record<string, string> = {
  // The error of Bun's gunzip for more zeros after the end.
  ABORT_ERR: CONTINUES,
  Z_BUF_ERROR: TOO_SHORT,
  ERR_STREAM_PREMATURE_CLOSE: TOO_SHORT,
  Z_DATA_ERROR: 'is damaged, or is not a backup of this service: it cannot be unpacked',
};

/** https://pubs.opengroup.org/onlinepubs/9699919799/utilities/pax.html#tag_20_92_13_06 */
async function isTar(file: string): Promise<boolean> {
  return (await Bun.file(file).slice(257, 262).text()) === 'ustar';
}

async function readEntries(
  chunks: AsyncIterable<Buffer>,
  { onRows, onFile, signal }: Callbacks,
): Promise<Manifest | undefined> {
  const entries = new Map<string, Manifest['entries'][number]>();
  const rows = new Map<string, number>();
  let manifest: Manifest | undefined;
  for await (const { name, sizeBytes, content } of readTar(chunks)) {
    const entry = findEntry(name);
    if (manifest) throw new BadArchive('was altered: it continues after its manifest');
    if (!entry) throw new BadArchive(FOREIGN);
    requireSize(name, sizeBytes, MAX_MB[entry.kind]);
    if (entry.kind === 'manifest') {
      manifest = parseManifest(Buffer.concat(await Array.fromAsync(content)));
      continue;
    }
    const hash = createHash('sha256');
    const hashed = hashAll(content, hash, signal);
    if (entry.kind !== 'table') await onFile?.(entry, hashed);
    else {
      let line = 1;
      for await (const lines of readLines(name, hashed)) {
        await onRows?.(entry.table, lines, { name, line });
        line += lines.length;
      }
      rows.set(entry.table, (rows.get(entry.table) ?? 0) + line - 1);
    }
    await drain(hashed);
    if (entries.has(name) || entries.size === MAX_ENTRIES)
      throw new BadArchive(`was altered: it has ${name} twice`);
    entries.set(name, { name, sizeBytes, sha256: hash.digest('hex') });
  }
  if (manifest) requireListed(manifest, entries, rows);
  return manifest;
}

async function* hashAll(
  content: AsyncIterable<Buffer>,
  hash: Hash,
  signal: AbortSignal | undefined,
): AsyncGenerator<Buffer, void> {
  for await (const chunk of content) {
    signal?.throwIfAborted();
    hash.update(chunk);
    yield chunk;
  }
}

/** Whole lines, as many as each chunk completes. */
async function* readLines(name: string, content: AsyncIterable<Buffer>): AsyncGenerator<string[], void> {
  let unfinished: Buffer[] = [];
  let unfinishedBytes = 0;
  for await (const chunk of content) {
    const end = chunk.lastIndexOf('\n');
    if (end >= 0) {
      yield Buffer.concat([...unfinished, chunk.subarray(0, end)])
        .toString()
        .split('\n');
      [unfinished, unfinishedBytes] = [[], 0];
    }
    unfinished.push(chunk.subarray(end + 1));
    unfinishedBytes += chunk.length - end - 1;
    requireSize(`a row of ${name}`, unfinishedBytes, MAX_ROW_MB);
  }
  if (unfinishedBytes > 0) yield [Buffer.concat(unfinished).toString()];
}

function parseManifest(bytes: Buffer): Manifest {
  let parts = 0;
  for (let at = 0; at < bytes.length; at++) if (SEPARATORS.has(bytes[at])) parts += 1;
  if (parts > MAX_JSON_PARTS) throw new BadArchive('was altered: its manifest has too many parts');
  let manifest: unknown;
  try {
    manifest = JSON.parse(bytes.toString());
  } catch (cause) {
    throw new BadArchive(FOREIGN, { cause });
  }
  if (!Value.Check(VERSIONS, manifest)) throw new BadArchive(FOREIGN);
  const { formatVersion, productVersion } = manifest;
  if (formatVersion !== FORMAT_VERSION) {
    throw new BadArchive(
      `has format ${formatVersion}, and this version reads format ${FORMAT_VERSION}: use the version that made it (${productVersion})`,
    );
  }
  if (Value.Check(MANIFEST, manifest)) {
    if (Number.isNaN(Date.parse(manifest.takenAt)))
      throw new BadArchive('was altered: /takenAt of its manifest: Expected a time');
    return manifest;
  }
  const mistake = Value.Errors(MANIFEST, manifest).First();
  throw new BadArchive(`was altered: ${mistake?.path} of its manifest: ${mistake?.message}`);
}

/** @throws {BadArchive} unless these are the entries and the rows of each table that the manifest lists. */
function requireListed(
  manifest: Manifest,
  entries: Map<string, Manifest['entries'][number]>,
  rows: Map<string, number>,
): void {
  for (const entry of manifest.entries) {
    if (!Bun.deepEquals(entry, entries.get(entry.name)))
      throw new BadArchive(`was altered: ${entry.name} is not what its manifest says`);
    entries.delete(entry.name);
  }
  for (const { name, rows: listed } of manifest.tables) {
    const count = rows.get(name) ?? 0;
    if (count !== listed)
      throw new BadArchive(`was altered: it has ${count} rows of ${name}, and its manifest says ${listed}`);
    rows.delete(name);
  }
  const [unlisted] = [...entries.keys(), ...rows.keys()];
  if (unlisted !== undefined) throw new BadArchive(`was altered: its manifest does not list ${unlisted}`);
}

/** SHA-256, hexadecimal. */
export function hashOf(content: Uint8Array): string {
  return createHash('sha256').update(content).digest('hex');
}
