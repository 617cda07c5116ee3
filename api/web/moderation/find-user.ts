import type { Db } from '../../../src/db/client.ts';
import { NotFound } from '../../../src/domain/errors.ts';
import { type SteamId64, tryParseSteamId } from '../../../src/domain/steam-id.ts';
import { findUserBySteamId, type User } from '../../../src/queries/users/users.ts';

/**
 * Loads the user whose SteamID is the parameter of a path.
 * @throws {NotFound}
 */
export async function loadNamedUser(db: Db, id: string | undefined): Promise<User> {
  const steamId = tryParseSteamId(id ?? '');
  const user = steamId && (await findUserBySteamId(db, steamId));
  if (!user) throw new NotFound('no such user');
  return user;
}

/** The path of a player's moderation page, which exists with and without an account. */
export function pathOfPlayer({ steamId64 }: { steamId64: SteamId64 }): string {
  return `/account/moderation/users/${steamId64}`;
}
