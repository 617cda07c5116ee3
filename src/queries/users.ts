import { eq, sql } from 'drizzle-orm';
import { type Db, prepareOnce } from '../db/client.ts';
import { users } from '../db/schema.ts';
import { isDiscordId } from '../discord-id.ts';
import { Conflict } from '../errors.ts';
import type { SteamId64 } from '../steam-id.ts';
import { isBanned } from './penalties.ts';

export type User = typeof users.$inferSelect;
export type LookedUpUser = User & { isBanned: boolean };

/** Values an operator or a sign-in may set; absent ones stay as they are. */
export type UserChanges = Partial<
  Omit<typeof users.$inferInsert, 'id' | 'steamId64' | 'createdAt' | 'adminByConfig' | 'ownerByConfig'>
>;

/** The user with this Discord account, or else SteamID, and whether an active ban exists at `now`. Specification 4.5. */
export async function findUser(
  db: Db,
  who: { discordId: string } | { steamId64: SteamId64 },
  now: Date,
): Promise<LookedUpUser | undefined> {
  const user =
    'discordId' in who
      ? await findUserByDiscordId(db, who.discordId)
      : await findUserBySteamId(db, who.steamId64);
  return user && { ...user, isBanned: await isBanned(db, user.steamId64, now) };
}

/** The user with this SteamID64, who has signed in or was made by an operator. */
export async function findUserBySteamId(db: Db, steamId64: SteamId64): Promise<User | undefined> {
  const [user] = await bySteamId(db).execute({ id: steamId64 });
  return user;
}

const bySteamId = prepareOnce((db) =>
  db
    .select()
    .from(users)
    .where(eq(users.steamId64, sql.placeholder('id')))
    .prepare('user_by_steamid'),
);

/** The user a Discord account is linked to; undefined as well for what is no Discord id. */
export async function findUserByDiscordId(db: Db, discordId: string): Promise<User | undefined> {
  if (!isDiscordId(discordId)) return undefined;
  const [user] = await byDiscordId(db).execute({ id: discordId });
  return user;
}

const byDiscordId = prepareOnce((db) =>
  db
    .select()
    .from(users)
    .where(eq(users.discordId, sql.placeholder('id')))
    .prepare('user_by_discord_id'),
);

/**
 * Makes the user, or changes what is given.
 * @throws {Conflict} when the Discord account is linked to another user.
 */
export async function saveUser(db: Db, steamId64: SteamId64, changes: UserChanges = {}): Promise<User> {
  if (changes.discordId) {
    const holder = await findUserByDiscordId(db, changes.discordId);
    if (holder && holder.steamId64 !== steamId64) throw linkedElsewhere(changes.discordId, holder.steamId64);
  }
  const values = { steamId64, ...changes, ...originsOf(changes) };
  const [user] = await db
    .insert(users)
    .values(values)
    .onConflictDoUpdate({ target: users.steamId64, set: values })
    .returning()
    .catch((cause: unknown) => {
      // Somebody else was quicker after we had looked.
      throw isUniqueViolation(cause) ? linkedElsewhere(changes.discordId, undefined, { cause }) : cause;
    });
  if (!user) throw new Error(`user ${steamId64} was not saved`);
  return user;
}

/** A flag that is set by hand is no longer the configuration's to take away. */
export function originsOf({
  isAdmin,
  isOwner,
}: UserChanges): Partial<Pick<User, 'adminByConfig' | 'ownerByConfig'>> {
  return {
    ...(isAdmin !== undefined && { adminByConfig: false }),
    ...(isOwner !== undefined && { ownerByConfig: false }),
  };
}

/** The refusal of a Discord account that is linked to another user. */
export function linkedElsewhere(
  discordId: string | null | undefined,
  holder?: SteamId64,
  options?: ErrorOptions,
): Conflict {
  return new Conflict(`The Discord account ${discordId} is linked to ${holder ?? 'another user'}`, options);
}

/** PostgreSQL 23505, wrapped or not: of users, after their SteamID, only the Discord account is unique. */
export function isUniqueViolation(error: unknown): boolean {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    if ('code' in cause && cause.code === '23505') return true;
  }
  return false;
}
