import { and, eq, inArray, isNotNull } from 'drizzle-orm';
import { type Db, inTransaction, type Tx } from '../../db/client.ts';
import { userFlags, users } from '../../db/schema/accounts.ts';
import { Conflict, hasErrorCode, NotFound } from '../../domain/errors.ts';
import type { Actor } from '../../domain/rights/actor.ts';
import {
  USER_FLAG_COLUMNS,
  USER_FLAGS,
  type UserFlag,
  type UserFlagColumn,
} from '../../domain/rights/user-flags.ts';
import type { SteamId64 } from '../../domain/steam-id.ts';
import { recordAudit } from '../audit-log.ts';
import {
  giveFlags,
  holdOffFlagRounds,
  listErasedWithoutAccount,
  listGivenFlags,
  saveFlagRound,
  saveFlagsByHand,
} from './user-flags.ts';
import {
  findUserByDiscordId,
  liftBlock,
  lockUser,
  lockUserFor,
  requireUnblocked,
  type User,
} from './users.ts';

/** Values that an operator or a sign-in may set; absent ones stay unchanged. */
export type UserChanges = Partial<
  Omit<typeof users.$inferInsert, 'id' | 'steamId64' | 'createdAt' | 'blockedAt' | 'blockReason'>
>;

type UserFlags = Pick<User, UserFlagColumn>;

/**
 * Updates a user with the given values; creates the user when missing.
 * @throws {Conflict} when the Discord account is linked to another user.
 */
