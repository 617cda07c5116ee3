import { join } from 'node:path';
import { InvalidInput } from '../domain/errors.ts';
import { isUploadKey, type SoundFolders, tryParseSoundFileName } from '../domain/round-sound.ts';

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
  entries: BackupEntry[];
};
export type SequenceState = { name: string; lastValue: string; isCalled: boolean };
export type BackupEntry = { name: string; sizeBytes: number; sha256: string };

export const FORMAT = 'community-api backup';
export const FORMAT_VERSION = 1;
const NAME = /^[a-z0-9_]{1,63}$/;
const SHA256 = /^[0-9a-f]{64}$/;
const VERSION = /^[ -~]{1,100}$/;
/** A pattern for texts, otherwise the type of a value; a list has one schema for all items. */
const SCHEMA: Record<keyof Manifest, unknown> = {
  format: VERSION,
  formatVersion: 'number',
  takenAt: /^[0-9T:.+-]{20,40}$/,
  productVersion: VERSION,
  postgresVersion: VERSION,
  migrations: [/^[0-9a-z]{1,64}$/],
  tables: [{ name: NAME, rows: 'number' }],
  sequences: [{ name: NAME, lastValue: /^[0-9]{1,19}$/, isCalled: 'boolean' }],
  entries: [{ name: VERSION, sizeBytes: 'number', sha256: SHA256 }],
};

/** A file of a sound, or of an upload that waits. */
export type FileEntry = { kind: 'sound'; fileName: string } | { kind: 'upload'; uploadKey: string };
/** The content of an entry, by its name. */
export type EntryKind = FileEntry | { kind: 'table'; table: string } | { kind: 'manifest' };

export const MANIFEST_NAME = 'manifest.json';
const MIB = 1024 * 1024;
/** A part of a table has some megabytes, and an upload at most what SOUND_MAX_UPLOAD_MB may be. */
export const MAX_ENTRY_BYTES: Record<EntryKind['kind'], number> = {
  table: 256 * MIB,
  sound: 16 * MIB,
  upload: 512 * MIB,
  manifest: 20 * MIB,
};

/** @returns undefined for a name that no backup contains. */
export function findEntryKind(name: string): EntryKind | undefined {
  if (name === MANIFEST_NAME) return { kind: 'manifest' };
  const [, table] = /^tables\/([a-z_]{1,63})\/[0-9]{6,9}\.ndjson$/.exec(name) ?? [];
  if (table !== undefined) return { kind: 'table', table };
  const [, folder, file = ''] = /^(sounds|uploads)\/([^/]+)$/.exec(name) ?? [];
  if (folder === 'uploads') return isUploadKey(file) ? { kind: 'upload', uploadKey: file } : undefined;
  return tryParseSoundFileName(file) === undefined ? undefined : { kind: 'sound', fileName: file };
}

/** @param uploadName the name of the file in the folder of each upload. */
export function filePath(
  { published, inbox }: Pick<SoundFolders, 'published' | 'inbox'>,
  entry: FileEntry,
  uploadName: string,
): string {
  return entry.kind === 'sound' ? join(published, entry.fileName) : join(inbox, entry.uploadKey, uploadName);
}

/**
 * Reads a manifest.
 * @param file its name, for the error message.
 * @param entries how many other entries the archive has.
 * @throws {InvalidInput} when it is invalid or not complete, or has a format that this version does not know.
 */
export function parseManifest(
  bytes: Uint8Array,
  { file, entries }: { file: string; entries: number },
): Manifest {
  // Parsed, other JSON can take many times its length: ours has few values for each entry.
  const manifest = countValues(bytes) > 5 * entries + 10_000 ? undefined : readJson(bytes);
  if (manifest?.format !== FORMAT || !fits(manifest.productVersion, VERSION)) {
    throw new InvalidInput(`${file} is not a backup of this service`);
  }
  if (fits(manifest.formatVersion, 'number') && manifest.formatVersion !== FORMAT_VERSION) {
    throw new InvalidInput(
      `${file} has format ${manifest.formatVersion}, and this version reads format ${FORMAT_VERSION}: use the version that made it (${manifest.productVersion})`,
    );
  }
  if (!fits(manifest, SCHEMA) || Number.isNaN(Date.parse(manifest.takenAt)))
    throw new InvalidInput(`${file} was altered: its manifest is not complete`);
  return manifest;
}

/** At least as many as there are in the JSON. */
function countValues(bytes: Uint8Array): number {
  let count = 0;
  for (const byte of bytes) if (byte === 0x2c || byte === 0x5b || byte === 0x7b) count += 1;
  return count;
}

function readJson(bytes: Uint8Array): Manifest | undefined {
  try {
    return JSON.parse(new TextDecoder().decode(bytes));
  } catch {
    return undefined;
  }
}

function fits(value: unknown, schema: unknown): boolean {
  if (schema instanceof RegExp) return typeof value === 'string' && schema.test(value);
  if (schema === 'number') return Number.isSafeInteger(value);
  if (typeof schema === 'string') return typeof value === schema;
  if (Array.isArray(schema)) return Array.isArray(value) && value.every((item) => fits(item, schema[0]));
  const isObject = typeof value === 'object' && value !== null;
  return (
    isObject && Object.entries(schema ?? {}).every(([name, part]) => fits(Reflect.get(value, name), part))
  );
}
