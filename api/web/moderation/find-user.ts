import type { Db } from '../../../src/db/client.ts';
import { NotFound } from '../../../src/domain/errors.ts';
import { type SteamId64, tryParseSteamId } from '../../../src/domain/steam-id.ts';
import { findUserBySteamId, type User } from '../../../src/queries/users/users.ts';

/**
 * Loads the user whose SteamID is the parameter of a path.
 * @throws {NotFound}
 */
export async function loadNamedUser(db: Db, id: string | undefined): Promise<User> {
  const user = await findUserBySteamId(db, parsePlayerId(id));
  if (!user) throw new NotFound('no such user');
  return user;
}

/**
 * Parses the SteamID of a path.
 * @throws {NotFound}
 */
export function parsePlayerId(id: string | undefined): SteamId64 {
  const steamId64 = tryParseSteamId(id ?? '');
  if (!steamId64) throw new NotFound('no such player');
  return steamId64;
}

/** The path of a player's record, which exists for every SteamID. */
export function pathOfPlayer({ steamId64 }: { steamId64: SteamId64 }): string {
  return `/account/moderation/users/${steamId64}`;
}
