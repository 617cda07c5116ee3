import { stat } from 'node:fs/promises';
import type { Logger } from 'pino';
import {
  type Connection,
  driverOf,
  INSTANCE,
  inTransaction,
  openDrizzle,
  openSession,
  type Transaction,
  type Tx,
} from '../db/client.ts';
import {
  areOurs,
  listTables,
  loadMigrationHashes,
  MIGRATION_HASHES,
  migrateDatabase,
  RELEASED_MIGRATIONS,
} from '../db/migrate.ts';
import { InvalidInput } from '../domain/errors.ts';
import { type SoundEntry, tryParseSoundFileName } from '../domain/round-sound.ts';
import type { SteamId64 } from '../domain/steam-id.ts';
import { eraseAgain, listLaterErasures } from '../queries/personal-data/erase-again.ts';
import { STORAGE_ID_SETTING, saveLastBackup } from '../queries/settings.ts';
import { type Manifest, readArchive } from './archive.ts';
import { emptyTables, fillTable, finishTables, listNamedFiles, refusalOf } from './tables.ts';
import { BadArchive } from './tar.ts';

/** A database, and the store of its sounds. */
type RestoreTarget = {
  databaseUrl: string;
  sounds: {
    list: () => Promise<unknown[]>;
    uploads: { list: () => Promise<unknown[]> };
    removeOrphans: (isMeant: (fileName: string) => boolean) => Promise<void>;
    restoring: {
      isMarked: () => boolean;
      mark: () => Promise<void>;
      unmark: () => Promise<void>;
      stage: (entry: SoundEntry, content: AsyncIterable<Uint8Array>) => Promise<void>;
      place: (files: ReadonlyMap<string, string | null>, storageId: string | undefined) => Promise<void>;
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
 * People who were erased in this database after the backup was made are erased again, as far as their tombstones exist.
 * @returns also `wrongTotals`: totals of penalties that the backup had wrong, corrected here; `erasedAgain`: people erased
 * again; `erasedSince`: people erased since the backup who cannot be erased again and may be in it.
 * @throws {InvalidInput} when the file is invalid, the schemas do not match, or the database is in use or not empty.
 */
export async function restoreBackup(
  file: string,
  { databaseUrl, sounds }: RestoreTarget,
  { log, confirmLoss, onStep, onProgress, signal }: RestoreOptions,
): Promise<Manifest & { wrongTotals: number; erasedAgain: number; erasedSince: number }> {
  onStep?.('checking');
  const manifest = await readArchive(file, { onProgress, signal });
  const connection = openSession(databaseUrl, 'restore');
  const { restoring } = sounds;
  /** Whether the sounds may no longer be those of the database. */
  let isPlacing = restoring.isMarked();
  try {
    const applied = await loadMigrationHashes(connection);
    requireFittingSchema(file, manifest, applied);
    const tables = [...listTables(manifest.migrations.length)];
    requireTables(file, manifest, tables);
    await requireNobody(connection);
    const contents = isPlacing
      ? undefined
      : await describeContents(connection, sounds, listTables(applied.length));
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
    const restore = async (tx: Tx) => {
      const transaction = driverOf(tx);
      await transaction.unsafe(`set local timezone = 'UTC'`);
      const erasures = await countErasures(transaction, manifest.takenAt);
      const later = await listLaterErasures(tx, manifest.takenAt);
      await emptyTables(transaction, tables);
      // A service may have started after the first check, before the mark was set. `emptyTables` has locked the tables.
      await requireNobody(transaction);
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
      const wrongTotals = await finishTables(transaction, tables);
      requireFiles(file, manifest, await listNamedFiles(transaction));
      // An older schema lacks tables that an erasure needs, so these people are only counted.
      const isNewest = manifest.migrations.length === MIGRATION_HASHES.length;
      const erased = isNewest ? await eraseAgain(tx, later) : new Set<SteamId64>();
      await saveLastBackup(tx, { at: new Date(manifest.takenAt), bytes: (await stat(file)).size });
      const [storage] = await transaction`select value from settings where key = ${STORAGE_ID_SETTING}`;
      isPlacing = true;
      const files = await listNamedFiles(transaction);
      await restoring.place(new Map(files.map(({ name, sha256 }) => [name, sha256])), storage?.value);
      // Sounds that they uploaded after their erasure were set aside.
      await sounds.removeOrphans((fileName) => {
        const steamId64 = tryParseSoundFileName(fileName);
        return steamId64 !== undefined && erased.has(steamId64);
      });
      const erasedSince =
        Math.max(erasures.logged, erasures.remembered) - (isNewest ? erasures.remembered : 0);
      return { wrongTotals, erasedAgain: erased.size, erasedSince };
    };
    const report = await inTransaction(openDrizzle(connection), restore, {
      isolationLevel: 'read committed',
    });
    isPlacing = false;
    await migrateDatabase(databaseUrl, { log, signal });
    await connection.unsafe('analyze');
    return { ...manifest, ...report };
  } catch (error) {
    if (error instanceof BadArchive) throw new InvalidInput(`${file} ${error.message}`, { cause: error });
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
 * How many people were erased after a backup was made, by the audit log, whose entries are kept for a year, and by
 * tombstones, which are kept for `ERASED_KEPT_DAYS` or for good.
 */
async function countErasures(
  transaction: Transaction,
  takenAt: string,
): Promise<{ logged: number; remembered: number }> {
  const [row] = await transaction`
    select
      (select count(*) from audit_log where action in ('user.deleted', 'user.erased') and at > ${takenAt})::integer as logged,
      (select count(*) from erased_people where erased_at > ${takenAt})::integer as remembered`;
  return { logged: Number(row?.logged), remembered: Number(row?.remembered) };
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
  const known = new Set(tables);
  // On a newer schema, 1.0.0 backs up only its own tables.
  const required =
    manifest.productVersion === '1.0.0' ? known.intersection(listTables(RELEASED_MIGRATIONS)) : known;
  const [odd] = [...listed.difference(known), ...required.difference(listed)];
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
async function requireNobody(connection: Pick<Connection, 'unsafe'>): Promise<void> {
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
  tables: Iterable<string>,
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
