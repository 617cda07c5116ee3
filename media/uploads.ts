import { type Db, inTransaction, type Tx } from '../src/db/client.ts';
import { Forbidden, NotFound, Unavailable } from '../src/domain/errors.ts';
import type { Actor } from '../src/domain/rights/actor.ts';
import { mayHaveSound, type SoundAudience } from '../src/domain/rights/sound-audience.ts';
import { type SoundStart, titleFromFileName, tryParseSoundFileName } from '../src/domain/round-sound.ts';
import type { SteamId64 } from '../src/domain/steam-id.ts';
import { saveSoundReady, saveUploadedSound } from '../src/queries/round-sounds/round-sound-queue.ts';
import {
  findRoundSounds,
  lockPlayer,
  type RoundSound,
  removeRoundSounds,
} from '../src/queries/round-sounds/round-sounds.ts';
import { findUserBySteamId, requireUnblocked } from '../src/queries/users/users.ts';
import { isDiskTrouble } from './disk-trouble.ts';
import type { SoundStore } from './sound-store.ts';

/** The bytes of an upload, which fail when it is broken off or turns out to be invalid. */
type ArrivingUpload = { steamId64: SteamId64; bytes: AsyncIterable<Uint8Array>; maxBytes: number };

/** An upload whose bytes are in the store. */
type ReceivedUpload = {
  steamId64: SteamId64;
  uploadKey: string;
  /** The name on the player's machine: shown cleaned, never used as a path. */
  fileName: string;
  /** Where the excerpt begins; at the first audible sound by default. */
  start?: SoundStart | undefined;
  actor: Actor;
};

type Rules = {
  /** Who may have a sound; everyone by default. */
  audience?: SoundAudience;
};

/**
 * Stores the bytes of an upload. Without a row, which {@link queueUpload} inserts, the next start removes them.
 * @returns the key of the upload.
 * @throws {Forbidden} when the player may have no sound, or is blocked.
 * @throws {InvalidInput} when the file is empty or too large.
 * @throws {Unavailable} when the disk is full or fails.
 * @throws what `bytes` fails with.
 */
export async function receiveUpload(
  db: Db,
  sounds: SoundStore,
  { steamId64, bytes, maxBytes, audience = 'everyone' }: ArrivingUpload & Rules,
): Promise<string> {
  await requireSoundRight(db, steamId64, audience);
  return sounds.uploads.put(bytes, maxBytes).catch(throwTrouble);
}

/**
 * Puts an upload into the queue: when this returns, it survives a power failure.
 * @throws {Forbidden} as {@link receiveUpload}, {NotFound} when the uploading user has deleted their account meanwhile,
 * {Unavailable} when the disk fails. Then the bytes are removed.
 */
export async function queueUpload(
  db: Db,
  sounds: SoundStore,
  { fileName, audience = 'everyone', ...upload }: ReceivedUpload & Rules,
): Promise<RoundSound> {
  const { steamId64, uploadKey } = upload;
  try {
    await requireSoundRight(db, steamId64, audience);
    const { sound, supersededKeys } = await inTransaction(db, async (tx) => {
      await lockPlayer(tx, steamId64);
      const { latest } = await findRoundSounds(tx, steamId64);
      // Its files may be in place already: a worker died before it saved that.
      if (latest && isRendered(latest)) {
        await sounds.publish(latest);
        await saveSoundReady(tx, latest);
      }
      return saveUploadedSound(tx, { ...upload, title: titleFromFileName(fileName) });
    });
    // Superseded uploads have no row any more: if removing them fails, the next `reconcileSounds` does it.
    await Promise.allSettled(supersededKeys.map(sounds.uploads.remove));
    return sound;
  } catch (error) {
    // If the response to the insert was lost, the row may exist: then the upload must stay.
    const isRefused = isDiskTrouble(error) || error instanceof Forbidden || error instanceof NotFound;
    if (isRefused) await sounds.uploads.remove(uploadKey);
    return throwTrouble(error);
  }
}

function throwTrouble(error: unknown): never {
  throw toUnavailable(error, 'There is no room for uploads now');
}

function toUnavailable(error: unknown, message: string): unknown {
  return isDiskTrouble(error) ? new Unavailable(message, { cause: error }) : error;
}

/** @throws {Unavailable} when the disk fails, such as one that is read-only. */
async function removeFiles(work: () => Promise<void>): Promise<void> {
  await work().catch((error: unknown) => {
    throw toUnavailable(error, 'Sounds cannot be removed now, because the disk fails');
  });
}

/** {@link receiveUpload}, then {@link queueUpload}. */
export async function storeUpload(
  db: Db,
  sounds: SoundStore,
  { bytes, maxBytes, ...upload }: ArrivingUpload & Omit<ReceivedUpload, 'uploadKey'> & Rules,
): Promise<RoundSound> {
  const uploadKey = await receiveUpload(db, sounds, { bytes, maxBytes, ...upload });
  return queueUpload(db, sounds, { uploadKey, ...upload });
}

/** Whether only the last step of publishing is missing: its rendered files are staged, or in place already. */
export function isRendered({ status, sha256 }: Pick<RoundSound, 'status' | 'sha256'>): boolean {
  return status !== 'ready' && status !== 'failed' && sha256 !== null;
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
 * @throws {NotFound} when there are none, {Unavailable} when the disk fails.
 */
export async function removeSound(
  db: Db,
  sounds: SoundStore,
  { steamId64, actor }: { steamId64: SteamId64; actor: Actor },
): Promise<void> {
  const removed = await inTransaction(db, async (tx) => {
    await lockPlayer(tx, steamId64);
    const rows = await removeRoundSounds(tx, steamId64, { actor });
    await removeFiles(() => sounds.remove(steamId64));
    return rows;
  });
  for (const { uploadKey } of removed) await removeFiles(() => sounds.uploads.remove(uploadKey));
}

/**
 * Removes all sounds of a player: rows, published and queued files, and orphaned files.
 * @throws {Unavailable} when the disk fails.
 * @param tx holds the player's lock, so that none of their files is published or moved meanwhile.
 */
export async function eraseSound(
  tx: Tx,
  sounds: SoundStore,
  { steamId64, actor }: { steamId64: SteamId64; actor: Actor },
): Promise<void> {
  const removed = await removeRoundSounds(tx, steamId64, { actor }).catch((error: unknown) => {
    if (error instanceof NotFound) return [];
    throw error;
  });
  await removeFiles(async () => {
    for (const { uploadKey } of removed) await sounds.uploads.remove(uploadKey);
    await sounds.remove(steamId64);
    await sounds.removeOrphans((fileName) => tryParseSoundFileName(fileName) === steamId64);
  });
}
