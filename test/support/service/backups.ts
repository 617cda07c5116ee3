import { createHash } from 'node:crypto';
import { join } from 'node:path';
import type { Db } from '../../../src/db/client.ts';
import { UPLOAD_NAME } from '../../../src/domain/round-sound.ts';
import { createLogger } from '../../../src/runtime/log.ts';
import { openSounds, type SoundFolders } from '../audio/sound-folders.ts';
import { aSteamId, insertReadySound } from '../database/builders.ts';

/** The key of an upload. */
export const UPLOAD = '0190c2a5-7a51-7c52-a6a1-2f6a0d2f9c11';

export const hash = (text: string) => createHash('sha256').update(text).digest('hex');

/** Options of a restore that replaces everything. */
export const REPLACING = { log: createLogger('silent'), confirmLoss: async () => {} };

/** A store of sounds below a folder, as backup and restore get it, and its folders. */
export const openSoundsIn = (path: string, name = '') =>
  openSoundsOf({ dataDir: join(path, `${name}data`), storageDir: join(path, `${name}storage`) });

export async function openSoundsOf(dirs: { dataDir: string; storageDir: string }) {
  return openSounds(dirs);
}

/** A published sound of a player, with its row. */
export async function insertSoundFile(
  db: Db,
  { published }: SoundFolders,
  number: number,
  text: string,
): Promise<void> {
  await Bun.write(join(published, `${aSteamId(number)}.mp3`), text);
  await insertReadySound(db, aSteamId(number), 'track.wav', { sha256: hash(text) });
}

/** The queued upload of a player, with its row. */
export async function insertUpload(
  db: Db,
  { inbox }: SoundFolders,
  number: number,
  text: string,
): Promise<void> {
  await Bun.write(join(inbox, UPLOAD, UPLOAD_NAME), text);
  await insertReadySound(db, aSteamId(number), 'waits.wav', {
    status: 'queued',
    uploadKey: UPLOAD,
    sha256: null,
    readyAt: null,
  });
}
