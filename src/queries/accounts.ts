import { and, count, desc, eq, gt, isNull, ne, or, type SQL, sql } from 'drizzle-orm';
import type { PgColumn } from 'drizzle-orm/pg-core';
import type { Db } from '../db/client.ts';
import { apiTokens, users } from '../db/schema.ts';
import { isDiscordId } from '../discord-id.ts';
import { NotFound } from '../errors.ts';
import type { SteamId64 } from '../steam-id.ts';
import { readSteamReference } from '../steam-profile.ts';
import { recordAudit } from './audit-log.ts';
import { grantConfiguredOwner } from './owners.ts';
import { isUniqueViolation, linkedElsewhere, originsOf, type User } from './users.ts';

/** The flags an owner may set on the moderation page. */
export const USER_FLAGS = ['isAdmin', 'isOwner', 'hasSvip', 'isServiceplus'] as const;
export type UserFlags = Pick<User, (typeof USER_FLAGS)[number]>;

/** A user as the moderation list shows him. */
export type ListedUser = User & { liveTokens: number };

/**
 * The row of a user who signed in, made the first time.
 * @param profile what Steam says of him; what it does not say stays as it was.
 * @param isOwner named in `OWNER_STEAMIDS`: gives both flags.
 */
export async function saveSignIn(
  db: Db,
  steamId64: SteamId64,
  { profile = {}, isOwner }: { profile?: { nickname?: string; avatarUrl?: string }; isOwner: boolean },
): Promise<User> {
  return db.transaction(async (tx) => {
    const [created] = await tx
      .insert(users)
      .values({ steamId64, ...profile })
      .onConflictDoNothing()
      .returning();
    if (created) {
      await recordAudit(tx, { actorUserId: created.id, action: 'user.created', subject: steamId64 });
    }
    if (isOwner) await grantConfiguredOwner(tx, steamId64);
    const [user] = await tx
      .update(users)
      .set({ steamId64, ...profile })
      .where(eq(users.steamId64, steamId64))
      .returning();
    if (!user) throw new NotFound(`user ${steamId64} went away during sign-in`);
    await recordAudit(tx, { actorUserId: user.id, action: 'user.signed-in', subject: steamId64 });
    return user;
  });
}

/**
 * Links a Discord account to a user; the same one again brings its name and avatar up to date.
 * @throws {Conflict} when it is linked to another user. The unique index decides, so that two at once cannot both win.
 */
export async function linkDiscord(
  db: Db,
  user: Pick<User, 'id' | 'steamId64'>,
  account: { id: string; username: string; avatar: string | null },
): Promise<void> {
  await db.transaction(async (tx) => {
    const [elsewhere] = await tx
      .select({ id: users.id })
      .from(users)
      .where(and(eq(users.discordId, account.id), ne(users.id, user.id)));
    if (elsewhere) throw linkedElsewhere(account.id);
    await tx
      .update(users)
      .set({
        discordId: account.id,
        discordUsername: account.username,
        discordAvatar: account.avatar ?? '',
      })
      .where(eq(users.id, user.id))
      .catch((cause: unknown) => {
        throw isUniqueViolation(cause) ? linkedElsewhere(account.id, undefined, { cause }) : cause;
      });
    await recordAudit(tx, {
      actorUserId: user.id,
      action: 'discord.linked',
      subject: user.steamId64,
      details: { discordId: account.id, username: account.username },
    });
  });
}

/** Takes the link away; nothing happens when there is none. */
export async function unlinkDiscord(db: Db, user: Pick<User, 'id' | 'steamId64'>): Promise<void> {
  await db.transaction(async (tx) => {
    const [before] = await tx.select().from(users).where(eq(users.id, user.id)).for('update');
    if (!before?.discordId) return;
    await tx
      .update(users)
      .set({ discordId: null, discordUsername: '', discordAvatar: '' })
      .where(eq(users.id, user.id));
    await recordAudit(tx, {
      actorUserId: user.id,
      action: 'discord.unlinked',
      subject: user.steamId64,
      details: { discordId: before.discordId, username: before.discordUsername },
    });
  });
}

/**
 * Sets what a user may do and is shown as.
 * @throws {NotFound} for a SteamID nobody signed in with.
 */
export async function setUserFlags(
  db: Db,
  steamId64: SteamId64,
  { flags, actorUserId }: { flags: UserFlags; actorUserId: number },
): Promise<void> {
  await db.transaction(async (tx) => {
    const [before] = await tx.select().from(users).where(eq(users.steamId64, steamId64)).for('update');
    if (!before) throw new NotFound(`no user ${steamId64}`);
    const changed = USER_FLAGS.filter((flag) => before[flag] !== flags[flag]);
    if (changed.length === 0) return;
    const details: Partial<UserFlags> = Object.fromEntries(changed.map((flag) => [flag, flags[flag]]));
    await tx
      .update(users)
      .set({ ...details, ...originsOf(details) })
      .where(eq(users.id, before.id));
    await recordAudit(tx, { actorUserId, action: 'user.flags-set', subject: steamId64, details });
  });
}

/**
 * Users for the moderation list, newest first; with a search, by any SteamID notation, a profile address, a Discord id
 * (all exact), or part of a nickname or Discord name.
 * @param page from 1. @param perPage 25 by default.
 */
export async function searchUsers(
  db: Db,
  { query, page, perPage = 25, now }: { query: string; page: number; perPage?: number; now: Date },
): Promise<{ users: ListedUser[]; total: number }> {
  const matches = matchUsers(query.trim());
  const [[totals], rows] = await Promise.all([
    db.select({ total: count() }).from(users).where(matches),
    db
      .select({ user: users, liveTokens: countLiveTokens(now) })
      .from(users)
      .where(matches)
      .orderBy(desc(users.createdAt), desc(users.id))
      .limit(perPage)
      .offset((page - 1) * perPage),
  ]);
  return {
    users: rows.map(({ user, liveTokens }) => ({ ...user, liveTokens })),
    total: totals?.total ?? 0,
  };
}

function matchUsers(text: string): SQL | undefined {
  if (text === '') return undefined;
  const reference = readSteamReference(text);
  if (reference && 'steamId64' in reference) return eq(users.steamId64, reference.steamId64);
  const part = `%${text.replaceAll('\0', '').replace(/[\\%_]/g, '\\$&')}%`;
  return or(
    isLike(users.nickname, part),
    isLike(users.discordUsername, part),
    isDiscordId(text) ? eq(users.discordId, text) : undefined,
  );
}

/** In any letter case of any language: in a database of locale C, ILIKE knows the letters of English alone. */
function isLike(column: PgColumn, part: string): SQL {
  return sql`lower(${column} collate "und-x-icu") like lower(${part}::text collate "und-x-icu")`;
}

function countLiveTokens(now: Date): SQL<number> {
  const isLive = and(
    eq(apiTokens.userId, users.id),
    isNull(apiTokens.revokedAt),
    or(isNull(apiTokens.expiresAt), gt(apiTokens.expiresAt, now)),
  );
  return sql<number>`(select count(*)::int from ${apiTokens} where ${isLive})`;
}
