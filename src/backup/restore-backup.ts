import type { Logger } from 'pino';
import { type Connection, INSTANCE, openSession, type Transaction } from '../db/client.ts';
import { areOurs, loadMigrationHashes, MIGRATION_HASHES, migrateDatabase } from '../db/migrate.ts';
import { InvalidInput } from '../domain/errors.ts';
import type { SoundEntry } from '../domain/round-sound.ts';
import { STORAGE_ID_SETTING } from '../queries/settings.ts';
import { type Manifest, readArchive } from './archive.ts';
import { emptyTables, fillTable, finishTables, listNamedFiles, loadTables, refusalOf } from './tables.ts';

/** A database, and the store of its sounds. */
type RestoreTarget = {
  databaseUrl: string;
  sounds: {
    list: () => Promise<unknown[]>;
    uploads: { list: () => Promise<unknown[]> };
    restoring: {
      isMarked: () => boolean;
      mark: () => Promise<void>;
      unmark: () => Promise<void>;
      stage: (entry: SoundEntry, content: AsyncIterable<Uint8Array>) => Promise<void>;
      place: (hashes: ReadonlyMap<string, string>, storageId: string | undefined) => Promise<void>;
      discard: () => Promise<void>;
    };
  };
};

type RestoreOptions = {
  log: Logger;
  /** Called before data is replaced; throws to cancel. Undefined: database and folders have to be empty. */
  confirmLoss?: ((contents: string, manifest: Manifest) => Promise<void>) | undefined;
  onStep?: (step: 'checking' | 'restoring') => void;
  /** Called with the share of the file that has been read, 0 to 1. */
  onProgress?: (share: number) => void;
  signal?: AbortSignal | undefined;
};

/**
 * Replaces the contents of the database and the sound folders with a backup. The whole file is verified before anything
 * is changed. From then until the end there is a mark in `STORAGE_DIR`, with which the service does not start; a restore
 * that was interrupted is repeated, and needs nothing empty. A failure before the sounds are placed changes nothing.
 * @returns also how many totals of penalties were wrong in the backup and have been corrected, and how many people were
 * erased in this database after it was made: they are in it again.
 * @throws {InvalidInput} when the file is invalid, the schemas do not match, or the database is in use or not empty.
 */
