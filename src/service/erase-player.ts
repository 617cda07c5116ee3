import { eraseSound } from '../../media/uploads.ts';
import type { Db } from '../db/client.ts';
import type { Actor } from '../domain/rights/actor.ts';
import type { SoundFolders } from '../domain/round-sound.ts';
import type { SteamId64 } from '../domain/steam-id.ts';
import { type Erasure, erasePerson } from '../queries/personal-data/erasure.ts';

/**
 * Deletes what is stored about a player, in tables and files; after an interruption it can be repeated.
 * @param options.withPenalties as for {@link erasePerson}.
 */
export async function erasePlayer(
  db: Db,
  folders: SoundFolders,
  { steamId64, ...options }: { steamId64: SteamId64; withPenalties: boolean; actor: Actor },
): Promise<Erasure> {
  const removeSounds = (tx: Db) => eraseSound(tx, folders, { steamId64, actor: options.actor });
  return erasePerson(db, steamId64, { ...options, removeSounds });
}
