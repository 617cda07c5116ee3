import type { JSX } from 'hono/jsx/jsx-runtime';
import type { RequestDb } from '../../../src/db/client.ts';
import { type SteamId64, tryParseSteamReference } from '../../../src/domain/steam-id.ts';
import { type FoundPlayer, listPlayers, searchPlayers } from '../../../src/queries/player-search.ts';
import { addressWith } from '../layout/pages-nav.tsx';
import { nameOf } from '../layout/person.tsx';
import { textsOf } from '../locales/texts.ts';
import type { Visit } from '../request/visit.ts';
import { BannedBadge } from './penalty-words.tsx';

/** How many players a search by name finds. */
export const MAX_PLAYERS = 25;

/** A player to choose, or an admin by the penalties they gave. */
export type Candidate = Pick<FoundPlayer, 'steamId64' | 'name' | 'penalties'> &
  Partial<Pick<FoundPlayer, 'matchedName' | 'isBanned'>>;

/** The people that a text refers to, not by part of a name. */
export type NamedPeople = {
  /** Empty: the text can only be a name. */
  people: readonly SteamId64[];
  /** It is a custom profile address, and Steam was not asked, or did not respond. */
  isUnresolved: boolean;
};

/** The player or players that a search matches. */
export type NamedPlayer = Pick<NamedPeople, 'isUnresolved'> & {
  /** The one matching player; absent when the text is empty, or matches none or several. */
  steamId64?: SteamId64 | undefined;
  /** The latest name of a player who was found by name. */
  name?: string;
  /** The text matches no single player. */
  hasNoMatch: boolean;
  /** The players to choose from when several match; otherwise empty. */
  candidates: readonly Candidate[];
};

/**
 * Finds the player that the public search means: by SteamID, profile address or part of a name in penalties, since
 * nicknames of accounts are not public. Custom profile addresses are not resolved: only Steam's Web API can do that,
 * and its daily calls are limited.
 */
export async function findPublicPlayer(db: RequestDb, text: string, now: Date): Promise<NamedPlayer> {
  const reference = tryParseSteamReference(text);
  const isUnresolved = reference !== undefined && 'vanityName' in reference;
  const people = reference && 'steamId64' in reference ? [reference.steamId64] : [];
  const search = () => searchPlayers(db, text, { limit: MAX_PLAYERS, now, scope: 'penaltyNames' });
  return findOne(db, text, { people, isUnresolved, search, now });
}

/** The one player among `people`, or that `search` finds. @param text no filter when empty. */
export async function findOne(
  db: RequestDb,
  text: string,
  {
    people,
    isUnresolved,
    search,
    now,
  }: NamedPeople & { search: () => Promise<readonly Candidate[]>; now: Date },
): Promise<NamedPlayer> {
  if (text === '') return { hasNoMatch: false, isUnresolved, candidates: [] };
  const [person, ...others] = people;
  if (person && others.length === 0) {
    return { steamId64: person, hasNoMatch: false, isUnresolved, candidates: [] };
  }
  const candidates = person ? await listPlayers(db, people, { now }) : await search();
  const [only, ...rest] = candidates;
  if (only && rest.length === 0) {
    return { steamId64: only.steamId64, name: only.name, hasNoMatch: false, isUnresolved, candidates: [] };
  }
  return { hasNoMatch: true, isUnresolved, candidates };
}

type ChoiceProps = {
  candidates: readonly Candidate[];
  /** The question; about players by default. */
  lead?: string;
  /** The query parameter with the search. */
  parameter: string;
  visit: Visit;
};

/** Links to the players to choose from; null without any. */
export function PlayerChoice({ candidates, lead, parameter, visit }: ChoiceProps): JSX.Element | null {
  const t = textsOf(visit.language).penalties;
  if (candidates.length === 0) return null;
  return (
    <>
      <p class="lead">{lead ?? t.severalPlayers}</p>
      <ul class="choices">
        {candidates.map(({ steamId64, name, matchedName = name, penalties, isBanned = false }) => (
          <li>
            <a href={addressWith(visit, { [parameter]: steamId64, page: undefined })}>
              <bdi>{nameOf({ nickname: name, steamId64 }, visit.language)}</bdi>
            </a>{' '}
            {isBanned && <BannedBadge visit={visit} />}
            <span class="hint">
              <bdi>{matchedName !== name && matchedName}</bdi> {t.count(penalties)} · {steamId64}
            </span>
          </li>
        ))}
      </ul>
    </>
  );
}
