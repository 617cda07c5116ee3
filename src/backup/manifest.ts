import { InvalidInput } from '../domain/errors.ts';

/** The last entry of a backup, which describes all others. */
export type Manifest = {
  format: typeof FORMAT;
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

/** The names of entries. */
export const MANIFEST_NAME = 'manifest.json';
export const tablePart = (table: string, part: number): string =>
  `tables/${table}/${String(part).padStart(6, '0')}.ndjson`;
export const soundEntry = (fileName: string): string => `sounds/${fileName}`;
export const uploadEntry = (uploadKey: string): string => `uploads/${uploadKey}`;

/** The content of an entry. */
export type EntryKind =
  | { kind: 'table'; table: string }
  | { kind: 'sound'; fileName: string }
  | { kind: 'upload'; uploadKey: string };

/** @returns undefined for a name that no backup contains. */
export function findEntryKind(name: string): EntryKind | undefined {
  const [, table] = /^tables\/([a-z_]{1,63})\/[0-9]{6,}\.ndjson$/.exec(name) ?? [];
  if (table !== undefined) return { kind: 'table', table };
  const [, fileName] = /^sounds\/([0-9]{17}(?:\.voice)?\.mp3)$/.exec(name) ?? [];
  if (fileName !== undefined) return { kind: 'sound', fileName };
  const [, uploadKey] = /^uploads\/([0-9a-f-]{36})$/.exec(name) ?? [];
  return uploadKey === undefined ? undefined : { kind: 'upload', uploadKey };
}

/**
 * Reads a manifest.
 * @param file its name, for the error message.
 * @throws {InvalidInput} when it is invalid or not complete, or has a format that this version does not know.
 */
export function parseManifest(bytes: Uint8Array, file: string): Manifest {
  const manifest = readJson(bytes);
  if (manifest?.format !== FORMAT) {
    throw new InvalidInput(`${file} is not a backup of this service`);
  }
  if (manifest.formatVersion !== FORMAT_VERSION) {
    throw new InvalidInput(
      `${file} has format ${manifest.formatVersion}, and this version reads format ${FORMAT_VERSION}: use the version that made it (${manifest.productVersion})`,
    );
  }
  const lists: unknown[] = [manifest.migrations, manifest.tables, manifest.sequences, manifest.entries];
  const isComplete = lists.every((list) => Array.isArray(list) && !list.includes(null));
  if (!isComplete || Number.isNaN(Date.parse(manifest.takenAt)))
    throw new InvalidInput(`${file} was altered: its manifest is not complete`);
  return manifest;
}

function readJson(bytes: Uint8Array): Manifest | undefined {
  try {
    return JSON.parse(new TextDecoder().decode(bytes));
  } catch {
    return undefined;
  }
}
