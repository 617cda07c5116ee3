import { InvalidInput, NotFound, Unavailable } from '../domain/errors.ts';
import { tryParseSteamReference } from '../domain/profile-address.ts';
import { parseSteamId, type SteamId64 } from '../domain/steam-id.ts';
import { findUser } from '../queries/users/users.ts';
import { createSteamApi } from '../steam/steam-api.ts';
import { createVanityResolver } from '../steam/vanity-names.ts';
import type { Session } from './session.ts';

/**
 * The user that an id names: a SteamID in any notation, the address of a Steam profile, or a Discord id.
 * @throws {NotFound} when nobody has it.
 */
export async function loadUser(session: Session, id: string) {
  const who = await readWho(session, id);
  const { db } = await session.database();
  const user = await findUser(db, who, new Date());
  if (!user) throw new NotFound(`There is no user ${JSON.stringify(id)}`);
  return { db, user };
}

/** The SteamID that an id names: itself, or that of the user with a Discord account. @throws {NotFound} */
export async function loadSteamId(session: Session, id: string): Promise<SteamId64> {
  const who = await readWho(session, id);
  return 'steamId64' in who ? who.steamId64 : (await loadUser(session, id)).user.steamId64;
}

/**
 * The SteamID that a text names: in any notation, or by the address of a profile.
 * @throws {InvalidInput} for anything else; {NotFound} for a custom address that Steam does not know;
 * {@link Unavailable} for one that it cannot be asked about.
 */
export async function resolveSteamId(session: Session, text: string): Promise<SteamId64> {
  return (await tryResolve(session, text)) ?? parseSteamId(text);
}

async function readWho(
  session: Session,
  id: string,
): Promise<{ discordId: string } | { steamId64: SteamId64 }> {
  const steamId64 = await tryResolve(session, id);
  if (steamId64) return { steamId64 };
  if (/^[0-9]{1,20}$/.test(id)) return { discordId: id };
  throw new InvalidInput(`${JSON.stringify(id)} is neither a SteamID nor a Discord id`);
}

async function tryResolve(session: Session, text: string): Promise<SteamId64 | undefined> {
  const reference = tryParseSteamReference(text);
  if (!reference) return undefined;
  if ('steamId64' in reference) return reference.steamId64;
  const { steam } = session.config();
  if (steam.apiKey === undefined) {
    throw new Unavailable(`${text} can be looked up with STEAM_API_KEY alone: give the SteamID`);
  }
  const found = await createVanityResolver(createSteamApi(steam))(reference.vanityName);
  if (!found) throw new NotFound(`Steam knows no profile ${JSON.stringify(text)}`);
  return found;
}
