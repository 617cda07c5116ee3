import type { JSX } from 'hono/jsx/jsx-runtime';
import type { RequestDb } from '../../../src/db/client.ts';
import { NotFound } from '../../../src/domain/errors.ts';
import { type SteamId64, tryParseSteamId } from '../../../src/domain/steam-id.ts';
import { findUserBySteamId, type User } from '../../../src/queries/users/users.ts';
import { nameOf } from '../layout/person.tsx';
import type { UserVisit } from '../request/visit.ts';

/** The path of a player's record, which exists for every SteamID. */
export function pathOfPlayer({ steamId64 }: { steamId64: SteamId64 }): string {
  return `/account/moderation/users/${steamId64}`;
}

/** Parses the SteamID of a path. @throws {NotFound} */
export function parsePlayerId(id: string | undefined): SteamId64 {
  const steamId64 = tryParseSteamId(id ?? '');
  if (!steamId64) throw new NotFound('no such player');
  return steamId64;
}

/** Loads the user whose SteamID is the parameter of a path. @throws {NotFound} */
export async function loadNamedUser(db: RequestDb, id: string | undefined): Promise<User> {
  const user = await findUserBySteamId(db, parsePlayerId(id));
  if (!user) throw new NotFound('no such user');
  return user;
}

type PlayerLinkProps = {
  steamId64: SteamId64;
  /** Undefined for a player without an account. */
  nickname: string | undefined;
  visit: UserVisit;
};

/** A link to a player's moderation page: their nickname, or their SteamID without an account. */
export function PlayerLink({ steamId64, nickname, visit }: PlayerLinkProps): JSX.Element {
  return (
    <a href={pathOfPlayer({ steamId64 })} title={steamId64}>
      {nickname === undefined ? (
        <code>{steamId64}</code>
      ) : (
        <bdi>{nameOf({ nickname, steamId64 }, visit.language)}</bdi>
      )}
    </a>
  );
}
