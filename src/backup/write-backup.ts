import { setTimeout as sleep } from 'node:timers/promises';
import packageJson from '../../package.json';
import { openSession, type Transaction } from '../db/client.ts';
import { areOurs, loadMigrationHashes, MIGRATION_HASHES } from '../db/migrate.ts';
import { InvalidInput } from '../domain/errors.ts';
import type { SoundEntry } from '../domain/round-sound.ts';
import { findEntry, hashOf, type Manifest, writeArchive } from './archive.ts';
import { listNamedFiles, loadTables, readSequences, readTable } from './tables.ts';

/** A database of this service, and the files of its sounds. */
type BackupSource = {
  databaseUrl: string;
  /** @returns undefined when there is no such file. */
  readSound: (entry: SoundEntry) => Promise<Uint8Array | undefined>;
};

type BackupOptions = {
  onProgress?: (progress: { read: number; share: undefined }) => void;
  signal?: AbortSignal | undefined;
};

/** A sound was published or removed after the snapshot. */
class FileDiffers extends InvalidInput {
  constructor(name: string) {
    super(`${name} is missing, or is not the file of its row: nothing was written`);
  }
}

/** Without a row in any of these there is nothing to back up: probably it is the wrong database. */
const ESSENTIAL_TABLES = ['users', 'penalties', 'servers', 'round_sounds'];

/** How often a backup starts again from another snapshot. */
const RETRIES = 3;
const PAUSE_MS = 300;

/**
 * Writes the database and the sounds of one snapshot into one file, which appears when it is complete. It blocks
 * nobody.
 * @throws {InvalidInput} when the database is not one of this service, a sound file is not the one of its row, or the
 * file cannot be written.
 */
export async function writeBackup(
  file: string,
  { databaseUrl, readSound }: BackupSource,
  options: BackupOptions = {},
): Promise<Manifest> {
  const connection = openSession(databaseUrl, 'backup');
  try {
    const migrations = await loadMigrationHashes(connection);
    if (migrations.length === 0 || !areOurs(migrations)) {
      throw new InvalidInput('There is nothing to back up: the database is not one of this service');
    }
    if (migrations.length > MIGRATION_HASHES.length) {
      throw new InvalidInput('The database was migrated by a newer version: back it up with that version');
    }
    for (let attempt = 0; ; attempt++) {
      try {
        return await connection.begin('isolation level repeatable read read only', async (snapshot) => {
          await snapshot.unsafe(`set local timezone = 'UTC'`);
          const [about] = await snapshot.unsafe(
            `select to_json(now()) as "takenAt", current_setting('server_version') as "postgresVersion"`,
          );
          const tables = (await loadTables(migrations.length)).map((name) => ({ name, rows: 0 }));
          return writeArchive(file, readSnapshot(snapshot, readSound, { tables, ...options }), {
            takenAt: about?.takenAt,
            productVersion: packageJson.version,
            postgresVersion: about?.postgresVersion,
            migrations,
            tables,
            sequences: await readSequences(snapshot),
          });
        });
      } catch (error) {
        if (!(error instanceof FileDiffers) || attempt === RETRIES) throw error;
        await sleep(PAUSE_MS);
      }
    }
  } finally {
    await connection.end({ timeout: 0 });
  }
}

/** Files first, while they are still those of the snapshot; then rows. @param tables whose rows are counted. */
async function* readSnapshot(
  snapshot: Transaction,
  readSound: BackupSource['readSound'],
  { tables, onProgress, signal }: BackupOptions & { tables: Manifest['tables'] },
): AsyncGenerator<{ name: string; content: Uint8Array }, void> {
  for (const { name, sha256 } of await listNamedFiles(snapshot)) {
    signal?.throwIfAborted();
    const entry = findEntry(name);
    const isSound = entry?.kind === 'sound' || entry?.kind === 'upload';
    const content = isSound ? await readSound(entry) : undefined;
    if (content === undefined || hashOf(content) !== (sha256 ?? hashOf(content))) throw new FileDiffers(name);
    yield { name, content };
  }
  let readRows = 0;
  for (const table of tables) {
    let part = 0;
    for await (const { bytes, rows } of readTable(snapshot, table.name)) {
      signal?.throwIfAborted();
      part += 1;
      table.rows += rows;
      readRows += rows;
      yield { name: `tables/${table.name}/${String(part).padStart(6, '0')}.ndjson`, content: bytes };
      onProgress?.({ read: readRows, share: undefined });
    }
  }
  if (tables.every(({ name, rows }) => rows === 0 || !ESSENTIAL_TABLES.includes(name))) {
    throw new InvalidInput(
      'There are no users, penalties, servers or sounds to back up: is this the right DATABASE_URL or DATA_DIR?',
    );
  }
}
