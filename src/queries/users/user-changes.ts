import { eq } from 'drizzle-orm';
import type { Db } from '../../db/client.ts';
import { users } from '../../db/schema/accounts.ts';
import { hasErrorCode } from '../../domain/error-causes.ts';
import { Conflict, NotFound } from '../../domain/errors.ts';
import type { Actor } from '../../domain/rights/actor.ts';
import type { SteamId64 } from '../../domain/steam-id.ts';
import { recordAudit } from '../audit-log.ts';
import { grantConfiguredOwner } from './owners.ts';
import { liftBlock, requireUnblocked } from './user-blocks.ts';
import { findUserByDiscordId, lockUser, lockUserFor, type User } from './users.ts';

/** Values that an operator or a sign-in may set; absent ones stay unchanged. */
export type UserChanges = Partial<
  Omit<
    typeof users.$inferInsert,
    'id' | 'steamId64' | 'createdAt' | 'adminByConfig' | 'ownerByConfig' | 'blockedAt' | 'blockReason'
  >
>;

/** The flags an owner may set on the moderation page. */
export const USER_FLAGS = ['isAdmin', 'isOwner', 'hasSvip', 'isServiceplus'] as const;
export type UserFlags = Pick<User, (typeof USER_FLAGS)[number]>;

/**
 * Updates a user with the given values; creates the user when missing.
 * @throws {Conflict} when the Discord account is linked to another user.
 */
export async function saveUser(
  db: Db,
  steamId64: SteamId64,
  { changes = {}, actor }: { changes?: UserChanges; actor: Actor },
): Promise<User> {
  return db.transaction(async (tx) => {
    const before = await lockOrCreateUser(tx, steamId64, actor);
    // Owners cannot be blocked.
    if (changes.isOwner) await liftBlock(tx, before, actor);
    const user = await updateUser(tx, steamId64, changes);
    if (Object.keys(changes).length > 0) {
      await recordAudit(tx, { actor, action: 'user.changed', subject: steamId64, details: changes });
    }
    return user;
  });
}

/**
 * Saves a sign-in; creates the user the first time.
 * @param profile from Steam; absent values stay unchanged.
 * @param isOwner whether `OWNER_STEAMIDS` names them, which gives both flags.
 * @throws {Blocked} when they are blocked.
 */
export async function saveSignIn(
  db: Db,
  steamId64: SteamId64,
  {
    profile = {},
    isOwner,
    now,
  }: { profile?: { nickname?: string; avatarUrl?: string }; isOwner: boolean; now: Date },
): Promise<User> {
  return db.transaction(async (tx) => {
    await lockOrCreateUser(tx, steamId64);
    if (isOwner) await grantConfiguredOwner(tx, steamId64);
    requireUnblocked(await lockUser(tx, steamId64));
    const user = await updateUser(tx, steamId64, { ...profile, signedInAt: now });
    await recordAudit(tx, { actor: { userId: user.id }, action: 'user.signed-in', subject: steamId64 });
    return user;
  });
}

/**
 * Links a Discord account to a user; linking the same one again updates its name and avatar.
 * @throws {NotFound} when there is no such user any more.
 * @throws {Blocked} when they are blocked.
 * @throws {Conflict} when the account is linked to another user.
 */
export async function linkDiscord(
  db: Db,
  { id: userId, steamId64 }: Pick<User, 'id' | 'steamId64'>,
  account: { id: string; username: string; avatar: string | null },
): Promise<void> {
  await db.transaction(async (tx) => {
    const user = await lockUser(tx, steamId64);
    if (user.id !== userId) throw new NotFound(`The account of ${steamId64} was deleted`);
    requireUnblocked(user);
    await updateUser(tx, steamId64, {
      discordId: account.id,
      discordUsername: account.username,
      discordAvatar: account.avatar ?? '',
    });
    const details = { discordId: account.id, username: account.username };
    await recordAudit(tx, { actor: { userId }, action: 'discord.linked', subject: steamId64, details });
  });
}

/** Removes the Discord link of a user; does nothing when there is none. */
export async function unlinkDiscord(
  db: Db,
  { id: userId, steamId64 }: Pick<User, 'id' | 'steamId64'>,
): Promise<void> {
  await db.transaction(async (tx) => {
    const before = await lockUser(tx, steamId64);
    if (!before.discordId) return;
    await updateUser(tx, steamId64, { discordId: null, discordUsername: '', discordAvatar: '' });
    const details = { discordId: before.discordId, username: before.discordUsername };
    await recordAudit(tx, { actor: { userId }, action: 'discord.unlinked', subject: steamId64, details });
  });
}

