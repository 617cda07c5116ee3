import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Db } from '../src/db/client.ts';
import { NotFound } from '../src/domain/errors.ts';
import type { Actor } from '../src/domain/rights/actor.ts';
import type { SteamId64 } from '../src/domain/steam-id.ts';
import { removePublished } from './publication.ts';
import type { SoundFolders } from './sound-folders.ts';
import { removeSound } from './uploads.ts';

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
  const orphans = await readdir(folders.orphans).catch(() => []);
  for (const name of orphans) {
    if (name.includes(steamId64)) await rm(join(folders.orphans, name), { force: true });
  }
}
