import { copyFile, rename, rm, stat } from 'node:fs/promises';
import { RENDITIONS, type Rendition } from '../src/domain/round-sound.ts';
import type { SteamId64 } from '../src/domain/steam-id.ts';
import type { RoundSound } from '../src/queries/round-sounds/round-sounds.ts';
import { hashFile, syncToDisk } from '../src/runtime/folder.ts';
import { partialPath, publishedPath, type SoundFolders } from './sound-folders.ts';

/**
 * Publishing the files of a sound. A rendered file is first copied as `.partial`, with its hash in the row, then renamed.
 * Two files cannot be renamed at once: after a crash between the two, the next worker renames the other.
 */

/** Moves a file, replacing the one at its new path. */
export type MoveFile = (from: string, to: string) => Promise<void>;

/**
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
    const expected = rendition === 'voice' ? sound.voiceSha256 : sound.sha256;
    if (expected === null) continue;
    if ((await hashFile(partialPath(folders, sound.id, rendition))) === expected) unmoved.push(rendition);
    else if ((await hashFile(publishedPath(folders, sound.steamId64, rendition))) !== expected)
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

/**
 * Whether the published files are those of this sound; completes the move if a worker died between the two files.
 * The caller holds the player's lock.
 */
export async function completeMove(folders: SoundFolders, sound: RoundSound): Promise<boolean> {
  const unmoved = await findUnmoved(folders, sound);
  if (unmoved === undefined || unmoved.includes('stereo')) return false;
  await moveIntoPlace(folders, sound, { renditions: unmoved });
  return true;
}

/** Removes partial copies. */
export async function removePartials(folders: SoundFolders, soundId: number): Promise<void> {
  for (const rendition of RENDITIONS) await rm(partialPath(folders, soundId, rendition), { force: true });
}

/** Removes the published files, the stereo one last: while it exists, a missing voice rendition is rendered again. */
export async function removePublished(folders: SoundFolders, steamId64: SteamId64): Promise<void> {
  for (const rendition of RENDITIONS.toReversed()) {
    await rm(publishedPath(folders, steamId64, rendition), { force: true });
  }
}
