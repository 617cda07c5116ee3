import type { RequestDb } from '../../../src/db/client.ts';
import { Unavailable } from '../../../src/domain/errors.ts';
import { maySeeDiscord, viewerOf } from '../../../src/domain/rights/discord-visibility.ts';
import { findPeople } from '../../../src/queries/people.ts';
import { searchPlayers } from '../../../src/queries/player-search.ts';
import {
  type Candidate,
  findOne,
  MAX_PLAYERS,
  type NamedPeople,
  type NamedPlayer,
} from '../penalties/player-choice.tsx';
import type { UserVisit } from '../request/visit.ts';
import type { ModerationDeps } from './frame.tsx';

type PeopleDeps = Pick<ModerationDeps, 'db' | 'resolveVanity'>;

/**
 * The player that a staff search means: a `PersonReference` or part of a name.
 * @param searchByName finds everybody with such a name, by default.
 */
export async function findNamedPlayer(
  deps: PeopleDeps,
  text: string,
  visit: UserVisit,
  searchByName: (
    db: RequestDb,
    text: string,
    options: { limit: number; now: Date },
  ) => Promise<readonly Candidate[]> = searchPlayers,
): Promise<NamedPlayer> {
  const { db } = deps;
  const { now } = visit;
  const named = await findNamedPeople(deps, text, visit);
  return findOne(db, text, {
    ...named,
    now,
    search: () => searchByName(db, text, { limit: MAX_PLAYERS, now }),
  });
}

/** The people that a staff search refers to, as {@link findPeople} finds them, not by part of a name. */
export async function findNamedPeople(
  { db, resolveVanity }: PeopleDeps,
  text: string,
  { user }: UserVisit,
): Promise<NamedPeople> {
  try {
    const people = await findPeople(db, text, {
      resolveVanity,
      maySeeDiscord: (each) => maySeeDiscord(each, viewerOf(user)),
    });
    return { people, isUnresolved: false };
  } catch (error) {
    if (error instanceof Unavailable) return { people: [], isUnresolved: true };
    throw error;
  }
}
