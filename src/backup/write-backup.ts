import { readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { connect, type Transaction } from '../db/client.ts';
import { areOurs, loadMigrationHashes } from '../db/migrate.ts';
import { arrayLiteral } from '../db/select.ts';
import { InvalidInput } from '../domain/errors.ts';
import { type ArchiveWriter, openArchiveWriter } from './archive-writer.ts';
import {
  type BackupEntry,
  FORMAT,
  FORMAT_VERSION,
  MANIFEST_NAME,
  type Manifest,
  soundEntry,
  tablePart,
  uploadEntry,
} from './manifest.ts';
import { type HeldSounds, holdSounds, type SoundFolders } from './sound-links.ts';
import { listTables, readSequences, readTable } from './tables.ts';

export type BackupSource = {
  databaseUrl: string;
  folders: SoundFolders;
  /** The file name of a queued upload in its folder. */
  uploadName: string;
  /** The version of this program. */
  productVersion: string;
};

export type BackupOptions = {
  onProgress?: (progress: { read: number; share: number | undefined }) => void;
  signal?: AbortSignal | undefined;
};

export type BackupReport = Manifest & {
  /** Sound files that the database names, but that are missing or have another content. */
  missing: string[];
};

/** How many snapshots are tried: a sound published while files are being linked does not match the snapshot. */
const SNAPSHOTS = 5;
const PAUSE_MS = 300;

/**
 * Writes the database and the sounds of one snapshot into one file, which appears when it is complete. It blocks
 * nobody.
 * @throws {InvalidInput} when the database is not one of this service, or the file cannot be written.
 */
export async function writeBackup(
  file: string,
  source: BackupSource,
  options: BackupOptions = {},
): Promise<BackupReport> {
  const archive = await openArchiveWriter(file);
  const connection = connect(source.databaseUrl, {
    max: 1,
    applicationName: 'backup',
    statementTimeoutMs: 0,
    keepsSession: true,
  });
  try {
    const migrations = await loadMigrationHashes(connection);
    if (migrations.length === 0 || !areOurs(migrations)) {
      throw new InvalidInput('There is nothing to back up: the database is not one of this service');
    }
    for (let attempt = 1; ; attempt++) {
      const { report } = await connection.begin(
        'isolation level repeatable read read only',
        async (snapshot) => {
          const sounds = await holdSounds(snapshot, source.folders, source);
          try {
            if (sounds.missing.length > 0 && attempt < SNAPSHOTS) return { report: undefined };
            return {
              report: await writeSnapshot(archive, snapshot, { ...source, migrations, sounds }, options),
            };
          } finally {
            await sounds.release();
          }
        },
      );
      if (report) {
        await archive.finish();
        return report;
      }
      await sleep(PAUSE_MS);
    }
  } catch (error) {
    await archive.abandon();
    throw error;
  } finally {
    await connection.end({ timeout: 0 });
  }
}

async function writeSnapshot(
  archive: ArchiveWriter,
  snapshot: Transaction,
  {
    migrations,
    sounds,
    productVersion,
  }: { migrations: string[]; sounds: HeldSounds; productVersion: string },
  { onProgress, signal }: BackupOptions,
): Promise<BackupReport> {
  await snapshot.unsafe(`set local timezone = 'UTC'`);
  const tables = await listTables(snapshot);
  const [about] = await snapshot.unsafe(
    `select to_json(now()) as "takenAt", current_setting('server_version') as version,
       (select sum(greatest(reltuples, 0)) from pg_class where relname = any($1)) as rows`,
    [arrayLiteral(tables)],
  );
  const entries: BackupEntry[] = [];
  for (const { kind, name, path } of sounds.files) {
    signal?.throwIfAborted();
    const entry = kind === 'sound' ? soundEntry(name) : uploadEntry(name);
    entries.push(await archive.add(entry, await readFile(path)));
  }
  const counts: Manifest['tables'] = [];
  let read = 0;
  for (const table of tables) {
    let part = 0;
    let tableRows = 0;
    for await (const { bytes, rows } of readTable(snapshot, table)) {
      signal?.throwIfAborted();
      part += 1;
      tableRows += rows;
      read += rows;
      entries.push(await archive.add(tablePart(table, part), bytes));
      // The share of the planner's row estimate, which may be too low.
      onProgress?.({ read, share: Math.min(read / Math.max(Number(about?.rows), 1), 0.99) });
    }
    counts.push({ name: table, rows: tableRows });
  }
  const manifest: Manifest = {
    format: FORMAT,
    formatVersion: FORMAT_VERSION,
    takenAt: String(about?.takenAt),
    productVersion,
    postgresVersion: String(about?.version),
    migrations,
    tables: counts,
    sequences: await readSequences(snapshot, tables),
    entries,
  };
  await archive.add(MANIFEST_NAME, Buffer.from(JSON.stringify(manifest, null, 1)));
  return { ...manifest, missing: sounds.missing };
}
