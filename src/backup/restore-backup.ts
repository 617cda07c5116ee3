import { existsSync } from 'node:fs';
import { rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Logger } from 'pino';
import { type Connection, connect, isDatabaseOutage, type Transaction } from '../db/client.ts';
import { loadMigrationHashes, MIGRATION_HASHES, migrateDatabase } from '../db/migrate.ts';
import { errorCode } from '../domain/error-causes.ts';
import { InvalidInput } from '../domain/errors.ts';
import type { SoundFolders } from '../domain/round-sound.ts';
import { STORAGE_ID_SETTING } from '../queries/settings.ts';
import { RESTORE_MARK, syncToDisk } from '../runtime/folder.ts';
import { type ReadProgress, readArchive } from './archive-reader.ts';
import type { Manifest } from './manifest.ts';
import { discardStaged, type StagedSounds, stageSounds } from './restore-sounds.ts';
import { emptyTables, fillTable, finishTables } from './restore-tables.ts';
import { describeContents, requireFittingSchema, requireNobody } from './restore-target.ts';

export type RestoreTarget = { databaseUrl: string; folders: SoundFolders; uploadName: string };

export type RestoreOptions = {
  log: Logger;
  /** Called before data is replaced; throws to cancel. Undefined: database and folders have to be empty. */
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
  const isRepeated = existsSync(mark);
  try {
    requireFittingSchema(file, manifest, await loadMigrationHashes(connection));
    await requireNobody(connection);
    if (!isRepeated) {
      const contents = await describeContents(connection, folders);
      if (contents && !confirmLoss) {
        throw new InvalidInput(
          `${contents.what} not empty (${contents.counts}): use --replace to replace everything in it`,
        );
      }
      if (contents) await confirmLoss?.(contents.counts, manifest);
    }
    await migrateDatabase(databaseUrl, { log, signal, upTo: manifest.migrations.length });
    onStep?.('restoring');
    await writeFile(mark, '', { flush: true });
    await syncToDisk(dirname(mark));
    let isPlacing = false;
    const onPlacing = () => {
      isPlacing = true;
    };
    const report = await restoreAll(connection, {
      ...{ file, manifest, onProgress, signal, onPlacing },
      sounds: await stageSounds(folders, uploadName),
    })
      .finally(() => discardStaged(folders))
      .catch(async (error: unknown) => {
        if (!isPlacing && !isRepeated) await rm(mark);
        throw error;
      });
    await rm(mark);
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
  sounds: StagedSounds;
  onProgress: ReadProgress | undefined;
  signal: AbortSignal | undefined;
  /** Called when the first published sound is about to be replaced. */
  onPlacing: () => void;
};

/** Everything in one transaction, committed when the sounds are in place. */
async function restoreAll(
  connection: Connection,
  { file, manifest, sounds, onPlacing, onProgress, signal }: Work,
): Promise<{ wrongTotals: number; erasedSince: number }> {
  return connection.begin('isolation level read committed', async (transaction) => {
    await transaction.unsafe(`set local timezone = 'UTC'`);
    const erasures = await listErasures(transaction);
    await emptyTables(transaction, manifest);
    await requireNobody(transaction);
    const again = await readArchive(file, {
      onProgress,
      onRows: async (table, lines) => {
        signal?.throwIfAborted();
        await fillTable(transaction, table, lines).catch((error: unknown) => {
          throw toRowFailure(error, `${file} has rows of ${table} that do not fit`);
        });
      },
      onFile: async (entry, body) => {
        signal?.throwIfAborted();
        await sounds.add(entry, body);
      },
    });
    if (JSON.stringify(again) !== JSON.stringify(manifest)) {
      throw new InvalidInput(`${file} was replaced while it was being read: nothing was changed`);
    }
    const wrongTotals = await finishTables(transaction, manifest);
    const erasedSince = countMissing(erasures, await listErasures(transaction));
    const [storage] = await transaction.unsafe('select value from settings where key = $1', [
      STORAGE_ID_SETTING,
    ]);
    onPlacing();
    await sounds.place(manifest, storage?.value);
    return { wrongTotals, erasedSince };
  });
}

/** Classes of PostgreSQL's codes for values that a table does not take: data exceptions, violated constraints. */
const ROW_FAILURES = /^(?:22|23)...$/;

function toRowFailure(error: unknown, what: string): unknown {
  if (!(error instanceof Error) || isDatabaseOutage(error) || !ROW_FAILURES.test(errorCode(error)))
    return error;
  return new InvalidInput(`${what}: ${error.message}`, { cause: error });
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
