import { timingSafeEqual } from 'node:crypto';
import {
  and,
  count,
  desc,
  eq,
  gt,
  inArray,
  isNotNull,
  isNull,
  lt,
  lte,
  or,
  type SQL,
  sql,
} from 'drizzle-orm';
import { generateApiToken, hashApiToken } from '../api-token.ts';
import { type Db, prepareOnce } from '../db/client.ts';
import { apiTokens, users } from '../db/schema.ts';
import { Conflict, InvalidInput, NotFound } from '../errors.ts';
import type { SteamId64 } from '../steam-id.ts';
import { hasVisibleCharacter } from '../visible-text.ts';
import { recordAudit } from './audit-log.ts';

export type ApiToken = Omit<typeof apiTokens.$inferSelect, 'tokenHash'> & { steamId64: SteamId64 };

/** Contract section 4. */
export const MAX_LIVE_TOKENS = 10;
const MAX_NAME_LENGTH = 64;

/**
 * Makes a token for a user; the answer is the only time it is seen. Written to the audit log.
 * @param options.actorUserId who makes it; null, by default, for the operator's tool.
 * @throws {InvalidInput} for a name that {@link isTokenName} refuses, or an expiry that has passed.
 * @throws {Conflict} when the user has 10 live tokens; {@link NotFound} when there is no such user.
 */
export async function createApiToken(
  db: Db,
  userId: number,
  options: { name: string; expiresAt?: Date | null; now: Date; actorUserId?: number | null },
): Promise<{ token: string; id: number }> {
  const { name, expiresAt = null, now, actorUserId = null } = options;
  const label = name.trim();
  if (!isTokenName(label)) {
    throw new InvalidInput(
      `The name of a token has 1 to ${MAX_NAME_LENGTH} characters, at least one of them visible and none of them a control character`,
    );
  }
  if (expiresAt && expiresAt <= now) throw new InvalidInput('A token cannot expire in the past');
  const token = generateApiToken();
  return db.transaction(async (tx) => {
    // Locks the owner's row: two requests at once must not make an eleventh token.
    const [owner] = await tx
      .select({ steamId64: users.steamId64 })
      .from(users)
      .where(eq(users.id, userId))
      .for('update');
    if (!owner) throw new NotFound('User not found');
    const [live] = await tx
      .select({ count: count() })
      .from(apiTokens)
      .where(and(eq(apiTokens.userId, userId), isLive(now)));
    if ((live?.count ?? 0) >= MAX_LIVE_TOKENS) {
      throw new Conflict(`A user has at most ${MAX_LIVE_TOKENS} live tokens: revoke one first`);
    }
    const [row] = await tx
      .insert(apiTokens)
      .values({
        userId,
        name: label,
        tokenHash: hashApiToken(token),
        lastFour: token.slice(-4),
        expiresAt,
        createdAt: now,
      })
      .returning({ id: apiTokens.id });
    if (!row) throw new Error('the token was not inserted');
    await recordAudit(tx, {
      actorUserId,
      action: 'token.created',
      subject: owner.steamId64,
      details: { tokenId: row.id, name: label, expiresAt: expiresAt?.toISOString() ?? null },
    });
    return { token, id: row.id };
  });
}

/** Whether a token may be called so: 1 to 64 characters, something to see among them, no control characters. */
export function isTokenName(name: string): boolean {
  return name.length <= MAX_NAME_LENGTH && hasVisibleCharacter(name) && !/\p{Cc}/u.test(name);
}

/** The live token (known, not revoked, not expired, of an existing user) that a caller shows. */
export async function findLiveApiToken(db: Db, token: string, now: Date): Promise<ApiToken | undefined> {
  const hash = hashApiToken(token);
  const [found] = await byHash(db).execute({ hash });
  if (!found || !timingSafeEqual(Buffer.from(found.token.tokenHash), Buffer.from(hash))) return undefined;
  if (found.token.expiresAt && found.token.expiresAt <= now) return undefined;
  return withoutHash(found);
}

const byHash = prepareOnce((db) =>
  db
    .select({ token: apiTokens, steamId64: users.steamId64 })
    .from(apiTokens)
    .innerJoin(users, eq(users.id, apiTokens.userId))
    .where(and(eq(apiTokens.tokenHash, sql.placeholder('hash')), isNull(apiTokens.revokedAt)))
    .prepare('live_api_token'),
);

