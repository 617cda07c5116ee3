import type { Db } from '../db/client.ts';
import { isDiscordId } from '../domain/discord-id.ts';
import { InvalidInput, NotFound, Unavailable } from '../domain/errors.ts';
import { parseSteamId, type SteamId64, tryParseSteamReference } from '../domain/steam-id.ts';
import { countSteamCall } from '../queries/steam-bans.ts';
import { findUser, type LookedUpUser } from '../queries/users/users.ts';
import { createSteamApi } from '../steam/steam-api.ts';
import { createVanityNames } from '../steam/vanity-names.ts';
import type { Session } from './session.ts';

/** How an operator names a person. */
type Who = { discordId: string } | { steamId64: SteamId64 };

/** The user with this SteamID in any notation, Steam profile address, or Discord id. */
export async function findUserOf(
  session: Session,
  id: string,
): Promise<{ db: Db; who: Who; user: LookedUpUser | undefined }> {
  const who = await readWho(session, id);
  const { db } = await session.database();
  return { db, who, user: await findUser(db, who, new Date()) };
}

/** The same as {@link findUserOf}. @throws {NotFound} when there is none. */
export async function loadUser(session: Session, id: string): Promise<{ db: Db; user: LookedUpUser }> {
  const { db, who, user } = await findUserOf(session, id);
  if (user) return { db, user };
  throw userNotFound(who);
}

/** The error for an id that no user has. */
export function userNotFound(who: Who): NotFound {
  const reading = 'steamId64' in who ? `the SteamID ${who.steamId64}` : `the Discord id ${who.discordId}`;
  return new NotFound(`There is no user with ${reading}`);
}

/** The SteamID itself, or that of the user with this Discord account. @throws {NotFound} */
export async function loadSteamId(session: Session, id: string): Promise<SteamId64> {
  const who = await readWho(session, id);
  return 'steamId64' in who ? who.steamId64 : (await loadUser(session, id)).user.steamId64;
}

/**
 * Reads a SteamID in any notation, or resolves a profile address.
 * @throws {InvalidInput} for anything else; {@link NotFound} for a custom address that Steam does not know;
 * {@link Unavailable} when Steam cannot be asked.
 */
export async function resolveSteamId(session: Session, text: string): Promise<SteamId64> {
  return (await tryResolve(session, text)) ?? parseSteamId(text);
}

async function readWho(session: Session, id: string): Promise<Who> {
  const steamId64 = await tryResolve(session, id);
  if (steamId64) return { steamId64 };
  if (isDiscordId(id)) return { discordId: id };
  throw new InvalidInput(`${JSON.stringify(id)} is neither a SteamID nor a Discord id`);
}

async function tryResolve(session: Session, text: string): Promise<SteamId64 | undefined> {
  const reference = tryParseSteamReference(text);
  if (!reference) return undefined;
  if ('steamId64' in reference) return reference.steamId64;
  const { steam } = session.config();
  if (steam.apiKey === undefined) {
    throw new Unavailable(`${text} can only be looked up with STEAM_API_KEY: use the SteamID`);
  }
  const { db } = await session.database();
  const steamApi = createSteamApi({ ...steam, countCall: () => countSteamCall(db) });
  const steamId64 = await createVanityNames(steamApi).resolve(reference.vanityName);
  if (!steamId64) throw new NotFound(`Steam has no profile ${JSON.stringify(text)}`);
  return steamId64;
}
