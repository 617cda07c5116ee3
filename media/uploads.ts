import { mkdir, open, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Db } from '../src/db/client.ts';
import { InvalidInput, Unavailable } from '../src/errors.ts';
import { type RoundSound, removeRoundSounds, saveUploadedSound } from '../src/queries/round-sounds.ts';
import { titleOf } from '../src/round-sound.ts';
import type { SteamId64 } from '../src/steam-id.ts';
import { UPLOAD_NAME } from './render.ts';
import {
  isDiskTrouble,
  isInPlace,
  publishedPath,
  type SoundFolders,
  syncToDisk,
  uploadFolder,
} from './sound-folders.ts';

export type SoundUpload = {
  steamId64: SteamId64;
  /** As the player's machine calls it; shown cleaned, never used as a path. */
  fileName: string;
  /** Where it fails, nothing is kept. */
  bytes: AsyncIterable<Uint8Array>;
  /** Who did it, for the audit log; null for the operator's tool. */
  actorUserId: number | null;
};

const PART_NAME = 'upload.part';

/**
 * Accepts an upload: when this returns, the bytes and their place in the queue survive the power cord.
 * The row comes after the bytes; a crash in between leaves a folder without a row, which the next start removes.
 * @param maxBytes the largest upload.
 * @throws {InvalidInput} when it is empty or too large.
 * @throws {Unavailable} when the disk has no room.
 * @throws what `upload.bytes` fails with.
 */
export async function storeUpload(
  db: Db,
  folders: SoundFolders,
  { upload, maxBytes }: { upload: SoundUpload; maxBytes: number },
): Promise<RoundSound> {
  const uploadKey = Bun.randomUUIDv7();
  const folder = uploadFolder(folders, uploadKey);
  let isStored = false;
  try {
    await mkdir(folder);
    await writeLimited(join(folder, PART_NAME), upload.bytes, maxBytes);
    await rename(join(folder, PART_NAME), join(folder, UPLOAD_NAME));
    await syncToDisk(folder);
    await syncToDisk(folders.inbox);
    isStored = true;
    const { steamId64, actorUserId } = upload;
    const title = titleOf(upload.fileName);
    const { sound, supersededKeys } = await saveUploadedSound(
      db,
      { steamId64, title, uploadKey, actorUserId },
      (earlier) => isInPlace(folders, earlier),
    );
    // Without a row now: what cannot be removed goes with the next comparison of disk and rows.
    await removeUploads(folders, supersededKeys).catch(() => undefined);
    return sound;
  } catch (error) {
    // The row may exist all the same when the answer to its insert was lost: then the folder must stay.
    if (!isStored || isDiskTrouble(error)) await rm(folder, { recursive: true, force: true });
    if (isDiskTrouble(error)) throw new Unavailable('There is no room for uploads now', { cause: error });
    throw error;
  }
}

/**
 * Removes all sounds of a player, with their files.
 * @throws {NotFound} when there are none.
 */
export async function removeSound(
  db: Db,
  folders: SoundFolders,
  { steamId64, actorUserId }: { steamId64: SteamId64; actorUserId: number | null },
): Promise<void> {
  const removed = await removeRoundSounds(db, steamId64, {
    actorUserId,
    removeFile: () => rm(publishedPath(folders, steamId64), { force: true }),
  });
  await removeUploads(
    folders,
    removed.map(({ uploadKey }) => uploadKey),
  );
}

async function removeUploads(folders: SoundFolders, uploadKeys: readonly string[]): Promise<void> {
  for (const key of uploadKeys) await rm(uploadFolder(folders, key), { recursive: true, force: true });
}

async function writeLimited(path: string, bytes: AsyncIterable<Uint8Array>, maxBytes: number): Promise<void> {
  const file = await open(path, 'wx', 0o600);
  try {
    let size = 0;
    for await (const chunk of bytes) {
      size += chunk.byteLength;
      if (size > maxBytes) {
        throw new InvalidInput(`The file is too large: at most ${Math.floor(maxBytes / 1_048_576)} MB`);
      }
      await file.writeFile(chunk);
    }
    if (size === 0) throw new InvalidInput('The file is empty');
    await file.sync();
  } finally {
    await file.close();
  }
}
