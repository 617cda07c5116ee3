import { mkdir, open, rename } from 'node:fs/promises';
import { join } from 'node:path';
import type { Db } from '../src/db/client.ts';
import { Forbidden, InvalidInput, NotFound, Unavailable } from '../src/domain/errors.ts';
import type { Actor } from '../src/domain/rights/actor.ts';
import { mayHaveSound, type SoundAudience } from '../src/domain/rights/sound-audience.ts';
import {
  type SoundFolders,
  type SoundUpload,
  titleFromFileName,
  tryParseSoundFileName,
  UPLOAD_NAME,
} from '../src/domain/round-sound.ts';
import type { SteamId64 } from '../src/domain/steam-id.ts';
import { saveSoundReady, saveUploadedSound } from '../src/queries/round-sounds/round-sound-queue.ts';
import {
  findRoundSounds,
  lockPlayer,
  type RoundSound,
  removeRoundSounds,
} from '../src/queries/round-sounds/round-sounds.ts';
import { findUserBySteamId, requireUnblocked } from '../src/queries/users/users.ts';
import { syncToDisk } from '../src/runtime/folder.ts';
import { isDiskTrouble } from './disk-trouble.ts';
import {
  findUnmoved,
  moveIntoPlace,
  removeOrphans,
  removePublished,
  removeUpload,
  uploadFolder,
} from './sound-files.ts';

const PART_NAME = 'upload.part';

/**
 * Accepts an upload: when this returns, the file and its place in the queue survive a power failure.
 * The row is inserted after the file; a crash in between leaves a folder without a row, which the next start removes.
 * @param maxBytes the largest allowed upload.
 * @param audience who may have a sound; everyone by default.
 * @throws {Forbidden} when the player may have no sound, or is blocked before the upload is complete.
 * @throws {NotFound} when the uploading user has deleted their account meanwhile.
 * @throws {InvalidInput} when the file is empty or too large.
 * @throws {Unavailable} when the disk is full or fails.
 * @throws what `upload.bytes` fails with.
 */
export async function storeUpload(
  db: Db,
  folders: SoundFolders,
  {
    upload,
    maxBytes,
    audience = 'everyone',
  }: { upload: SoundUpload; maxBytes: number; audience?: SoundAudience },
): Promise<RoundSound> {
  await requireSoundRight(db, upload.steamId64, audience);
  const uploadKey = Bun.randomUUIDv7();
  const folder = uploadFolder(folders, uploadKey);
  let isStored = false;
  try {
    await mkdir(folder);
    await writeLimited(join(folder, PART_NAME), upload.bytes, maxBytes);
    await requireSoundRight(db, upload.steamId64, audience);
    await rename(join(folder, PART_NAME), join(folder, UPLOAD_NAME));
    await syncToDisk(folder);
    await syncToDisk(folders.inbox);
    isStored = true;
    const { steamId64, start, actor } = upload;
    const title = titleFromFileName(upload.fileName);
    const { sound, supersededKeys } = await db.transaction(async (tx) => {
      await lockPlayer(tx, steamId64);
      await publishMoved(tx, folders, steamId64);
      return saveUploadedSound(tx, { steamId64, title, uploadKey, start, actor });
    });
    // Superseded uploads have no row any more: if removing them fails, the next `reconcileSounds` does it.
    await Promise.allSettled(supersededKeys.map((key) => removeUpload(folders, key)));
    return sound;
  } catch (error) {
    // If the response to the insert was lost, the row may exist: then the folder must stay.
    const isRefused = isDiskTrouble(error) || error instanceof NotFound;
    if (!isStored || isRefused) await removeUpload(folders, uploadKey);
    if (isDiskTrouble(error)) throw new Unavailable('There is no room for uploads now', { cause: error });
    throw error;
  }
}

/** Publishes the player's unfinished sound if its worker died after moving its files. The caller holds the player's lock. */
async function publishMoved(tx: Db, folders: SoundFolders, steamId64: SteamId64): Promise<void> {
  const { latest } = await findRoundSounds(tx, steamId64);
  if (latest === undefined || latest.status === 'failed') return;
  const unmoved = await findUnmoved(folders, latest);
  if (unmoved === undefined || unmoved.includes('stereo')) return;
  await moveIntoPlace(folders, latest, { renditions: unmoved });
  await saveSoundReady(tx, latest);
}

async function requireSoundRight(db: Db, steamId64: SteamId64, audience: SoundAudience): Promise<void> {
  const user = await findUserBySteamId(db, steamId64);
  requireUnblocked(user);
  if (audience === 'everyone' || mayHaveSound(audience, user)) return;
  throw new Forbidden(
    `${steamId64} may not have a round-end sound: SOUND_FOR=${audience.join(',')} does not include them`,
  );
}

/**
 * Removes all sounds of a player, with their files.
 * @throws {NotFound} when there are none.
 */
export async function removeSound(
  db: Db,
  folders: SoundFolders,
  { steamId64, actor }: { steamId64: SteamId64; actor: Actor },
): Promise<void> {
  const sounds = await db.transaction(async (tx) => {
    await lockPlayer(tx, steamId64);
    const rows = await removeRoundSounds(tx, steamId64, { actor });
    await removePublished(folders, steamId64);
    return rows;
  });
  for (const { uploadKey } of sounds) await removeUpload(folders, uploadKey);
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

/**
 * Removes all sounds of a player: rows, published and queued files, and orphaned files.
 * @param db a transaction that holds the player's lock, so that none of their files is published or moved meanwhile.
 */
export async function eraseSound(
  db: Db,
  folders: SoundFolders,
  { steamId64, actor }: { steamId64: SteamId64; actor: Actor },
): Promise<void> {
  await removeSound(db, folders, { steamId64, actor }).catch((error: unknown) => {
    if (!(error instanceof NotFound)) throw error;
  });
  await removePublished(folders, steamId64);
  await removeOrphans(folders, (fileName) => tryParseSoundFileName(fileName) === steamId64);
}
