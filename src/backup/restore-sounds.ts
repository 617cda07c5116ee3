import { existsSync } from 'node:fs';
import { mkdir, readdir, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Connection } from '../db/client.ts';
import { tryParseSoundFileName } from '../domain/round-sound.ts';
import { STORAGE_ID_SETTING } from '../queries/settings.ts';
import { moveFile, STORAGE_ID_FILE, toFolderFailure } from '../runtime/folder.ts';
import type { SoundFolders } from './sound-links.ts';
import type { Queries } from './tables.ts';

/** The sounds of a backup in temporary folders, not served until they are placed. */
export type RestoredSounds = {
  /** This and `addUpload` throw one line that names the setting, such as when the disk is full. */
  addSound: (fileName: string, bytes: Uint8Array) => Promise<void>;
  addUpload: (uploadKey: string, bytes: Uint8Array) => Promise<void>;
  /** Records in the rows' transaction which folders {@link placeRestoredSounds} takes the sounds from. */
  commitTo: (transaction: Queries) => Promise<void>;
  /** Removes them, unless the transaction may have been committed: only the database knows when the connection broke. */
  discard: () => Promise<void>;
};

const PREFIX = '.restore-';
/**
 * The setting that names the temporary folders; it exists from the commit of the rows until the sounds are in place.
 */
const UNPLACED_SETTING = 'restore.unplaced';
/**
 * This file marks that the previous sounds have been moved aside: every sound published after that is a restored one.
 */
const MARK_NAME = '.emptied';

/**
 * Creates the temporary folders inside those of the published sounds and of the queued uploads, since files are moved
 * by renaming and each of the two may be on a file system of its own.
 * @param uploadName the name of the file in the folder of each upload.
 */
export async function openRestoredSounds(
  connection: Connection,
  folders: SoundFolders,
  uploadName: string,
): Promise<RestoredSounds> {
  const name = `${PREFIX}${crypto.randomUUID()}`;
  const [storage, data] = [dirname(folders.published), dirname(folders.inbox)];
  const { sounds, uploads } = temporaryFolders(folders, name);
  // If this restore changes nothing, the sounds of one that was killed are still needed.
  await removeLeftBehind(folders, await findSetting(connection, UNPLACED_SETTING));
  for (const home of [sounds, uploads]) await mkdir(home);
  let mayBeCommitted = false;
  return {
    addSound: (fileName, bytes) =>
      writeFile(join(sounds, fileName), bytes, { flush: true }).catch((error: unknown) => {
        throw toFolderFailure(error, { setting: 'STORAGE_DIR', root: storage }, storage);
      }),
    addUpload: async (uploadKey, bytes) => {
      try {
        await mkdir(join(uploads, uploadKey));
        await writeFile(join(uploads, uploadKey, uploadName), bytes, { flush: true, mode: 0o600 });
      } catch (error) {
        throw toFolderFailure(error, { setting: 'DATA_DIR', root: data }, data);
      }
    },
    commitTo: async (transaction) => {
      mayBeCommitted = true;
      await transaction.unsafe(
        'insert into settings (key, value) values ($1, $2) on conflict (key) do update set value = excluded.value',
        [UNPLACED_SETTING, name],
      );
    },
    discard: async () => {
      if (!mayBeCommitted) await discard(folders, name);
    },
  };
}

/**
 * Moves the sounds of the last committed restore to the published sounds and the queued uploads, unless that has been
 * done. Files that were published before are moved to the orphans. A restore that is killed meanwhile is finished by
 * the next start of the service. Processes wait for one another.
 * @throws {InvalidInput} or {Unavailable} when a folder cannot be written; the message names the setting.
 */
export async function placeRestoredSounds(connection: Connection, folders: SoundFolders): Promise<void> {
  if ((await findSetting(connection, UNPLACED_SETTING)) === undefined) return;
  const placed = await connection.begin(async (transaction) => {
    await transaction.unsafe('set local statement_timeout = 0');
    const name = await findSetting(transaction, UNPLACED_SETTING, { isLocked: true });
    // Another process has placed them meanwhile, or they are in the folders of another machine.
    if (name === undefined || !Object.values(temporaryFolders(folders, name)).every(existsSync))
      return undefined;
    const storageId = await findSetting(transaction, STORAGE_ID_SETTING);
    await place(folders, name, storageId).catch((error: unknown) => {
      throw toFolderFailure(error, { setting: 'STORAGE_DIR', root: dirname(folders.published) });
    });
    await transaction.unsafe('delete from settings where key = $1', [UNPLACED_SETTING]);
    return name;
  });
  if (placed !== undefined) await discard(folders, placed);
}

/** @param options.isLocked locks the row until the transaction ends, after waiting for others that hold it. */
async function findSetting(
  queries: Queries,
  key: string,
  { isLocked = false }: { isLocked?: boolean } = {},
): Promise<string | undefined> {
  const lock = isLocked ? ' for update' : '';
  const [row] = await queries.unsafe(`select value from settings where key = $1${lock}`, [key]);
  return row && String(row.value);
}

/** Every step can be repeated after the process was killed. */
async function place(folders: SoundFolders, name: string, storageId: string | undefined): Promise<void> {
  const { sounds, uploads } = temporaryFolders(folders, name);
  const mark = join(sounds, MARK_NAME);
  if (!existsSync(mark)) {
    await putAsidePublished(folders);
    await writeFile(mark, '');
  }
  for (const file of await readdir(sounds)) {
    if (file !== MARK_NAME) await rename(join(sounds, file), join(folders.published, file));
  }
  for (const key of await readdir(uploads)) {
    await rm(join(folders.inbox, key), { recursive: true, force: true });
    await rename(join(uploads, key), join(folders.inbox, key));
  }
  // The restored database contains the id of its former folder.
  if (storageId !== undefined)
    await writeFile(join(dirname(folders.published), STORAGE_ID_FILE), `${storageId}\n`);
}

async function putAsidePublished(folders: SoundFolders): Promise<void> {
  const before = (await readdir(folders.published)).filter(
    (name) => tryParseSoundFileName(name) !== undefined,
  );
  if (before.length > 0) await mkdir(folders.orphans, { recursive: true });
  for (const name of before) {
    await moveFile(join(folders.published, name), join(folders.orphans, `${Date.now()}-${name}`));
  }
}

function temporaryFolders(folders: SoundFolders, name: string): { sounds: string; uploads: string } {
  return { sounds: join(folders.published, name), uploads: join(folders.inbox, name) };
}

async function discard(folders: SoundFolders, name: string): Promise<void> {
  const { sounds, uploads } = temporaryFolders(folders, name);
  for (const home of [sounds, uploads]) await rm(home, { recursive: true, force: true });
}

/**
 * Removes the folders of restores that were killed; no other restore can be running.
 * @param kept the name of those that stay.
 */
export async function removeLeftBehind(folders: SoundFolders, kept?: string): Promise<void> {
  for (const folder of [folders.published, folders.inbox]) {
    for (const name of await readdir(folder)) {
      if (name.startsWith(PREFIX) && name !== kept)
        await rm(join(folder, name), { recursive: true, force: true });
    }
  }
}