export async function restoreBackup(
  file: string,
  { databaseUrl, sounds }: RestoreTarget,
  { log, confirmLoss, onStep, onProgress, signal }: RestoreOptions,
): Promise<Manifest & { wrongTotals: number; erasedSince: number }> {
  onStep?.('checking');
  const manifest = await readArchive(file, { onProgress, signal });
  const connection = openSession(databaseUrl, 'restore');
  const { restoring } = sounds;
  /** Whether the sounds may no longer be those of the database. */
  let isPlacing = restoring.isMarked();
  try {
    const applied = await loadMigrationHashes(connection);
    requireFittingSchema(file, manifest, applied);
    const tables = await loadTables(manifest.migrations.length);
    requireTables(file, manifest, tables);
    await requireNobody(connection);
    const contents = isPlacing
      ? undefined
      : await describeContents(connection, sounds, await loadTables(applied.length));
    if (contents && !confirmLoss) {
      throw new InvalidInput(
        `${contents.what} not empty (${contents.counts}): use --replace to replace everything in it`,
      );
    }
    if (contents) await confirmLoss?.(contents.counts, manifest);
    await migrateDatabase(databaseUrl, { log, signal, upTo: manifest.migrations.length });
    onStep?.('restoring');
    await restoring.mark();
    await restoring.discard();
    // Everything in one transaction, committed when the sounds are in place.
    const report = await connection.begin('isolation level read committed', async (transaction) => {
      await transaction.unsafe(`set local timezone = 'UTC'`);
      const erasedSince = await countErasures(transaction, manifest.takenAt);
      await emptyTables(transaction, tables);
      const again = await readArchive(file, {
        onProgress,
        signal,
        onRows: async (name, lines, from) => {
          const table = tables.find((each) => each === name);
          if (table !== undefined) await fillTable(transaction, table, lines, from);
        },
        onFile: restoring.stage,
      });
      if (!Bun.deepEquals(again, manifest)) throw new InvalidInput(`${file} was changed meanwhile`);
      const wrongTotals = await finishTables(transaction, tables, manifest);
      requireFiles(file, manifest, await listNamedFiles(transaction));
      const [storage] = await transaction`select value from settings where key = ${STORAGE_ID_SETTING}`;
      isPlacing = true;
      const hashes = manifest.entries.map(
        ({ name, sha256 }) => [name.replace('sounds/', ''), sha256] as const,
      );
      await restoring.place(new Map(hashes), storage?.value);
      return { wrongTotals, erasedSince };
    });
    isPlacing = false;
    await migrateDatabase(databaseUrl, { log, signal });
    await connection.unsafe('analyze');
    return { ...manifest, ...report };
  } catch (error) {
    const reason = refusalOf(error);
    if (reason === undefined) throw error;
    throw new InvalidInput(`${file} cannot be restored: ${reason}`, { cause: error });
  } finally {
    await connection.end({ timeout: 0 });
    if (!isPlacing) await restoring.unmark();
    await restoring.discard();
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

/**
 * Refuses a backup whose schema this version does not know, or that is older than the target's.
 * @param applied the migrations of the target.
 * @throws {InvalidInput}
 */
function requireFittingSchema(
  file: string,
  { migrations, productVersion }: Manifest,
  applied: readonly string[],
): void {
  const [made, ours, target] = [migrations.length, MIGRATION_HASHES.length, applied.length];
  if (!areOurs(migrations)) {
    throw new InvalidInput(
      `${file} holds a schema that this version does not know (made by version ${productVersion})`,
    );
  }
  if (made > ours) {
    throw new InvalidInput(
      `${file} was made by a newer version (${productVersion}): its schema has ${made} migrations, and this version knows ${ours}; install that version or a later one`,
    );
  }
  if (!areOurs(applied)) throw new InvalidInput('The database has another schema: restore into an empty one');
  if (target > made) {
    throw new InvalidInput(
      `${file} has an older schema (${made} migrations) than the database (${target}): restore it into a new database, where it is migrated afterwards`,
    );
  }
}

/** @throws {InvalidInput} unless the manifest lists these tables. */
function requireTables(file: string, manifest: Manifest, tables: readonly string[]): void {
  const listed = new Set(manifest.tables.map(({ name }) => name));
  const [odd] = listed.symmetricDifference(new Set(tables));
  if (odd === undefined) return;
  throw new InvalidInput(
    `${file} was altered: its schema and its manifest do not have the same tables (${odd})`,
  );
}

/** @throws {InvalidInput} unless the backup has the files that its rows name, and no others. */
function requireFiles(
  file: string,
  { entries }: Manifest,
  named: { name: string; sha256: string | null }[],
): void {
  const hashes = new Map(entries.map(({ name, sha256 }) => [name, sha256]));
  for (const { name, sha256 } of named) {
    const hash = hashes.get(name);
    if (hash === undefined || hash !== (sha256 ?? hash))
      throw new InvalidInput(`${file} was altered: ${name} is missing, or is not the file of its row`);
    hashes.delete(name);
  }
  const unnamed = [...hashes.keys()].find((name) => !name.startsWith('tables/'));
  if (unnamed !== undefined) throw new InvalidInput(`${file} was altered: no row names ${unnamed}`);
}

/**
 * Refuses while a service or another command of the operator's tool uses the database.
 * @throws {InvalidInput} with the names of the sessions.
 */
async function requireNobody(connection: Connection): Promise<void> {
  const rows = await connection.unsafe(
    `select distinct regexp_replace(application_name, ' [0-9a-f]{8}(\\.[0-9]+)?$', '') as name from pg_stat_activity
     where datname = current_database() and backend_type = 'client backend' and pid <> pg_backend_pid()
       and application_name ~ ' [0-9a-f]{8}(\\.[0-9]+)?$' and application_name !~ $1 order by name`,
    [` ${INSTANCE}(\\.[0-9]+)?$`],
  );
  if (rows.length === 0) return;
  const names = rows.map((row) => row.name).join(', ');
  throw new InvalidInput(
    `The service, or another command, is using the database (connections: ${names}): stop it on every machine, then run restore again`,
  );
}

/** Tables that have rows even in an unused database. */
const ALWAYS_FILLED = ['penalty_event_state', 'settings', 'steam_calls'];

/** What a restore would replace, with `counts` such as `penalties: 12, users: 3`; undefined when there is nothing. */
async function describeContents(
  connection: Connection,
  sounds: RestoreTarget['sounds'],
  tables: readonly string[],
): Promise<{ what: string; counts: string } | undefined> {
  const rows: [name: string, count: number][] = [];
  for (const table of tables) {
    if (ALWAYS_FILLED.includes(table)) continue;
    const [row] = await connection.unsafe(`select count(*) as rows from "${table}"`);
    rows.push([table.replaceAll('_', ' '), Number(row?.rows)]);
  }
  const files = (await sounds.list()).length;
  const uploads = (await sounds.uploads.list()).length;
  const counts = [...rows, ['sound files', files], ['uploads', uploads]] as const;
  const filledTables = counts.filter(([, count]) => count > 0).map(([name, count]) => `${name}: ${count}`);
  if (filledTables.length === 0) return undefined;
  const what = rows.some(([, count]) => count > 0) ? 'The database is' : 'The folder of sounds is';
  return { what, counts: filledTables.join(', ') };
}
