import type { SoundStore } from '../../media/sound-store.ts';
import { eraseSound } from '../../media/uploads.ts';
import type { Db, Tx } from '../db/client.ts';
import type { Actor } from '../domain/rights/actor.ts';
import type { SteamId64 } from '../domain/steam-id.ts';
import { type Erasure, erasePerson } from '../queries/personal-data/erasure.ts';

/**
 * Deletes what is stored about a player, in tables and files; after an interruption it can be repeated.
 * @param options.withPenalties as for {@link erasePerson}.
 */
export async function erasePlayer(
  db: Db,
  sounds: SoundStore,
  { steamId64, ...options }: { steamId64: SteamId64; withPenalties: boolean; actor: Actor },
): Promise<Erasure> {
  const removeSounds = (tx: Tx) => eraseSound(tx, sounds, { steamId64, actor: options.actor });
  return erasePerson(db, steamId64, { ...options, removeSounds });
}
