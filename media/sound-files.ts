import type { Stats } from 'node:fs';
import { copyFile, mkdir, readdir, rename, rm, stat, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import {
  isUploadKey,
  RENDITIONS,
  type Rendition,
  type SoundFolders,
  soundFileName,
  tryParseSoundFileName,
} from '../src/domain/round-sound.ts';
import type { SteamId64 } from '../src/domain/steam-id.ts';
import type { RoundSound } from '../src/queries/round-sounds/round-sounds.ts';
import { hashFile, makeFolder, moveFile, syncToDisk } from '../src/runtime/folder.ts';
import { isNotFound } from './disk-trouble.ts';

const MARK_NAME = '.published-sounds';

/** A copy that is not in place yet. */
type PartialCopy = { soundId: number; rendition: Rendition };

/**
 * The folders under the configured `DATA_DIR` and `STORAGE_DIR`; created when missing.
 * @throws {InvalidInput} or {Unavailable} when they cannot be used, in one line that names the setting.
 */
export async function openSoundFolders(config: {
  dataDir: string;
  storageDir: string;
}): Promise<SoundFolders> {
  const folders = {
    inbox: join(config.dataDir, 'inbox'),
    published: join(config.storageDir, 'roundsound'),
    orphans: join(config.storageDir, 'roundsound-orphans'),
  };
  await makeFolder({ setting: 'DATA_DIR', root: config.dataDir }, folders.inbox);
  await makeFolder({ setting: 'STORAGE_DIR', root: config.storageDir }, folders.published);
  return folders;
}

/** The file from which a player's sound is served. */
export function publishedPath(
  folders: SoundFolders,
  steamId64: SteamId64,
  rendition: Rendition = 'stereo',
): string {
  return join(folders.published, soundFileName(steamId64, rendition));
}

/** A rendered file before it is renamed to {@link publishedPath}: in the same folder, under a name that is not served. */
export function partialPath(folders: SoundFolders, soundId: number, rendition: Rendition = 'stereo'): string {
  return join(folders.published, rendition === 'voice' ? `.${soundId}.voice.partial` : `.${soundId}.partial`);
}

/** The sound and rendition of a file name from {@link partialPath}; `undefined` for any other name. */
function tryParsePartialName(fileName: string): PartialCopy | undefined {
  const [, id, voice] = /^\.(\d+)(\.voice)?\.partial$/.exec(fileName) ?? [];
  return id === undefined ? undefined : { soundId: Number(id), rendition: voice ? 'voice' : 'stereo' };
}

/** Stands for the folder of an upload whose key is none; never created. */
const NO_UPLOAD = '.no-upload';

/** The folder of a queued upload. The key is generated, but its row may come from a backup or a dump of others. */
export function uploadFolder(folders: SoundFolders, uploadKey: string): string {
  return join(folders.inbox, isUploadKey(uploadKey) ? uploadKey : NO_UPLOAD);
}

/** Removes the folder of an upload, with everything in it. */
export async function removeUpload(folders: SoundFolders, uploadKey: string): Promise<void> {
  await rm(uploadFolder(folders, uploadKey), { recursive: true, force: true });
}

/** Moves a file, replacing the one at its new path. */
export type MoveFile = (from: string, to: string) => Promise<void>;

/**
 * Publishing, first half: a rendered file is copied as `.partial`, with its hash in the row, then renamed. Two files cannot be
 * renamed at once: after a crash between the two, the next worker renames the other.
 *
 * Copies a rendered file next to the published ones, and syncs it to the disk. The caller holds the sound's row: another
 * attempt would write the same file.
 */
export async function copyAsPartial(
  folders: SoundFolders,
  { soundId, rendition, from }: { soundId: number; rendition: Rendition; from: string },
): Promise<{ sha256: string; sizeBytes: number }> {
  const partial = partialPath(folders, soundId, rendition);
  await copyFile(from, partial);
  await syncToDisk(partial);
  const sha256 = await hashFile(partial);
  if (sha256 === undefined) throw new Error('the copy of a rendered file was removed');
  return { sha256, sizeBytes: (await stat(partial)).size };
}

/**
 * The files of a rendered sound that still have to be moved into place.
 * @returns `undefined` when the sound was not rendered, or one of its files is in neither place.
 */
export async function findUnmoved(
  folders: SoundFolders,
  sound: RoundSound,
): Promise<Rendition[] | undefined> {
  const unmoved: Rendition[] = [];
  if (sound.sha256 === null) return undefined;
  for (const rendition of RENDITIONS) {
    const sha256 = rendition === 'voice' ? sound.voiceSha256 : sound.sha256;
    if ((await hashFile(partialPath(folders, sound.id, rendition))) === sha256) unmoved.push(rendition);
    else if ((await hashFile(publishedPath(folders, sound.steamId64, rendition))) !== sha256)
      return undefined;
  }
  return unmoved;
}

/** Moves partial copies into place, and syncs the folder to the disk. */
export async function moveIntoPlace(
  folders: SoundFolders,
  sound: Pick<RoundSound, 'id' | 'steamId64'>,
  { renditions, moveFile = rename }: { renditions: readonly Rendition[]; moveFile?: MoveFile | undefined },
): Promise<void> {
  for (const rendition of renditions) {
    await moveFile(
      partialPath(folders, sound.id, rendition),
      publishedPath(folders, sound.steamId64, rendition),
    );
  }
  if (renditions.length > 0) await syncToDisk(folders.published);
}

/** Removes the partial copies of a sound. */
export async function removePartials(folders: SoundFolders, soundId: number): Promise<void> {
  for (const rendition of RENDITIONS) await removePartial(folders, { soundId, rendition });
}

/** Removes a partial copy, if there is one. */
export async function removePartial(
  folders: SoundFolders,
  { soundId, rendition }: PartialCopy,
): Promise<void> {
  await rm(partialPath(folders, soundId, rendition), { force: true });
}

/** Removes the published files. */
export async function removePublished(folders: SoundFolders, steamId64: SteamId64): Promise<void> {
  for (const rendition of RENDITIONS) {
    await rm(publishedPath(folders, steamId64, rendition), { force: true });
  }
}

/** The files in the folder of published sounds: those that are served, and copies from {@link copyAsPartial}. */
export async function listSoundFiles(folders: SoundFolders): Promise<{
  published: { steamId64: SteamId64; rendition: Rendition }[];
  partials: PartialCopy[];
}> {
  const names = await readdir(folders.published);
  return {
    published: names.flatMap((name) => {
      const steamId64 = tryParseSoundFileName(name);
      const rendition = RENDITIONS.find((each) => steamId64 && soundFileName(steamId64, each) === name);
      return steamId64 && rendition ? [{ steamId64, rendition }] : [];
    }),
    partials: names.flatMap((name) => tryParsePartialName(name) ?? []),
  };
}

/** Whether there is a published file. @throws when the disk fails. */
export async function isPublished(
  folders: SoundFolders,
  steamId64: SteamId64,
  rendition: Rendition,
): Promise<boolean> {
  return (await statIfFound(publishedPath(folders, steamId64, rendition))) !== undefined;
}

/** Keeps a published file without a row as an orphan, which is not served. @returns where it was. */
export async function setAside(
  folders: SoundFolders,
  steamId64: SteamId64,
  rendition: Rendition,
): Promise<string> {
  const path = publishedPath(folders, steamId64, rendition);
  await mkdir(folders.orphans, { recursive: true });
  await moveFile(path, join(folders.orphans, `${Date.now()}-${basename(path)}`));
  return path;
}

/** Whether sounds have been published here: an empty mount point, where files only seem to be lost, has no mark. */
export function isFolderMarked(folders: SoundFolders): Promise<boolean> {
  return Bun.file(join(folders.published, MARK_NAME)).exists();
}

/** @see isFolderMarked */
export async function markFolder(folders: SoundFolders): Promise<void> {
  await writeFile(join(folders.published, MARK_NAME), '');
}

/**
 * Removes the orphans that match.
 * @param isMeant called with the name of the file as it was published, and since when it is kept.
 */
export async function removeOrphans(
  folders: SoundFolders,
  isMeant: (fileName: string, orphanedAtMs: number) => boolean,
): Promise<void> {
  for (const name of await readdir(folders.orphans).catch(() => [])) {
    const [, orphanedAt, fileName = ''] = /^(\d+)-(.*)$/.exec(name) ?? [];
    const isOrphan = orphanedAt !== undefined && isMeant(fileName, Number(orphanedAt));
    if (isOrphan) await rm(join(folders.orphans, name), { force: true });
  }
}

/** Throws when the disk fails: a file that cannot be read now is not lost. */
export async function statIfFound(path: string): Promise<Stats | undefined> {
  return stat(path).catch((error: unknown) => {
    if (isNotFound(error)) return undefined;
    throw error;
  });
}
