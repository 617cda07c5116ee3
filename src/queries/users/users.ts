import { and, desc, eq, getTableColumns, inArray, or, type SQL, sql } from 'drizzle-orm';
import type { PgColumn } from 'drizzle-orm/pg-core';
import { type Db, inTransaction, prepareOnce, type Reads, type Tx } from '../../db/client.ts';
import { sessions, users } from '../../db/schema/accounts.ts';
import { penalties, playerNames } from '../../db/schema/penalties.ts';
import { arrayLiteral, likePart, MIN_INDEXED_LENGTH } from '../../db/select.ts';
import { isDiscordId } from '../../domain/discord-id.ts';
import { Blocked, Forbidden, InvalidInput, NotFound } from '../../domain/errors.ts';
import type { Actor } from '../../domain/rights/actor.ts';
import { isAdministrator } from '../../domain/rights/administrator.ts';
import type { UserFlagColumn } from '../../domain/rights/user-flags.ts';
import type { SteamId64 } from '../../domain/steam-id.ts';
import { foldText } from '../../domain/text/fold-text.ts';
import { recordAudit } from '../audit-log.ts';
import { activeBanOf } from '../penalties/filter.ts';
import { liveTokenCount } from './api-tokens.ts';

export type User = typeof users.$inferSelect;
export type LookedUpUser = User & { isBanned: boolean };
/** A user in the moderation list. */
export type ListedUser = User & { liveTokens: number; penalties: number; isBanned: boolean };

/** The user with this Discord account or SteamID, and whether an active ban exists at `now`. Specification 4.5. */
export async function findUser(
  db: Reads,
  who: { discordId: string } | { steamId64: SteamId64 },
  now: Date,
): Promise<LookedUpUser | undefined> {
  const [user] =
    'discordId' in who
      ? await listUsersByDiscordId(db, [who.discordId], now)
      : await listUsersBySteamId(db, [who.steamId64], now);
  return user;
}

/** The user with this SteamID64: they signed in, or an operator created them. */
export async function findUserBySteamId(db: Reads, steamId64: SteamId64): Promise<User | undefined> {
  const [user] = await db.select().from(users).where(eq(users.steamId64, steamId64));
  return user;
}

/**
 * The user with this SteamID64, with the row locked until the transaction ends.
 * @throws {NotFound} when there is none.
 */
export async function lockUser(tx: Tx, steamId64: SteamId64): Promise<User> {
  const [user] = await tx.select().from(users).where(eq(users.steamId64, steamId64)).for('update');
  if (!user) throw new NotFound(`There is no user ${steamId64}`);
  return user;
}

/**
 * Checks that the acting user still exists, and keeps their row until the transaction ends. Other actors are not checked.
 * @throws {NotFound} when their account was deleted since the request was authenticated.
 */
export async function requireActor(tx: Tx, actor: Actor): Promise<void> {
  const actorId = userIdOf(actor);
  if (actorId === undefined) return;
  const [user] = await tx.select({ id: users.id }).from(users).where(eq(users.id, actorId)).for('key share');
  if (!user) throw new NotFound('The account was deleted');
}

/**
 * The user with this SteamID64, for a change by an actor. The row of an actor who is a user is locked as well, until the
 * transaction ends: their rights are checked once they can no longer change. Rows are locked in the order of their ids, so
 * that two users who change each other do not deadlock.
 * @param mayAct whether a user has the right to this change; other actors always have it.
 * @throws {NotFound} when there is no such user.
 * @throws {Forbidden} when the actor is a user without the right, who is blocked ({@link Blocked}) or who was deleted.
 */
export async function lockUserFor(
  tx: Tx,
  steamId64: SteamId64,
  { actor, mayAct }: { actor: Actor; mayAct: (user: User) => boolean },
): Promise<User> {
  const actorId = userIdOf(actor);
  if (actorId === undefined) return lockUser(tx, steamId64);
  const rows = await tx
    .select()
    .from(users)
    .where(or(eq(users.id, actorId), eq(users.steamId64, steamId64)))
    .orderBy(users.id)
    // Weaker than the lock of `lockUser`: new audit log entries refer to the actor's row, and must not wait for it.
    .for('no key update');
  const actingUser = rows.find(({ id }) => id === actorId);
  requireRight(actingUser, mayAct);
  const user = rows.find((row) => row.steamId64 === steamId64);
  if (!user) throw new NotFound(`There is no user ${steamId64}`);
  return user;
}

