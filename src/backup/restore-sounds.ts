import { mkdir, readdir, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { tryParseSoundFileName } from '../domain/round-sound.ts';
import { moveFile, STORAGE_ID_FILE, toFolderFailure } from '../runtime/folder.ts';
import type { SoundFolders } from './sound-links.ts';

/** The sounds of a backup in temporary folders, not served until they are published. */
export type RestoredSounds = {
  /** Both throw one line that names the setting when the disk is full. */
  addSound: (fileName: string, bytes: Uint8Array) => Promise<void>;
  addUpload: (uploadKey: string, bytes: Uint8Array) => Promise<void>;
  /**
   * Makes them the published sounds and the queued uploads; files that were published before are moved to the orphans.
   */
  publish: (storageId: string | undefined) => Promise<void>;
  discard: () => Promise<void>;
};

const PREFIX = '.restore-';

/**
 * Makes the temporary folders, in those of the published sounds and the queued uploads: each of these may be a file
 * system of its own.
 * @param uploadName the name of the file in the folder of each upload.
 */
export async function openRestoredSounds(folders: SoundFolders, uploadName: string): Promise<RestoredSounds> {
  const id = `${PREFIX}${crypto.randomUUID()}`;
  const [storage, data] = [dirname(folders.published), dirname(folders.inbox)];
  const sounds = join(folders.published, id);
  const uploads = join(folders.inbox, id);
  for (const parent of [folders.published, folders.inbox]) await removeLeftBehind(parent);
  for (const home of [sounds, uploads]) await mkdir(home);
  const discard = async () => {
    for (const home of [sounds, uploads]) await rm(home, { recursive: true, force: true });
  };
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
    publish: async (storageId) => {
      const before = (await readdir(folders.published)).filter(
        (name) => tryParseSoundFileName(name) !== undefined,
      );
      if (before.length > 0) await mkdir(folders.orphans, { recursive: true });
      for (const name of before) {
        await moveFile(join(folders.published, name), join(folders.orphans, `${Date.now()}-${name}`));
      }
      for (const name of await readdir(sounds))
        await rename(join(sounds, name), join(folders.published, name));
      for (const key of await readdir(uploads)) {
        await rm(join(folders.inbox, key), { recursive: true, force: true });
        await rename(join(uploads, key), join(folders.inbox, key));
      }
      // The restored database contains the id of its former folder.
      if (storageId !== undefined) await writeFile(join(storage, STORAGE_ID_FILE), `${storageId}\n`);
      await discard();
    },
    discard,
  };
}

/** Removes the folders of a restore that was killed; no other restore can be running. */
async function removeLeftBehind(folder: string): Promise<void> {
  for (const name of await readdir(folder)) {
    if (name.startsWith(PREFIX)) await rm(join(folder, name), { recursive: true, force: true });
  }
}
