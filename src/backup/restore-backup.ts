import type { Logger } from 'pino';
import { type Connection, connect, type Transaction } from '../db/client.ts';
import { loadMigrationHashes, MIGRATION_HASHES, migrateDatabase } from '../db/migrate.ts';
import { hasErrorCode } from '../domain/error-causes.ts';
import { InvalidInput } from '../domain/errors.ts';
import { type ReadProgress, readArchive } from './archive-reader.ts';
import { findEntryKind, type Manifest } from './manifest.ts';
import {
  openRestoredSounds,
  placeRestoredSounds,
  type RestoredSounds,
  removeLeftBehind,
} from './restore-sounds.ts';
import { beginTables } from './restore-tables.ts';
import { describeContents, requireFittingSchema, requireNobody } from './restore-target.ts';
import type { SoundFolders } from './sound-links.ts';
import { listTables } from './tables.ts';

export type RestoreTarget = { databaseUrl: string; folders: SoundFolders; uploadName: string };

export type RestoreOptions = {
  log: Logger;
  /** Called before data is replaced; throws to cancel. Undefined: only an empty database is accepted. */
  confirmLoss?: ((contents: string, manifest: Manifest) => Promise<void>) | undefined;
  onStep?: (step: 'checking' | 'restoring') => void;
  onProgress?: ReadProgress;
  signal?: AbortSignal | undefined;
};

export type RestoreReport = Manifest & {
  /** The number of tallies that were wrong in the backup; they have been corrected. */
  wrongTotals: number;
  /** How many people were erased in this database after the backup was made; they are in it again. */
  erasedSince: number;
};

const LOCK_NOT_AVAILABLE = '55P03';

/**
 * Replaces the contents of the database and the sound folders with a backup, completely or not at all. The whole file
 * is verified before anything is changed.
 * @throws {InvalidInput} when the file is invalid, the schemas do not match, or the database is in use or not empty.
 */
export async function restoreBackup(
  file: string,
  { databaseUrl, folders, uploadName }: RestoreTarget,
  { log, confirmLoss, onStep, onProgress, signal }: RestoreOptions,
): Promise<RestoreReport> {
  onStep?.('checking');
  const manifest = await readArchive(file, { onProgress });
  const connection = connect(databaseUrl, {
    max: 1,
    applicationName: 'restore',
    statementTimeoutMs: 0,
    keepsSession: true,
  });
  try {
    const applied = await loadMigrationHashes(connection);
    requireFittingSchema(file, manifest, applied);
    await requireNobody(connection);
    const contents = await describeContents(connection, await listTables(connection));
    if (contents !== undefined) {
      if (!confirmLoss) {
        throw new InvalidInput(
          `The database is not empty (${contents}): use --replace to replace everything in it`,
        );
      }
      await confirmLoss(contents, manifest);
    }
    await migrateDatabase(databaseUrl, { log, signal, upTo: manifest.migrations.length });
    onStep?.('restoring');
    const sounds = await openRestoredSounds(connection, folders, uploadName);
    const report = await restoreAll(connection, { file, manifest, sounds, onProgress, signal }).catch(
      async (error: unknown) => {
        await sounds.discard();
        throw error;
      },
    );
    await placeRestoredSounds(connection, folders);
    await removeLeftBehind(folders);
    if (manifest.migrations.length < MIGRATION_HASHES.length)
      await migrateDatabase(databaseUrl, { log, signal });
    await connection.unsafe('analyze');
    return { ...manifest, ...report };
  } finally {
    await connection.end({ timeout: 0 });
  }
}

type Work = {
  file: string;
  manifest: Manifest;
  sounds: RestoredSounds;
  onProgress: ReadProgress | undefined;
  signal: AbortSignal | undefined;
};

/** Restores everything in one transaction; a service that starts meanwhile waits until it ends. */
async function restoreAll(connection: Connection, { file, manifest, sounds, onProgress, signal }: Work) {
  return connection.begin('isolation level read committed', async (transaction) => {
    await transaction.unsafe(`set local timezone = 'UTC'`);
    await lockTables(transaction);
    const erasuresBefore = await listErasures(transaction);
    const tables = await beginTables(transaction, manifest);
    const again = await readArchive(file, {
      onProgress,
      onEntry: async (name, bytes) => {
        signal?.throwIfAborted();
        const entry = findEntryKind(name);
        if (entry?.kind === 'table') await tables.add(entry.table, bytes);
        if (entry?.kind === 'sound') await sounds.addSound(entry.fileName, bytes);
        if (entry?.kind === 'upload') await sounds.addUpload(entry.uploadKey, bytes);
      },
    });
    if (JSON.stringify(again) !== JSON.stringify(manifest)) {
      throw new InvalidInput(`${file} was replaced while it was being read: nothing was changed`);
    }
    const { wrong } = await tables.finish(manifest);
    await sounds.commitTo(transaction);
    return {
      wrongTotals: wrong,
      erasedSince: countMissing(erasuresBefore, await listErasures(transaction)),
    };
  });
}

/** Locks all tables at once, or refuses when another process uses one of them. */
async function lockTables(transaction: Transaction): Promise<void> {
  for (const table of await listTables(transaction)) {
    try {
      await transaction.unsafe(`lock table "${table}" in access exclusive mode nowait`);
    } catch (error) {
      if (!hasErrorCode(error, [LOCK_NOT_AVAILABLE])) throw error;
      throw new InvalidInput(`The database is in use (${table}): stop the service, then run restore again`);
    }
  }
  await requireNobody(transaction);
}

/**
 * The two traces of an erasure: an entry in the audit log, kept for a year, and a tombstone, kept for an hour or for
 * good.
 */
const ERASURES = {
  erased_people: 'select id_hash as key from erased_people',
  audit_log: `select concat(id, ' ', at) as key from audit_log where action in ('user.deleted', 'user.erased')`,
};

/** The keys of all erasures, by table. */
async function listErasures(transaction: Transaction): Promise<string[][]> {
  const keys: string[][] = [];
  for (const [table, query] of Object.entries(ERASURES)) {
    const [row] = await transaction.unsafe('select to_regclass($1) is not null as "isThere"', [table]);
    const rows = row?.isThere === true ? await transaction.unsafe(query) : [];
    keys.push(rows.map(({ key }) => String(key)));
  }
  return keys;
}

/** The number of erasures that are missing afterwards, in the table that lacks the most. */
function countMissing(before: readonly string[][], after: readonly string[][]): number {
  const missing = before.map((keys, table) => {
    const kept = new Set(after[table]);
    return keys.filter((key) => !kept.has(key)).length;
  });
  return Math.max(...missing);
}
