import type { Db } from '../db/client.ts';
import { Conflict, InvalidInput, NotFound, Unavailable } from '../domain/errors.ts';
import { tryParsePersonReference } from '../domain/person-reference.ts';
import { parseSteamId, type SteamId64, tryParseSteamReference } from '../domain/steam-id.ts';
import { escapeUnprintable } from '../domain/text/escape-unprintable.ts';
import { findPeople } from '../queries/people.ts';
import { listPlayers, searchPlayers } from '../queries/player-search.ts';
import { countSteamCall } from '../queries/steam-bans.ts';
import { findUser, type LookedUpUser } from '../queries/users/users.ts';
import { createSteamApi } from '../steam/steam-api.ts';
import { createVanityNames } from '../steam/vanity-names.ts';
import type { Context } from './context.ts';

const MAX_CANDIDATES = 10;

/** How an operator refers to a person whom a command changes: by nothing that may also be a name. */
type Who = { discordId: string } | { steamId64: SteamId64 };

/** The people that a text refers to, as {@link findPeople} finds them, not by part of a name. */
export function findNamedPeople(context: Context, db: Db, text: string): Promise<SteamId64[]> {
  return findPeople(db, text, {
    resolveVanity: (name) => resolveVanity(context, name),
    maySeeDiscord: () => true,
  });
}

/**
 * The one player that a text means: a `PersonReference` or part of a name.
 * @throws {NotFound} when it means nobody here; {@link Conflict} when it means several; {@link Unavailable} when Steam
 * cannot be asked for a custom profile address.
 */
export async function findPlayer(context: Context, text: string): Promise<SteamId64> {
  const { db } = await context.database();
  const people = await findNamedPeople(context, db, text);
  const [person, ...others] = people;
  if (person && others.length === 0) return person;
  const now = new Date();
  const candidates = person
    ? await listPlayers(db, people, { now })
    : await searchPlayers(db, text, { limit: MAX_CANDIDATES, now });
  const [only, ...rest] = candidates;
  if (!only) {
    throw new NotFound(
      `Nobody here is known as ${JSON.stringify(text)}: use a SteamID, profile address, account id, Discord id, @name or part of a name`,
    );
  }
  if (rest.length === 0) return only.steamId64;
  const names = candidates.map(({ steamId64, name }) => `${steamId64} ${escapeUnprintable(name)}`);
  throw new Conflict(`Several players match ${JSON.stringify(text)}: use a SteamID\n${names.join('\n')}`);
}

/**
 * The user with this SteamID in any notation, Steam profile address or Discord id, for a command that changes them.
 * @throws {NotFound} when there is none.
 */
export async function loadUser(context: Context, id: string): Promise<{ db: Db; user: LookedUpUser }> {
  const who = await readWho(context, id);
  const { db } = await context.database();
  const user = await findUser(db, who, new Date());
  if (user) return { db, user };
  throw userNotFound(who);
}

/** The error for an id that no user has. */
export function userNotFound(who: Who): NotFound {
  const reading = 'steamId64' in who ? `the SteamID ${who.steamId64}` : `the Discord id ${who.discordId}`;
  return new NotFound(`There is no user with ${reading}`);
}

/** The SteamID itself, or that of the user with this Discord account. @throws {NotFound} */
export async function loadSteamId(context: Context, id: string): Promise<SteamId64> {
  const who = await readWho(context, id);
  return 'steamId64' in who ? who.steamId64 : (await loadUser(context, id)).user.steamId64;
}

/**
 * Reads a SteamID in any notation, or resolves a profile address.
 * @throws {InvalidInput} for anything else; {@link NotFound} for a custom address that Steam does not know;
 * {@link Unavailable} when Steam cannot be asked.
 */
export async function resolveSteamId(context: Context, text: string): Promise<SteamId64> {
  return (await tryResolve(context, text)) ?? parseSteamId(text);
}

async function readWho(context: Context, id: string): Promise<Who> {
  const steamId64 = await tryResolve(context, id);
  if (steamId64) return { steamId64 };
  const reference = tryParsePersonReference(id);
  if (reference && 'discordId' in reference) return reference;
  throw new InvalidInput(`${JSON.stringify(id)} is neither a SteamID nor a Discord id`);
}

async function tryResolve(context: Context, text: string): Promise<SteamId64 | undefined> {
  const reference = tryParseSteamReference(text);
  if (!reference) return undefined;
  return 'steamId64' in reference ? reference.steamId64 : resolveVanity(context, reference.vanityName);
}

async function resolveVanity(context: Context, name: string): Promise<SteamId64> {
  const { steam } = context.config();
  if (steam.apiKey === undefined) {
    throw new Unavailable(
      `The custom profile address ${JSON.stringify(name)} needs STEAM_API_KEY: use the SteamID`,
    );
  }
  const { db } = await context.database();
  const steamApi = createSteamApi({ ...steam, countCall: () => countSteamCall(db) });
  const steamId64 = await createVanityNames(steamApi).resolve(name);
  if (!steamId64) throw new NotFound(`Steam has no profile ${JSON.stringify(name)}`);
  return steamId64;
}