/** All tokens of all users, newest first, revoked and expired ones too: for the operator's tool. */
export async function listApiTokens(db: Db): Promise<ApiToken[]> {
  return selectTokens(db, undefined);
}

/** The tokens of a user that work at `now`, newest first: never more than {@link MAX_LIVE_TOKENS} but by SQL. */
export async function listLiveApiTokens(db: Db, userId: number, now: Date): Promise<ApiToken[]> {
  return selectTokens(db, and(eq(apiTokens.userId, userId), isLive(now)));
}

/**
 * The revoked and expired tokens of a user, newest first.
 * @param before only those older than this id, for the next page.
 */
export async function listEndedApiTokens(
  db: Db,
  userId: number,
  { before, limit, now }: { before?: number | undefined; limit: number; now: Date },
): Promise<ApiToken[]> {
  const isOlder = before === undefined ? undefined : lt(apiTokens.id, before);
  const hasEnded = or(isNotNull(apiTokens.revokedAt), lte(apiTokens.expiresAt, now));
  return selectTokens(db, and(eq(apiTokens.userId, userId), isOlder, hasEnded), limit);
}

/** A token of this user that is not revoked, by its row id. */
export async function findUnrevokedApiToken(
  db: Db,
  { id, userId }: { id: number; userId: number },
): Promise<ApiToken | undefined> {
  const isIt = and(eq(apiTokens.id, id), eq(apiTokens.userId, userId), isNull(apiTokens.revokedAt));
  const [token] = await selectTokens(db, isIt);
  return token;
}

async function selectTokens(db: Db, condition: SQL | undefined, limit?: number): Promise<ApiToken[]> {
  const query = db
    .select({ token: apiTokens, steamId64: users.steamId64 })
    .from(apiTokens)
    .innerJoin(users, eq(users.id, apiTokens.userId))
    .where(condition)
    .orderBy(desc(apiTokens.id));
  const rows = await (limit === undefined ? query : query.limit(limit));
  return rows.map(withoutHash);
}

/** How many tokens there are, live or not. */
export async function countApiTokens(db: Db): Promise<number> {
  const [row] = await db.select({ count: count() }).from(apiTokens);
  return row?.count ?? 0;
}

/**
 * Revokes a token, at once and in every process: they hear of it by notification. Written to the audit log.
 * @param options.ofUserId when given, only a token of this user.
 * @param options.actorUserId who revokes it; null, by default, for the operator's tool.
 * @throws {NotFound} when there is no such token; revoking twice changes nothing.
 */
export async function revokeApiToken(
  db: Db,
  id: number,
  { ofUserId, now, actorUserId = null }: { ofUserId?: number; now: Date; actorUserId?: number | null },
): Promise<void> {
  const isOwned = ofUserId === undefined ? undefined : eq(apiTokens.userId, ofUserId);
  await db.transaction(async (tx) => {
    const [known] = await tx
      .select({ name: apiTokens.name, steamId64: users.steamId64 })
      .from(apiTokens)
      .innerJoin(users, eq(users.id, apiTokens.userId))
      .where(and(eq(apiTokens.id, id), isOwned));
    if (!known) throw new NotFound(`There is no token ${id}`);
    const revoked = await tx
      .update(apiTokens)
      .set({ revokedAt: now })
      .where(and(eq(apiTokens.id, id), isNull(apiTokens.revokedAt)))
      .returning({ id: apiTokens.id });
    if (revoked.length === 0) return;
    const details = { tokenId: id, name: known.name };
    await recordAudit(tx, { actorUserId, action: 'token.revoked', subject: known.steamId64, details });
  });
}

/** Writes that tokens were used; one statement for a batch of ids. */
export async function saveApiTokenUses(db: Db, ids: readonly number[], usedAt: Date): Promise<void> {
  if (ids.length === 0) return;
  await db
    .update(apiTokens)
    .set({ lastUsedAt: usedAt })
    .where(
      and(
        inArray(apiTokens.id, [...ids]),
        or(isNull(apiTokens.lastUsedAt), lt(apiTokens.lastUsedAt, usedAt)),
      ),
    );
}

function isLive(now: Date) {
  return and(isNull(apiTokens.revokedAt), or(isNull(apiTokens.expiresAt), gt(apiTokens.expiresAt, now)));
}

function withoutHash({
  token,
  steamId64,
}: {
  token: typeof apiTokens.$inferSelect;
  steamId64: SteamId64;
}): ApiToken {
  const { tokenHash: _, ...rest } = token;
  return { ...rest, steamId64 };
}
