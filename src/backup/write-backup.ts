import { stat } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import packageJson from '../../package.json';
import { type Connection, openDrizzle, openSession, type Transaction } from '../db/client.ts';
import { areOurs, listTables, loadMigrationHashes, MIGRATION_HASHES } from '../db/migrate.ts';
import { InvalidInput } from '../domain/errors.ts';
import type { SoundEntry } from '../domain/round-sound.ts';
import { saveLastBackup } from '../queries/settings.ts';
import { findEntry, hashOf, type Manifest, systemMessage, writeArchive } from './archive.ts';
import { listNamedFiles, readTable, sortTables } from './tables.ts';

/** A database of this service, and the files of its sounds. */
type BackupSource = {
  databaseUrl: string;
  sounds: {
    backups: {
      hold: (entries: readonly SoundEntry[]) => Promise<{
        /** @returns undefined when there is no such file. */
        read: (entry: SoundEntry) => Promise<Uint8Array | undefined>;
        release: () => Promise<void>;
      }>;
    };
  };
};

/** A file that is missing from a backup, and why. */
type LostFile = { name: string; reason: string };

type BackupOptions = {
  onProgress?: (progress: { read: number; share: undefined }) => void;
  signal?: AbortSignal | undefined;
};

/** A file does not match its row, perhaps because a sound was published or removed after the snapshot. */
class FileDiffers extends Error {}

/** Without a row in any of these there is nothing to back up: probably it is the wrong database. */
const ESSENTIAL_TABLES = ['users', 'penalties', 'servers', 'round_sounds'];

/** How often a backup starts again from another snapshot. */
const RETRIES = 3;
const PAUSE_MS = 300;

/**
 * Writes the database and the sounds of one snapshot into one file, which appears when it is complete. It blocks
 * nobody. A sound whose file is broken or lost is left out, and its row says so, as the service would mark it.
 * @returns also whether the service can report it: a read replica stores nothing.
 * @throws {InvalidInput} when the database is not one of this service, no sound can be read, or the file cannot be
 * written.
 */
export async function writeBackup(
  file: string,
  { databaseUrl, sounds }: BackupSource,
  options: BackupOptions = {},
): Promise<Manifest & { lost: LostFile[]; isRecorded: boolean }> {
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
      /** When the session is cut, the driver rejects at once, while this work still removes its unfinished file. */
      let work: Promise<unknown> = Promise.resolve();
      try {
        const report = await connection.begin('isolation level repeatable read read only', (snapshot) => {
          const isLastTry = attempt === RETRIES;
          const writing = writeSnapshot(file, snapshot, { ...options, sounds, migrations, isLastTry });
          work = writing;
          return writing;
        });
        return { ...report, isRecorded: await recordBackup(connection, file, report) };
      } catch (error) {
        await work.catch(() => {});
        if (!(error instanceof FileDiffers)) throw error;
        await sleep(PAUSE_MS);
      }
    }
  } finally {
    await connection.end({ timeout: 0 });
  }
}

async function recordBackup(connection: Connection, file: string, { takenAt }: Manifest): Promise<boolean> {
  try {
    const { size: bytes } = await stat(file);
    await saveLastBackup(openDrizzle(connection), { at: new Date(takenAt), bytes });
    return true;
  } catch {
    return false;
  }
}

type SnapshotOptions = BackupOptions & {
  sounds: BackupSource['sounds'];
  migrations: string[];
  /** Files that do not match their rows are left out; in an earlier try, they make the backup start again. */
  isLastTry: boolean;
};

async function writeSnapshot(
  file: string,
  snapshot: Transaction,
  { sounds, migrations, isLastTry, onProgress, signal }: SnapshotOptions,
): Promise<Manifest & { lost: LostFile[] }> {
  await snapshot.unsafe(`set local timezone = 'UTC'`);
  const [about] = await snapshot.unsafe(
    `select to_json(now()) as "takenAt", current_setting('server_version') as "postgresVersion"`,
  );
  const files = await listNamedFiles(snapshot);
  const held = await sounds.backups.hold(files.flatMap(({ name }) => findSoundEntry(name) ?? []));
  const filesBySound = Map.groupBy(files, ({ soundId }) => soundId);
  const names = await sortTables(snapshot, listTables(migrations.length));
  const tables = names.map((name) => ({ name, rows: 0 }));
  const lost: LostFile[] = [];

  /** Files first, while they are still those of the snapshot; then rows. */
  async function* readSnapshot(): AsyncGenerator<{ name: string; content: Uint8Array }, void> {
    const lostSounds: number[] = [];
    for (const [soundId, itsFiles] of filesBySound) {
      signal?.throwIfAborted();
      const entries: { name: string; content: Uint8Array }[] = [];
      for (const { name, sha256 } of itsFiles) {
        const entry = findSoundEntry(name);
        const content = entry && (await held.read(entry).catch(describeFailure));
        if (typeof content === 'string') lost.push({ name, reason: content });
        else if (!content) lost.push({ name, reason: 'is missing' });
        else if (hashOf(content) !== (sha256 ?? hashOf(content))) lost.push({ name, reason: DIFFERS });
        else entries.push({ name, content });
      }
      if (entries.length === itsFiles.length) yield* entries;
      else lostSounds.push(soundId);
    }
    if (lost.length > 0 && !isLastTry) throw new FileDiffers();
    const [first] = lost;
    if (
      first &&
      files.length > 1 &&
      lost.length === files.length &&
      !lost.some(({ reason }) => reason === DIFFERS)
    )
      throw new InvalidInput(
        `None of the ${files.length} sound files can be read (${first.name} ${first.reason}): is STORAGE_DIR the right folder, and mounted?`,
      );
    let readRows = 0;
    for (const table of tables) {
      let part = 0;
      for await (const { bytes, rows } of readTable(snapshot, table.name, lostSounds)) {
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

  try {
    const manifest = await writeArchive(file, readSnapshot(), {
      takenAt: about?.takenAt,
      productVersion: packageJson.version,
      postgresVersion: about?.postgresVersion,
      migrations,
      tables,
    });
    return { ...manifest, lost };
  } finally {
    await held.release();
  }
}

function findSoundEntry(name: string): SoundEntry | undefined {
  const entry = findEntry(name);
  return entry?.kind === 'sound' || entry?.kind === 'upload' ? entry : undefined;
}

const DIFFERS = 'is not the file of its row';

/** @throws every error that is not from the file system. */
function describeFailure(error: unknown): string {
  const reason = systemMessage(error);
  if (reason === undefined) throw error;
  return `cannot be read: ${reason}`;
}
