import { join } from 'node:path';
import { openSoundStore } from '../../../media/sound-store.ts';
import { type Rendition, soundFileName } from '../../../src/domain/round-sound.ts';
import type { SteamId64 } from '../../../src/domain/steam-id.ts';

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