/**
 * The acting user, whose rights cannot change until the transaction ends.
 * @param options.isAlone whether other actions of theirs wait meanwhile, so that what they have done can be counted.
 * @throws {Forbidden} when they lack the right, are blocked ({@link Blocked}) or were deleted.
 */
export async function lockActingUser(
  tx: Tx,
  userId: number,
  { mayAct, isAlone = false }: { mayAct: (user: User) => boolean; isAlone?: boolean },
): Promise<User> {
  const [user] = await tx
    .select()
    .from(users)
    .where(eq(users.id, userId))
    .for(isAlone ? 'no key update' : 'share');
  return requireRight(user, mayAct);
}

function requireRight(user: User | undefined, mayAct: (user: User) => boolean): User {
  if (user?.blockedAt) throw new Blocked(user.blockReason);
  if (!user || !mayAct(user)) throw new Forbidden('The acting user may no longer do this');
  return user;
}

/** The id of an actor who is a user; undefined for others. */
function userIdOf(actor: Actor): number | undefined {
  return typeof actor === 'object' && 'userId' in actor ? actor.userId : undefined;
}

/** The user that a Discord account is linked to; undefined also for an invalid Discord id. */
export async function findUserByDiscordId(db: Reads, discordId: string): Promise<User | undefined> {
  if (!isDiscordId(discordId)) return undefined;
  const [user] = await db.select().from(users).where(eq(users.discordId, discordId));
  return user;
}

/** The users with these SteamIDs, and whether an active ban exists at `now`; in no order. */
export async function listUsersBySteamId(
  db: Reads,
  ids: readonly SteamId64[],
  now: Date,
): Promise<LookedUpUser[]> {
  return bySteamIds(db).execute({ ids: arrayLiteral(ids), now: now.toISOString() });
}

/** The users that these Discord accounts are linked to, in no order; invalid ids are ignored. */
export async function listUsersByDiscordId(
  db: Reads,
  ids: readonly string[],
  now: Date,
): Promise<LookedUpUser[]> {
  return byDiscordIds(db).execute({ ids: arrayLiteral(ids.filter(isDiscordId)), now: now.toISOString() });
}

const bySteamIds = prepareOnce('users_by_steamids', (db) => selectAnyOf(db, users.steamId64));
const byDiscordIds = prepareOnce('users_by_discord_ids', (db) => selectAnyOf(db, users.discordId));

/** At the placeholder `now`. */
const IS_BANNED = sql<boolean>`exists (select from ${penalties} where ${activeBanOf(users.steamId64)})`;

function selectAnyOf(db: Reads, column: PgColumn) {
  return db
    .select({ ...getTableColumns(users), isBanned: IS_BANNED })
    .from(users)
    .where(sql`${column} = any(${sql.placeholder('ids')})`);
}

type UserSearch = {
  /** Part of a nickname, a name in a penalty or a Discord name; empty: all users. Or exactly these users. */
  query: string | readonly SteamId64[];
  /** Only users with this flag. */
  flag?: UserFlagColumn | undefined;
  /** From 1. */
  page: number;
  /** 25 by default. */
  perPage?: number;
  now: Date;
};

/**
 * Users for the moderation list, newest first; with a search, by SteamIDs or by part of a name, ignoring letter case and
 * diacritics.
 */
export async function searchUsers(
  db: Db,
  { query, flag, page, perPage = 25, now }: UserSearch,
): Promise<{ users: ListedUser[]; total: number }> {
  const matches = and(
    typeof query === 'string' ? matchName(query.trim()) : inArray(users.steamId64, [...query]),
    flag && eq(users[flag], true),
  );
  const [total, rows] = await Promise.all([
    db.$count(users, matches),
    db
      .select({
        ...getTableColumns(users),
        liveTokens: liveTokenCount(db, now),
        penalties: db.$count(penalties, eq(penalties.playerSteamId, users.steamId64)),
        isBanned: IS_BANNED,
      })
      .from(users)
      .where(matches)
      .orderBy(desc(users.createdAt), desc(users.id))
      .limit(perPage)
      .offset((page - 1) * perPage)
      .execute({ now: now.toISOString() }),
  ]);
  return { users: rows, total };
}

