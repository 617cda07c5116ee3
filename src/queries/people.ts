import { and, isNotNull, or, type SQL, sql } from 'drizzle-orm';
import type { Db } from '../db/client.ts';
import { users } from '../db/schema/accounts.ts';
import { penalties } from '../db/schema/penalties.ts';
import { tryParsePersonReference } from '../domain/person-reference.ts';
import type { SteamId64 } from '../domain/steam-id.ts';
import { findUserByDiscordId, type User } from './users/users.ts';

type PeopleOptions = {
  /** Resolves the name in a custom profile address; may throw `Unavailable`. */
  resolveVanity: (vanityName: string) => Promise<SteamId64 | undefined>;
  /** Whether the person who asks may know which Discord account is this user's. */
  maySeeDiscord: (user: User) => boolean;
};

/**
 * The people whom a text means by a SteamID, a profile address, a Steam account id, a Discord id or the name of a linked
 * Discord account, as `tryParsePersonReference` reads it. Usually one; several linked accounts may have had the same name.
 * @returns `[]` when the text can only be a name, or is an account id or Discord account of nobody here.
 */
export async function findPeople(
  db: Db,
  text: string,
  { resolveVanity, maySeeDiscord }: PeopleOptions,
): Promise<SteamId64[]> {
  const reference = tryParsePersonReference(text);
  if (reference === undefined) return [];
  if ('steamId64' in reference) return [reference.steamId64];
  if ('vanityName' in reference) {
    const steamId64 = await resolveVanity(reference.vanityName);
    return steamId64 === undefined ? [] : [steamId64];
  }
  if ('accountOf' in reference) {
    return (await isKnown(db, reference.accountOf)) ? [reference.accountOf] : [];
  }
  const linked =
    'discordId' in reference
      ? [await findUserByDiscordId(db, reference.discordId)]
      : await listUsersByDiscordName(db, reference.discordName);
  return linked.flatMap((user) => (user && maySeeDiscord(user) ? user.steamId64 : []));
}

/** Whether somebody has an account here, or a penalty that they got or gave. */
async function isKnown(db: Db, steamId64: SteamId64): Promise<boolean> {
  const exists = (table: SQL) => sql`exists (select from ${table})`;
  const [row] = await db.execute<{ isKnown: boolean }>(sql`
    select ${or(
      exists(sql`${users} where ${users.steamId64} = ${steamId64}`),
      exists(sql`${penalties} where ${penalties.playerSteamId} = ${steamId64}`),
      exists(sql`${penalties} where ${penalties.adminSteamId} = ${steamId64}`),
    )} as "isKnown"`);
  return row?.isKnown === true;
}

/** The users with a linked Discord account of this whole name, ignoring letter case. */
async function listUsersByDiscordName(db: Db, name: string): Promise<User[]> {
  if (name.includes('\0')) return [];
  return db
    .select()
    .from(users)
    .where(and(isNotNull(users.discordId), sql`lower(${users.discordUsername}) = lower(${name})`));
}
