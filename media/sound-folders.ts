import { join } from 'node:path';
import { isUploadKey, type Rendition, soundFileName } from '../src/domain/round-sound.ts';
import type { SteamId64 } from '../src/domain/steam-id.ts';
import { makeFolder } from '../src/runtime/folder.ts';

/** The folders of sounds. Processes that share a database share them too. */
export type SoundFolders = {
  /** One folder for each accepted upload, until it is ready or failed. */
  inbox: string;
  /** The files that are served: `{steamid64}.mp3` and `{steamid64}.voice.mp3`. Hidden names are never served. */
  published: string;
  /** Files without a row that were found in `published`; kept for a while, never served. */
  orphans: string;
};

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
export function tryParsePartialName(fileName: string): { soundId: number; rendition: Rendition } | undefined {
  const [, id, voice] = /^\.(\d+)(\.voice)?\.partial$/.exec(fileName) ?? [];
  return id === undefined ? undefined : { soundId: Number(id), rendition: voice ? 'voice' : 'stereo' };
}

/** Stands for the folder of an upload whose key is none; never created. */
const NO_UPLOAD = '.no-upload';

/** The folder of a queued upload. The key is generated, but its row may come from a backup or a dump of others. */
export function uploadFolder(folders: SoundFolders, uploadKey: string): string {
  return join(folders.inbox, isUploadKey(uploadKey) ? uploadKey : NO_UPLOAD);
}
