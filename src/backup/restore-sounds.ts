import { mkdir, readdir, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { type SoundFolders, tryParseSoundFileName } from '../domain/round-sound.ts';
import { hashFile, moveFile, STORAGE_ID_FILE, syncToDisk, toFolderFailure } from '../runtime/folder.ts';
import { type FileEntry, filePath, type Manifest } from './manifest.ts';

/** In both folders, since each may be on a file system of its own and files are moved by renaming. */
const STAGING_NAME = '.restore';

/** The sounds of a backup, not served until they are placed. */
export type StagedSounds = {
  /** Throws one line that names the setting, such as when the disk is full. */
  add: (entry: FileEntry, content: Uint8Array) => Promise<void>;
  /** Replaces the published sounds, and adds the queued uploads. Can be repeated after it was interrupted. */
  place: (manifest: Manifest, storageId: string | undefined) => Promise<void>;
};

/**
 * Opens folders for the sounds of a backup, to be removed by {@link discardStaged}.
 * @param uploadName the name of the file in the folder of each upload.
 */
export async function stageSounds(folders: SoundFolders, uploadName: string): Promise<StagedSounds> {
  await discardStaged(folders);
  const [sounds, uploads] = stagingFolders(folders);
  for (const folder of [sounds, uploads]) await mkdir(folder);
  const storage = { setting: 'STORAGE_DIR', root: dirname(folders.published) } as const;
  const data = { setting: 'DATA_DIR', root: dirname(folders.inbox) } as const;
  return {
    add: async (entry, content) => {
      const path = filePath({ published: sounds, inbox: uploads }, entry, uploadName);
      const [configured, mode] = entry.kind === 'sound' ? [storage, 0o644] : [data, 0o600];
      try {
        await mkdir(dirname(path), { recursive: true });
        await writeFile(path, content, { mode, flush: true });
      } catch (error) {
        throw toFolderFailure(error, configured, configured.root);
      }
    },
    place: async (manifest, storageId) => {
      try {
        await putAside(folders, manifest);
        for (const file of await readdir(sounds))
          await rename(join(sounds, file), join(folders.published, file));
        for (const key of await readdir(uploads)) {
          await rm(join(folders.inbox, key), { recursive: true, force: true });
          await rename(join(uploads, key), join(folders.inbox, key));
        }
        // The restored database contains the id of its former folder.
        if (storageId !== undefined) await writeFile(join(storage.root, STORAGE_ID_FILE), `${storageId}\n`);
        for (const folder of [folders.published, folders.inbox]) await syncToDisk(folder);
      } catch (error) {
        throw toFolderFailure(error, storage);
      }
    },
  };
}

/** Removes what has not been placed, also of a restore that was killed. */
export async function discardStaged(folders: SoundFolders): Promise<void> {
  for (const folder of stagingFolders(folders)) await rm(folder, { recursive: true, force: true });
}

function stagingFolders({ published, inbox }: SoundFolders): [sounds: string, uploads: string] {
  return [join(published, STAGING_NAME), join(inbox, STAGING_NAME)];
}

/** Moves published sounds to the orphans, except those that an interrupted restore of this backup has placed. */
async function putAside(folders: SoundFolders, { entries }: Manifest): Promise<void> {
  const restored = new Map(entries.map(({ name, sha256 }) => [name, sha256]));
  for (const name of await listSounds(folders)) {
    const path = join(folders.published, name);
    if ((await hashFile(path)) === restored.get(`sounds/${name}`)) continue;
    await mkdir(folders.orphans, { recursive: true });
    await moveFile(path, join(folders.orphans, `${Date.now()}-${name}`));
  }
}

/** The names of published sound files. */
export async function listSounds({ published }: SoundFolders): Promise<string[]> {
  return (await readdir(published)).filter((name) => tryParseSoundFileName(name) !== undefined);
}
