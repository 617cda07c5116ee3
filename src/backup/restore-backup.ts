import { existsSync } from 'node:fs';
import { rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Logger } from 'pino';
import { connect, type Transaction } from '../db/client.ts';
import { loadMigrationHashes, migrateDatabase } from '../db/migrate.ts';
import { InvalidInput } from '../domain/errors.ts';
import type { SoundFolders } from '../domain/round-sound.ts';
import { STORAGE_ID_SETTING } from '../queries/settings.ts';
import { RESTORE_MARK, syncToDisk } from '../runtime/folder.ts';
import { readArchive } from './archive.ts';
import type { Manifest } from './manifest.ts';
import { discardStaged, stageSounds } from './restore-sounds.ts';
import {
  describeContents,
  emptyTables,
  fillTable,
  finishTables,
  requireFittingSchema,
  requireNobody,
} from './restore-tables.ts';

export type RestoreTarget = { databaseUrl: string; folders: SoundFolders; uploadName: string };

export type RestoreOptions = {
  log: Logger;
  /** Called before data is replaced; throws to cancel. Undefined: database and folders have to be empty. */
  confirmLoss?: ((contents: string, manifest: Manifest) => Promise<void>) | undefined;
  onStep?: (step: 'checking' | 'restoring') => void;
  /** Called with the share of the file that has been read, 0 to 1. */
  onProgress?: (share: number) => void;
  signal?: AbortSignal | undefined;
};

export type RestoreReport = Manifest & {
  /** The number of tallies that were wrong in the backup; they have been corrected. */
  wrongTotals: number;
  /** How many people were erased in this database after the backup was made; they are in it again. */
  erasedSince: number;
};

/**
 * Replaces the contents of the database and the sound folders with a backup. The whole file is verified before anything
 * is changed. From then until the end there is a mark in `STORAGE_DIR`, with which the service does not start; a restore
 * that was interrupted is repeated, and needs nothing empty. A failure before the sounds are placed changes nothing.
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
  const mark = join(dirname(folders.published), RESTORE_MARK);
  /** Whether the sounds may no longer be those of the database. */
  let isPlacing = existsSync(mark);
  try {
    requireFittingSchema(file, manifest, await loadMigrationHashes(connection));
    await requireNobody(connection);
    const contents = isPlacing ? undefined : await describeContents(connection, folders);
    if (contents && !confirmLoss) {
      throw new InvalidInput(
        `${contents.what} not empty (${contents.counts}): use --replace to replace everything in it`,
      );
    }
    if (contents) await confirmLoss?.(contents.counts, manifest);
    await migrateDatabase(databaseUrl, { log, signal, upTo: manifest.migrations.length });
    onStep?.('restoring');
    await writeFile(mark, '', { flush: true });
    await syncToDisk(dirname(mark));
    const sounds = await stageSounds(folders, uploadName);
    // Everything in one transaction, committed when the sounds are in place.
    const report = await connection.begin('isolation level read committed', async (transaction) => {
      await transaction.unsafe(`set local timezone = 'UTC'`);
      const erasedSince = await countErasures(transaction, manifest.takenAt);
      await emptyTables(transaction, manifest);
      await readArchive(file, {
        onProgress,
        onRows: async (table, lines) => {
          signal?.throwIfAborted();
          await fillTable(transaction, table, lines);
        },
        onFile: async (entry, content) => {
          signal?.throwIfAborted();
          await sounds.add(entry, content);
        },
      });
      const wrongTotals = await finishTables(transaction, manifest);
      const [storage] = await transaction`select value from settings where key = ${STORAGE_ID_SETTING}`;
      isPlacing = true;
      await sounds.place(manifest, storage?.value);
      return { wrongTotals, erasedSince };
    });
    isPlacing = false;
    await migrateDatabase(databaseUrl, { log, signal });
    await connection.unsafe('analyze');
    return { ...manifest, ...report };
  } finally {
    await connection.end({ timeout: 0 });
    if (!isPlacing) await rm(mark, { force: true });
    await discardStaged(folders);
  }
}

/**
 * How many people were erased after a backup was made, by the traces of an erasure: an entry in the audit log, kept for a
 * year, and a tombstone, kept for an hour or for good.
 */
async function countErasures(transaction: Transaction, takenAt: string): Promise<number> {
  const [row] = await transaction`
    select greatest(
      (select count(*) from audit_log where action in ('user.deleted', 'user.erased') and at > ${takenAt}),
      (select count(*) from erased_people where erased_at > ${takenAt})
    )::integer as count`;
  return Number(row?.count);
}