/** Hides the Discord link of a user, or shows it again. */
export async function setDiscordHidden(
  db: Db,
  { id: userId, steamId64 }: Pick<User, 'id' | 'steamId64'>,
  hidesDiscord: boolean,
): Promise<void> {
  await db.transaction(async (tx) => {
    const before = await lockUser(tx, steamId64);
    if (before.hidesDiscord === hidesDiscord) return;
    await updateUser(tx, steamId64, { hidesDiscord });
    const action = hidesDiscord ? 'discord.hidden' : 'discord.shown';
    await recordAudit(tx, { actor: { userId }, action, subject: steamId64 });
  });
}

/**
 * Sets the given flags of a user; absent ones stay unchanged.
 * @throws {NotFound} when there is no such user.
 * @throws {Forbidden} when the actor is a user, but not an owner.
 */
export async function setUserFlags(
  db: Db,
  steamId64: SteamId64,
  { flags, actor }: { flags: Partial<UserFlags>; actor: Actor },
): Promise<void> {
  await db.transaction(async (tx) => {
    const before = await lockUserFor(tx, steamId64, { actor, mayAct: ({ isOwner }) => isOwner });
    const changed = USER_FLAGS.filter((flag) => flags[flag] !== undefined && flags[flag] !== before[flag]);
    if (changed.length === 0) return;
    if (flags.isOwner) await liftBlock(tx, before, actor);
    const details: Partial<UserFlags> = Object.fromEntries(changed.map((flag) => [flag, flags[flag]]));
    await updateUser(tx, steamId64, details);
    await recordAudit(tx, { actor, action: 'user.flags-set', subject: steamId64, details });
  });
}

/**
 * The user, created when missing, with the row locked until the transaction ends.
 * @param actor the user themself by default.
 */
async function lockOrCreateUser(tx: Db, steamId64: SteamId64, actor?: Actor): Promise<User> {
  for (;;) {
    const [created] = await tx.insert(users).values({ steamId64 }).onConflictDoNothing().returning();
    if (created) {
      const by = actor ?? { userId: created.id };
      await recordAudit(tx, { actor: by, action: 'user.created', subject: steamId64 });
      return created;
    }
    const [user] = await tx.select().from(users).where(eq(users.steamId64, steamId64)).for('update');
    // Otherwise the account was deleted between the two statements.
    if (user) return user;
  }
}

/**
 * @throws {NotFound} when there is no such user.
 * @throws {Conflict} when the Discord account is linked to another user.
 */
async function updateUser(tx: Db, steamId64: SteamId64, changes: UserChanges): Promise<User> {
  const { discordId } = changes;
  const holder = discordId ? await findUserByDiscordId(tx, discordId) : undefined;
  if (holder && holder.steamId64 !== steamId64) throw linkedElsewhere(discordId, holder.steamId64);
  const [user] = await tx
    .update(users)
    .set({ steamId64, ...changes, ...originsOf(changes) })
    .where(eq(users.steamId64, steamId64))
    .returning()
    .catch((cause: unknown) => {
      // Two concurrent links: the unique index lets only one succeed.
      throw hasErrorCode(cause, [UNIQUE_VIOLATION])
        ? linkedElsewhere(discordId, undefined, { cause })
        : cause;
    });
  if (!user) throw new NotFound(`There is no user ${steamId64}`);
  return user;
}

/** In an update that does not change the SteamID, only the Discord account can violate a unique index. */
const UNIQUE_VIOLATION = '23505';

/** A flag that is set by hand no longer depends on the configuration. */
function originsOf({
  isAdmin,
  isOwner,
}: UserChanges): Partial<Pick<User, 'adminByConfig' | 'ownerByConfig'>> {
  return {
    ...(isAdmin !== undefined && { adminByConfig: false }),
    ...(isOwner !== undefined && { ownerByConfig: false }),
  };
}

function linkedElsewhere(
  discordId: string | null | undefined,
  holder?: SteamId64,
  options?: ErrorOptions,
): Conflict {
  return new Conflict(`The Discord account ${discordId} is linked to ${holder ?? 'another user'}`, options);
}
