import type { JSX } from 'hono/jsx/jsx-runtime';
import type { Db } from '../../../src/db/client.ts';
import { type SteamId64, tryParseSteamReference } from '../../../src/domain/steam-id.ts';
import { type FoundPlayer, type SearchScope, searchPlayers } from '../../../src/queries/player-search.ts';
import { textsOf } from '../layout/locales/texts.ts';
import { addressWith } from '../layout/pages-nav.tsx';
import { nameOf } from '../layout/person.tsx';
import type { Visit } from '../request/visit.ts';

const MAX_PLAYERS = 25;

export type Candidate = Pick<FoundPlayer, 'steamId64' | 'name' | 'matchedName' | 'penalties'>;

/** The player or players that a search matches. */
export type NamedPlayer = {
  /** The one matching player; absent when the text is empty, or matches none or several. */
  steamId64?: SteamId64 | undefined;
  /** The latest name of one who was found by name. */
  name?: string;
  /** The text matches no single player. */
  hasNoMatch: boolean;
  /** The players to choose from when several match; otherwise empty. */
  candidates: readonly Candidate[];
};

/** Finds the player that a SteamID, a profile address or part of a name means. @param text no filter when empty. */
export async function findNamedPlayer(
  db: Db,
  text: string,
  options: { now: Date; scope: SearchScope },
): Promise<NamedPlayer> {
  return findOne(text, () => searchPlayers(db, text, { limit: MAX_PLAYERS, ...options }));
}

/** Like {@link findNamedPlayer}, with another search. */
export async function findOne(
  text: string,
  search: () => Promise<readonly Candidate[]>,
): Promise<NamedPlayer> {
  if (text === '') return { hasNoMatch: false, candidates: [] };
  const reference = tryParseSteamReference(text);
  if (reference && 'steamId64' in reference) {
    return { steamId64: reference.steamId64, hasNoMatch: false, candidates: [] };
  }
  const candidates = await search();
  const [only, ...others] = candidates;
  if (only && others.length === 0) {
    return { steamId64: only.steamId64, name: only.name, hasNoMatch: false, candidates: [] };
  }
  return { hasNoMatch: true, candidates };
}

/** Custom profile addresses are not searched for: only Steam's Web API resolves them, and its daily calls are limited. */
export function isCustomAddress(text: string): boolean {
  const reference = tryParseSteamReference(text);
  return reference !== undefined && 'vanityName' in reference;
}

type ChoiceProps = {
  candidates: readonly Candidate[];
  /** The question; about players by default. */
  lead?: string;
  /** The query parameter with the search. */
  parameter: string;
  visit: Visit;
};

/** Links to each player that a name may mean; null without any. */
export function PlayerChoice({ candidates, lead, parameter, visit }: ChoiceProps): JSX.Element | null {
  const t = textsOf(visit.locale).penalties;
  if (candidates.length === 0) return null;
  return (
    <>
      <p class="lead">{lead ?? t.severalPlayers}</p>
      <ul class="choices">
        {candidates.map((player) => (
          <li>
            <a href={addressWith(visit, { [parameter]: player.steamId64, page: undefined })}>
              <bdi>{nameOf({ nickname: player.name, steamId64: player.steamId64 }, visit.locale)}</bdi>
            </a>{' '}
            <span class="hint">
              <bdi>{player.matchedName !== player.name && player.matchedName}</bdi>{' '}
              {t.count(player.penalties)} · {player.steamId64}
            </span>
          </li>
        ))}
      </ul>
    </>
  );
}
