import type { Db } from '../../../src/db/client.ts';
import { NotFound } from '../../../src/domain/errors.ts';
import { type SteamId64, tryParseSteamId } from '../../../src/domain/steam-id.ts';
import { loadPlayerRecord, type PlayerRecord } from '../../../src/queries/penalties/player-record.ts';
import { findRoundSounds } from '../../../src/queries/round-sounds/round-sounds.ts';
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

/** Whether a player has an account, penalties or a sound, and so a moderation page. */
export async function isKnownPlayer(db: Db, steamId64: SteamId64, { now }: { now: Date }): Promise<boolean> {
  const [user, record, sounds] = await Promise.all([
    findUserBySteamId(db, steamId64),
    loadPlayerRecord(db, steamId64, { page: 1, perPage: 1, now }),
    findRoundSounds(db, steamId64),
  ]);
  return isKnown({ user, record, sounds });
}

/** What the database has about a player. */
type Findings = {
  user: User | undefined;
  record: PlayerRecord;
  sounds: Awaited<ReturnType<typeof findRoundSounds>>;
};

/** Like {@link isKnownPlayer}, but judges by what has already been loaded. */
export function isKnown({ user, record, sounds }: Findings): boolean {
  return Boolean(
    user ?? sounds.ready ?? sounds.latest ?? Object.values(record.counts).some((count) => count > 0),
  );
}

/** The path of a player's moderation page, which exists with and without an account. */
export function pathOfPlayer({ steamId64 }: { steamId64: SteamId64 }): string {
  return `/account/moderation/users/${steamId64}`;
}