export async function saveUser(
  db: Db,
  steamId64: SteamId64,
  { changes = {}, actor }: { changes?: UserChanges; actor: Actor },
): Promise<User> {
  return inTransaction(db, async (tx) => {
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
 * @param configuredFlags what the configuration gives to them.
 * @throws {Blocked} when they are blocked.
 */
export async function saveSignIn(
  db: Db,
  steamId64: SteamId64,
  {
    profile = {},
    configuredFlags = [],
    now,
  }: {
    profile?: { nickname?: string; avatarUrl?: string };
    configuredFlags?: readonly UserFlag[];
    now: Date;
  },
): Promise<User> {
  return inTransaction(db, async (tx) => {
    const before = await lockOrCreateUser(tx, steamId64);
    if (configuredFlags.length > 0) await giveFlags(tx, steamId64, 'configuration', configuredFlags);
    if (configuredFlags.includes('is_owner')) await liftBlock(tx, before, 'configuration');
    else requireUnblocked(before);
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
  await inTransaction(db, async (tx) => {
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
  await inTransaction(db, async (tx) => {
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
  await inTransaction(db, async (tx) => {
    const before = await lockUser(tx, steamId64);
    if (before.hidesDiscord === hidesDiscord) return;
    await updateUser(tx, steamId64, { hidesDiscord });
    const action = hidesDiscord ? 'discord.hidden' : 'discord.shown';
    await recordAudit(tx, { actor: { userId }, action, subject: steamId64 });
  });
}

/**
 * Sets the flags that a user has from the source `hand`; absent ones and those of other sources stay unchanged.
 * @throws {NotFound} when there is no such user.
 * @throws {Forbidden} when the actor is a user, but not an owner.
 */
export async function setUserFlags(
  db: Db,
  steamId64: SteamId64,
  { flags, actor }: { flags: Partial<UserFlags>; actor: Actor },
): Promise<void> {
  await inTransaction(db, async (tx) => {
    const before = await lockUserFor(tx, steamId64, { actor, mayAct: ({ isOwner }) => isOwner });
    const byHand = (await listGivenFlags(tx, steamId64)).filter(({ source }) => source === 'hand');
    const isByHand = (column: UserFlagColumn) => byHand.some(({ flag }) => USER_FLAGS[flag] === column);
    const changes = USER_FLAG_COLUMNS.filter((flag) => (flags[flag] ?? isByHand(flag)) !== isByHand(flag));
    if (changes.length === 0) return;
    if (flags.isOwner) await liftBlock(tx, before, actor);
    const details: Partial<UserFlags> = Object.fromEntries(changes.map((flag) => [flag, flags[flag]]));
    await updateUser(tx, steamId64, details);
    await recordAudit(tx, { actor, action: 'user.flags-set', subject: steamId64, details });
  });
}

/**
 * The user, created when missing, with the row locked until the transaction ends.
 * @param tx a transaction that has taken no lock yet.
 * @param actor the user themself by default.
 */
export async function lockOrCreateUser(tx: Tx, steamId64: SteamId64, actor?: Actor): Promise<User> {
  await holdOffFlagRounds(tx);
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
async function updateUser(tx: Tx, steamId64: SteamId64, changes: UserChanges): Promise<User> {
  await saveFlagsByHand(tx, steamId64, changes);
  const columns = { ...changes };
  for (const flag of USER_FLAG_COLUMNS) delete columns[flag];
  const { discordId } = columns;
  const holder = discordId ? await findUserByDiscordId(tx, discordId) : undefined;
  if (holder && holder.steamId64 !== steamId64) throw linkedElsewhere(discordId, holder.steamId64);
  const [user] = await tx
    .update(users)
    .set({ steamId64, ...columns })
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

function linkedElsewhere(
  discordId: string | null | undefined,
  holder?: SteamId64,
  options?: ErrorOptions,
): Conflict {
  return new Conflict(`The Discord account ${discordId} is linked to ${holder ?? 'another user'}`, options);
}

/** People whom the configuration names: `OWNER_STEAMIDS`, `MODERATOR_STEAMIDS`. */
export type ConfiguredPeople = {
  ownerSteamIds: readonly SteamId64[];
  moderatorSteamIds: readonly SteamId64[];
};

/** The flags that the configuration gives to somebody. */
export function listConfiguredFlags(
  { ownerSteamIds, moderatorSteamIds }: ConfiguredPeople,
  steamId64: SteamId64,
): UserFlag[] {
  return [
    ...(ownerSteamIds.includes(steamId64) ? (['is_owner', 'is_admin'] as const) : []),
    ...(moderatorSteamIds.includes(steamId64) ? (['is_moderator'] as const) : []),
  ];
}

/** Whether the flags that the configuration gives are those that were stored last. Erased people get none. */
export async function areConfiguredFlagsStored(db: Db, people: ConfiguredPeople): Promise<boolean> {
  const namedIds = [...new Set([...people.ownerSteamIds, ...people.moderatorSteamIds])];
  return inTransaction(db, async (tx) => {
    const stored = await tx.select().from(userFlags).where(eq(userFlags.source, 'configuration'));
    const erased = await listErasedWithoutAccount(tx, namedIds);
    const given = namedIds
      .filter((id) => !erased.has(id))
      .flatMap((id) => listConfiguredFlags(people, id).map((flag) => `${id} ${flag}`));
    const had = new Set(stored.map(({ steamId64, flag }) => `${steamId64} ${flag}`));
    return had.symmetricDifference(new Set(given)).size === 0;
  });
}

/**
 * Gives flags to the people whom the configuration names, and takes them from those it no longer names. They get an
 * account, unless they were erased. Written to the audit log, with actor `configuration`.
 */
export async function saveConfiguredFlags(db: Db, people: ConfiguredPeople, now: Date): Promise<void> {
  const namedIds = [...new Set([...people.ownerSteamIds, ...people.moderatorSteamIds])];
  const grants = namedIds.flatMap((steamId64) =>
    listConfiguredFlags(people, steamId64).map((flag) => ({ steamId64, flag, endsAt: null })),
  );
  await inTransaction(db, async (tx) => {
    await saveFlagRound(tx, 'configuration', { grants, now });
    const holders = await tx
      .selectDistinct({ steamId64: userFlags.steamId64 })
      .from(userFlags)
      .where(inArray(userFlags.steamId64, namedIds));
    if (holders.length > 0) await tx.insert(users).values(holders).onConflictDoNothing();
    const isBlockedOwner = and(
      inArray(users.steamId64, [...people.ownerSteamIds]),
      isNotNull(users.blockedAt),
    );
    for (const user of await tx.select().from(users).where(isBlockedOwner).for('update')) {
      await liftBlock(tx, user, 'configuration');
    }
  });
}
