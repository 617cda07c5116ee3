import { mkdir, readdir, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { type SoundFolders, tryParseSoundFileName } from '../domain/round-sound.ts';
import { hashFile, moveFile, STORAGE_ID_FILE, syncToDisk, toFolderFailure } from '../runtime/folder.ts';
import type { FileEntry, Manifest } from './archive.ts';

/** Where restored sounds wait: within each folder, since files are renamed and each may be on another file system. */
function stagingFolders({ published, inbox }: SoundFolders): Pick<SoundFolders, 'published' | 'inbox'> {
  return { published: join(published, '.restore'), inbox: join(inbox, '.restore') };
}

/** Removes what has not been placed, also of a restore that was killed. */
export async function discardStaged(folders: SoundFolders): Promise<void> {
  for (const folder of Object.values(stagingFolders(folders)))
    await rm(folder, { recursive: true, force: true });
}

/** Adds a sound that is not served until it is placed. Throws one line that names the setting, such as when the disk is full. */
export async function stageSound(
  folders: SoundFolders,
  entry: FileEntry,
  content: AsyncIterable<Buffer>,
): Promise<void> {
  const path = entry.pathIn(stagingFolders(folders));
  const isSound = entry.kind === 'sound';
  const root = dirname(isSound ? folders.published : folders.inbox);
  try {
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, content, { mode: isSound ? 0o644 : 0o600, flush: true });
  } catch (error) {
    throw toFolderFailure(error, { setting: isSound ? 'STORAGE_DIR' : 'DATA_DIR', root }, root);
  }
}

/** Replaces the published sounds, and adds the queued uploads. Can be repeated after it was interrupted. */
export async function placeSounds(
  folders: SoundFolders,
  manifest: Manifest,
  storageId: string | undefined,
): Promise<void> {
  const staged = stagingFolders(folders);
  const root = dirname(folders.published);
  try {
    await putAside(folders, manifest);
    for (const file of await listFiles(staged.published))
      await rename(join(staged.published, file), join(folders.published, file));
    for (const key of await listFiles(staged.inbox)) {
      await rm(join(folders.inbox, key), { recursive: true, force: true });
      await rename(join(staged.inbox, key), join(folders.inbox, key));
    }
    // The restored database contains the id of its former folder.
    if (storageId !== undefined) await writeFile(join(root, STORAGE_ID_FILE), `${storageId}\n`);
    for (const folder of [folders.published, folders.inbox]) await syncToDisk(folder);
  } catch (error) {
    throw toFolderFailure(error, { setting: 'STORAGE_DIR', root });
  }
}

/** The names in a staging folder, which the first sound creates. */
async function listFiles(folder: string): Promise<string[]> {
  await mkdir(folder, { recursive: true });
  return readdir(folder);
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
