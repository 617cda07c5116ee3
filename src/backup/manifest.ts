import { join } from 'node:path';
import { isUploadKey, type SoundFolders, tryParseSoundFileName } from '../domain/round-sound.ts';
import { TarError } from './tar.ts';

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
export const MANIFEST_NAME = 'manifest.json';

/** A file of a sound, or of an upload that waits. */
export type FileEntry = { kind: 'sound'; fileName: string } | { kind: 'upload'; uploadKey: string };
/** The content of an entry, by its name. */
type EntryKind = FileEntry | { kind: 'table'; table: string } | { kind: 'manifest' };

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

/** @throws {TarError} when it is no manifest, or has a format that this version does not know. */
export function parseManifest(bytes: Uint8Array): Manifest {
  let manifest: Manifest;
  try {
    manifest = JSON.parse(new TextDecoder().decode(bytes));
  } catch (cause) {
    throw new TarError('is not a backup of this service', { cause });
  }
  const { format, formatVersion, productVersion } = manifest;
  if (format !== FORMAT) throw new TarError('is not a backup of this service');
  if (formatVersion === FORMAT_VERSION) return manifest;
  throw new TarError(
    `has format ${formatVersion}, and this version reads format ${FORMAT_VERSION}: use the version that made it (${productVersion})`,
  );
}
