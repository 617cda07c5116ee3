import type { JSX } from 'hono/jsx/jsx-runtime';
import type { SteamId64 } from '../../../src/domain/steam-id.ts';
import { nameOf } from '../layout/person.tsx';
import type { MemberVisit } from '../request/visit.ts';
import { pathOfPlayer } from './find-user.ts';

type PlayerLinkProps = {
  steamId64: SteamId64;
  /** Undefined for a player without an account. */
  nickname: string | undefined;
  visit: MemberVisit;
};

/** A link to a player's moderation page: their nickname, or their SteamID without an account. */
export function PlayerLink({ steamId64, nickname, visit }: PlayerLinkProps): JSX.Element {
  return (
    <a href={pathOfPlayer({ steamId64 })} title={steamId64}>
      {nickname === undefined ? (
        <code>{steamId64}</code>
      ) : (
        <bdi>{nameOf({ nickname, steamId64 }, visit.locale)}</bdi>
      )}
    </a>
  );
}
