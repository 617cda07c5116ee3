import { readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { connect, type Transaction } from '../db/client.ts';
import { areOurs, loadMigrationHashes } from '../db/migrate.ts';
import { errorCode, InvalidInput } from '../domain/errors.ts';
import type { SoundFolders } from '../domain/round-sound.ts';
import { writeArchive } from './archive.ts';
import { FORMAT, FORMAT_VERSION, filePath, findEntryKind, MANIFEST_NAME, type Manifest } from './manifest.ts';
import { listTables, readSequences, readTable } from './tables.ts';
import { hashOf, packEntry, TAR_END } from './tar.ts';

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

/** A sound was published or removed after the snapshot. */
class FileDiffers extends InvalidInput {
  override name = 'FileDiffers';
}

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
  source: BackupSource,
  options: BackupOptions = {},
): Promise<Manifest> {
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
    for (let attempt = 0; ; attempt++) {
      try {
        return await connection.begin('isolation level repeatable read read only', async (snapshot) => {
          await snapshot.unsafe(`set local timezone = 'UTC'`);
          const [about] = await snapshot.unsafe(
            `select to_json(now()) as "takenAt", current_setting('server_version') as "postgresVersion"`,
          );
          const manifest: Manifest = {
            format: FORMAT,
            formatVersion: FORMAT_VERSION,
            takenAt: about?.takenAt,
            productVersion: source.productVersion,
            postgresVersion: about?.postgresVersion,
            ...{ migrations, tables: [], sequences: [], entries: [] },
          };
          await writeArchive(file, packSnapshot(snapshot, source, { manifest, ...options }));
          return manifest;
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

/** Files first, while they are still those of the snapshot; then rows, and the manifest, which it completes. */
async function* packSnapshot(
  snapshot: Transaction,
  { folders, uploadName }: BackupSource,
  { manifest, onProgress, signal }: BackupOptions & { manifest: Manifest },
): AsyncGenerator<Uint8Array, void> {
  function pack(name: string, content: Uint8Array): Uint8Array[] {
    signal?.throwIfAborted();
    manifest.entries.push({ name, sizeBytes: content.length, sha256: hashOf(content) });
    return packEntry(name, content);
  }
  for (const { name, sha256 } of await snapshot.unsafe(NAMED_FILES)) {
    const entry = findEntryKind(name);
    if (entry?.kind !== 'sound' && entry?.kind !== 'upload') throw differs(name);
    const content = await readFile(filePath(folders, entry, uploadName)).catch((error: unknown) => {
      throw errorCode(error) === 'ENOENT' ? differs(name) : error;
    });
    if (sha256 !== null && hashOf(content) !== sha256) throw differs(name);
    yield* pack(name, content);
  }
  const [estimate] = await snapshot.unsafe(
    `select sum(reltuples) as rows from pg_class where relnamespace = 'public'::regnamespace and relkind = 'r'`,
  );
  let read = 0;
  for (const table of await listTables(snapshot)) {
    const counted = { name: table, rows: 0 };
    let part = 0;
    for await (const { bytes, rows } of readTable(snapshot, table)) {
      part += 1;
      counted.rows += rows;
      read += rows;
      const name = `tables/${table}/${String(part).padStart(6, '0')}.ndjson`;
      yield* pack(name, bytes);
      // The share of the planner's row estimate, which may be too low.
      onProgress?.({ read, share: Math.min(read / Math.max(estimate?.rows, 1), 0.99) });
    }
    manifest.tables.push(counted);
  }
  manifest.sequences = await readSequences(snapshot);
  const bytes = Buffer.from(JSON.stringify(manifest, null, 1));
  yield* packEntry(MANIFEST_NAME, bytes);
  yield TAR_END;
}

/** The files of published and queued sounds that the snapshot names; an upload has no hash. */
const NAMED_FILES = `
  select 'sounds/' || steamid64 || '.mp3' as name, sha256 from round_sounds
  where status = 'ready' and sha256 is not null
  union all
  select 'sounds/' || steamid64 || '.voice.mp3', voice_sha256 from round_sounds
  where status = 'ready' and voice_sha256 is not null
  union all
  select 'uploads/' || upload_key, null from round_sounds where status in ('queued', 'measuring', 'rendering')
  order by name`;

function differs(name: string): FileDiffers {
  return new FileDiffers(`${name} is missing, or is not the file of its row: nothing was written`);
}
