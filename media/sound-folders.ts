import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { type Rendition, soundFileName } from '../src/domain/round-sound.ts';
import type { SteamId64 } from '../src/domain/steam-id.ts';
import { makeFolder } from '../src/runtime/folder.ts';
import { isNotFound } from './disk-trouble.ts';

/** Where sounds lie on the disk. Processes that share a database share these folders too. */
export type SoundFolders = {
  /** One folder for each accepted upload, until it is ready or failed. */
  inbox: string;
  /** What is served: `{steamid64}.mp3` and `{steamid64}.voice.mp3`. Hidden names are never served. */
  published: string;
  /** Files found in `published` that no row knows; kept a while, never served. */
  orphans: string;
};

/**
 * The folders under the configured `DATA_DIR` and `STORAGE_DIR`; made when missing.
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

/** Where a player's sound is served from. */
export function publishedPath(
  folders: SoundFolders,
  steamId64: SteamId64,
  rendition: Rendition = 'stereo',
): string {
  return join(folders.published, soundFileName(steamId64, rendition));
}

/** A rendered file on its way to {@link publishedPath}: on the same file system, under a name that is not served. */
export function partialPath(folders: SoundFolders, soundId: number, rendition: Rendition = 'stereo'): string {
  return join(folders.published, rendition === 'voice' ? `.${soundId}.voice.partial` : `.${soundId}.partial`);
}

/** The sound and rendition of a name that {@link partialPath} makes; `undefined` for any other name. */
export function findPartial(fileName: string): { soundId: number; rendition: Rendition } | undefined {
  const [, id, voice] = /^\.(\d+)(\.voice)?\.partial$/.exec(fileName) ?? [];
  return id === undefined ? undefined : { soundId: Number(id), rendition: voice ? 'voice' : 'stereo' };
}

/** Where an upload waits for its turn. `uploadKey` is one we made, never what a visitor sent. */
export function uploadFolder(folders: SoundFolders, uploadKey: string): string {
  return join(folders.inbox, uploadKey);
}

/** Waits until the file, or the names in the folder, are on the disk and not only in its cache. */
export async function syncToDisk(path: string): Promise<void> {
  const handle = await open(path, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** SHA-256 of a file, hexadecimal; undefined when there is none. */
export async function hashFile(path: string): Promise<string | undefined> {
  const hash = createHash('sha256');
  try {
    for await (const chunk of createReadStream(path)) hash.update(chunk);
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
  return hash.digest('hex');
}