function matchName(text: string): SQL | undefined {
  if (text === '') return undefined;
  const folded = foldText(text.replaceAll('\0', '')).trim();
  if (folded === '') return sql`false`;
  const pattern = likePart(folded);
  return or(isKnownAs(folded, pattern), sql`fold_text(${users.discordUsername}) like ${pattern}`);
}

/** Whether the nickname, or a name in a penalty, contains the text. */
function isKnownAs(folded: string, pattern: string): SQL {
  const isPart = sql`${playerNames.folded} like ${pattern}`;
  if ([...folded].length < MIN_INDEXED_LENGTH) {
    return sql`exists (select from ${playerNames} where ${playerNames.steamId64} = ${users.steamId64} and ${isPart})`;
  }
  const grams = sql`(select grams from part_grams(${folded}::text))`;
  return sql`${users.steamId64} in (
    select ${playerNames.steamId64} from ${playerNames} where ${playerNames.grams} @> ${grams} and ${isPart}
  )`;
}

export const MAX_BLOCK_REASON_LENGTH = 200;

/**
 * Blocks a user: their tokens, sessions, uploads and sign-ins are refused. Every process is notified. Blocking again
 * changes the reason.
 * @throws {NotFound} when there is no such user.
 * @throws {Forbidden} for an owner, and when the actor is a user, but not an administrator.
 * @throws {InvalidInput} for a reason of more than {@link MAX_BLOCK_REASON_LENGTH} characters.
 */
export async function blockUser(
  db: Db,
  steamId64: SteamId64,
  { reason, now, actor }: { reason: string; now: Date; actor: Actor },
): Promise<void> {
  const words = reason.replace(/\p{Cc}+/gu, ' ').trim();
  if ([...words].length > MAX_BLOCK_REASON_LENGTH) {
    throw new InvalidInput(`The reason of a block has at most ${MAX_BLOCK_REASON_LENGTH} characters`);
  }
  await inTransaction(db, async (tx) => {
    const user = await lockUserFor(tx, steamId64, { actor, mayAct: isAdministrator });
    if (user.isOwner) throw new Forbidden('Owners cannot be blocked');
    if (user.blockedAt && user.blockReason === words) return;
    await tx
      .update(users)
      .set({ blockedAt: user.blockedAt ?? now, blockReason: words })
      .where(eq(users.id, user.id));
    await recordAudit(tx, { actor, action: 'user.blocked', subject: steamId64, details: { reason: words } });
  });
}

/**
 * Ends a block: tokens work again, and the user may sign in. Does nothing when there is none.
 * @throws {NotFound} when there is no such user.
 * @throws {Forbidden} when the actor is a user, but not an administrator.
 */
export async function unblockUser(db: Db, steamId64: SteamId64, { actor }: { actor: Actor }): Promise<void> {
  await inTransaction(db, async (tx) => {
    const user = await lockUserFor(tx, steamId64, { actor, mayAct: isAdministrator });
    await liftBlock(tx, user, actor);
  });
}

/**
 * Ends the block of a user, if there is one; their earlier sessions are deleted.
 * @param tx a transaction that has locked the user's row.
 */
export async function liftBlock(tx: Tx, user: User, actor: Actor): Promise<void> {
  if (!user.blockedAt) return;
  await tx.delete(sessions).where(eq(sessions.userId, user.id));
  await tx.update(users).set({ blockedAt: null, blockReason: '' }).where(eq(users.id, user.id));
  await recordAudit(tx, { actor, action: 'user.unblocked', subject: user.steamId64 });
}

/** @throws {Blocked} when the user is blocked; people without an account are not. */
export function requireUnblocked(user: Pick<User, 'blockedAt' | 'blockReason'> | undefined): void {
  if (user?.blockedAt) throw new Blocked(user.blockReason);
}
