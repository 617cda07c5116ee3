import { join } from 'node:path';
import { openSoundStore, type SoundStore } from '../../../media/sound-store.ts';
import { storeUpload } from '../../../media/uploads.ts';
import type { Db } from '../../../src/db/client.ts';
import { type Rendition, soundFileName } from '../../../src/domain/round-sound.ts';
import type { SteamId64 } from '../../../src/domain/steam-id.ts';
import type { RoundSound } from '../../../src/queries/round-sounds/round-sounds.ts';
import { aSteamId } from '../database/builders.ts';

/** Where the files of sounds lie, as operators and game servers find them. */
export type SoundFolders = { inbox: string; published: string; orphans: string };

/** The folders below `DATA_DIR` and `STORAGE_DIR`. */
export function soundFoldersIn({
  dataDir,
  storageDir,
}: {
  dataDir: string;
  storageDir: string;
}): SoundFolders {
  return {
    inbox: join(dataDir, 'inbox'),
    published: join(storageDir, 'roundsound'),
    orphans: join(storageDir, 'roundsound-orphans'),
  };
}

/** A store of sounds, and its folders. */
export async function openSounds(...options: Parameters<typeof openSoundStore>) {
  return { sounds: await openSoundStore(...options), folders: soundFoldersIn(options[0]) };
}

export function publishedPath(
  { published }: Pick<SoundFolders, 'published'>,
  steamId64: SteamId64,
  rendition: Rendition = 'stereo',
): string {
  return join(published, soundFileName(steamId64, rendition));
}

/** A rendered file before it is published. */
export function stagedPath({ published }: SoundFolders, soundId: number): string {
  return join(published, `.${soundId}.partial`);
}

/** Whose sounds most tests are. */
export const PLAYER = aSteamId(1);

export type UploadOptions = { fileName?: string; player?: SteamId64; maxBytes?: number };

/** Uploads a sound as an operator does. */
export function uploadSound(
  { db, sounds }: { db: Db; sounds: SoundStore },
  wav: Uint8Array,
  { fileName = 'tone.wav', player = PLAYER, maxBytes = 20_000_000 }: UploadOptions = {},
): Promise<RoundSound> {
  const bytes = new Blob([new Uint8Array(wav)]).stream();
  return storeUpload(db, sounds, { steamId64: player, fileName, bytes, actor: 'operator', maxBytes });
}
