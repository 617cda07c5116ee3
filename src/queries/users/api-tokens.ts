import { and, desc, eq, getTableColumns, gt, inArray, isNull, lt, not, type SQL, sql } from 'drizzle-orm';
import { type Db, inTransaction, prepareOnce, type Reads, type Tx } from '../../db/client.ts';
import { apiTokens, users } from '../../db/schema/accounts.ts';
import { generateApiToken, hashApiToken, tokenStateOf } from '../../domain/api-token.ts';
import { Blocked, Conflict, InvalidInput, NotFound } from '../../domain/errors.ts';
import type { Actor } from '../../domain/rights/actor.ts';
import { TOKEN_SCOPES, type TokenScope } from '../../domain/rights/token-scope.ts';
import { hasVisibleCharacter } from '../../domain/text/visible-text.ts';
import { recordAudit } from '../audit-log.ts';

/** A token with its owner's SteamID and rights. */
export type ApiToken = Omit<typeof apiTokens.$inferSelect, 'tokenHash'> &
  Pick<typeof users.$inferSelect, 'steamId64' | 'isAdmin' | 'isOwner'>;

/** The most live tokens of a user. */
export const MAX_LIVE_TOKENS = 10;
export const MAX_TOKEN_NAME_LENGTH = 64;

/**
 * Creates a token for a user and returns its text, which is not stored. Written to the audit log.
 * @param options.scopes what it may read; all of them by default.
 * @throws {InvalidInput} for a name that {@link isTokenName} refuses, or an expiry that has passed.
 * @throws {Conflict} when the user has 10 live tokens; {@link Blocked}; {@link NotFound} when there is no such user.
 */
export async function createApiToken(
  tx: Tx,
  userId: number,
  options: {
    name: string;
    scopes?: readonly TokenScope[];
    expiresAt?: Date | null;
    now: Date;
    actor: Actor;
  },
): Promise<{ token: string; id: number }> {
  const { name, scopes = TOKEN_SCOPES, expiresAt = null, now, actor } = options;
  const label = name.trim();
  if (!isTokenName(label)) {
    throw new InvalidInput(
      `The name of a token has 1 to ${MAX_TOKEN_NAME_LENGTH} characters, at least one of them visible and none of them a control character`,
    );
  }
  if (expiresAt && expiresAt <= now) throw new InvalidInput('A token cannot expire in the past');
  const token = generateApiToken();
  // Locks the user's row: two concurrent requests must not create an eleventh token.
  const [owner] = await tx.select().from(users).where(eq(users.id, userId)).for('update');
  if (!owner) throw new NotFound('User not found');
  if (owner.blockedAt) throw new Blocked(owner.blockReason);
  const live = await tx.$count(apiTokens, and(eq(apiTokens.userId, userId), liveCondition(now)));
  if (live >= MAX_LIVE_TOKENS) {
    throw new Conflict(`A user has at most ${MAX_LIVE_TOKENS} live tokens: revoke one first`);
  }
  const [row] = await tx
    .insert(apiTokens)
    .values({
      userId,
      name: label,
      tokenHash: hashApiToken(token),
      lastFour: token.slice(-4),
      scopes: [...scopes],
      expiresAt,
      createdAt: now,
    })
    .returning({ id: apiTokens.id });
  if (!row) throw new Error('the token was not inserted');
  await recordAudit(tx, {
    actor,
    action: 'token.created',
    subject: owner.steamId64,
    details: { tokenId: row.id, name: label, scopes, expiresAt: expiresAt?.toISOString() ?? null },
  });
  return { token, id: row.id };
}

/** Those of these tokens that are live and whose users are not blocked. */
export async function listLiveTokenIds(db: Db, ids: readonly number[], now: Date): Promise<Set<number>> {
  const rows = await db
    .select({ id: apiTokens.id })
    .from(apiTokens)
    .innerJoin(users, eq(users.id, apiTokens.userId))
    .where(and(inArray(apiTokens.id, [...ids]), liveCondition(now), isNull(users.blockedAt)));
  return new Set(rows.map(({ id }) => id));
}

/** Whether a name is allowed: 1 to 64 characters, at least one of them visible, no control characters. */
export function isTokenName(name: string): boolean {
  return [...name].length <= MAX_TOKEN_NAME_LENGTH && hasVisibleCharacter(name) && !/\p{Cc}/u.test(name);
}

/**
 * The live token (known, not revoked, not expired, of a user who is not blocked) that has this hash.
 * @param hash SHA-256 in hexadecimal, as {@link hashApiToken} makes it.
 */
export async function findLiveApiToken(db: Db, hash: string, now: Date): Promise<ApiToken | undefined> {
  const [token] = await byHash(db).execute({ hash });
  return token && tokenStateOf(token, now) === 'live' ? token : undefined;
}

const byHash = prepareOnce('live_api_token', (db) =>
  selectTokens(
    db,
    and(
      eq(apiTokens.tokenHash, sql.placeholder('hash')),
      isNull(apiTokens.revokedAt),
      isNull(users.blockedAt),
    ),
  ),
);

function selectTokens(db: Reads, condition: SQL | undefined) {
  const { tokenHash: _, ...columns } = getTableColumns(apiTokens);
  const { steamId64, isAdmin, isOwner } = users;
  return db
    .select({ ...columns, steamId64, isAdmin, isOwner })
    .from(apiTokens)
    .innerJoin(users, eq(users.id, apiTokens.userId))
    .where(condition)
    .orderBy(desc(apiTokens.id));
}

/**
 * Tokens of all users, newest first, revoked and expired ones included: for the operator's tool.
 * @param before only tokens with a lower id, for the next page.
 * @returns also the number of older tokens that are not listed.
 */
export async function listApiTokens(
  db: Db,
  { before, limit }: { before?: number | undefined; limit: number },
): Promise<{ tokens: ApiToken[]; older: number }> {
  const olderThan = (id: number | undefined) => (id === undefined ? undefined : lt(apiTokens.id, id));
  const tokens = await selectTokens(db, olderThan(before)).limit(limit);
  const last = tokens.at(-1);
  if (!last || tokens.length < limit) return { tokens, older: 0 };
  return { tokens, older: await db.$count(apiTokens, olderThan(last.id)) };
}

/** The tokens of a user that are live at `now`, newest first: at most {@link MAX_LIVE_TOKENS}, unless added by SQL. */
export async function listLiveApiTokens(db: Db, userId: number, now: Date): Promise<ApiToken[]> {
  return selectTokens(db, and(eq(apiTokens.userId, userId), liveCondition(now)));
}

/** The newest revoked and expired tokens of a user. */
export async function listEndedApiTokens(
  db: Db,
  userId: number,
  { limit, now }: { limit: number; now: Date },
): Promise<ApiToken[]> {
  return selectTokens(db, and(eq(apiTokens.userId, userId), not(liveCondition(now)))).limit(limit);
}

/** A token of this user in any state, by its row id. */
export async function findApiToken(
  db: Db,
  { id, userId }: { id: number; userId: number },
): Promise<ApiToken | undefined> {
  const [token] = await selectTokens(db, and(eq(apiTokens.id, id), eq(apiTokens.userId, userId)));
  return token;
}

/** The number of tokens, live or not. */
export async function countApiTokens(db: Db): Promise<number> {
  return db.$count(apiTokens);
}

/**
 * Revokes a token; a NOTIFY makes it invalid in every process at once. Written to the audit log.
 * @param options.ofUserId when given, only a token of this user.
 * @throws {NotFound} when there is no such token; revoking twice changes nothing.
 */
export async function revokeApiToken(
  db: Db,
  id: number,
  { ofUserId, now, actor }: { ofUserId?: number; now: Date; actor: Actor },
): Promise<void> {
  const ownerCondition = ofUserId === undefined ? undefined : eq(apiTokens.userId, ofUserId);
  await inTransaction(db, async (tx) => {
    const [token] = await selectTokens(tx, and(eq(apiTokens.id, id), ownerCondition));
    if (!token) throw new NotFound(`There is no token ${id}`);
    const { count } = await tx
      .update(apiTokens)
      .set({ revokedAt: now })
      .where(and(eq(apiTokens.id, id), isNull(apiTokens.revokedAt)));
    if (count === 0) return;
    const details = { tokenId: id, name: token.name };
    await recordAudit(tx, { actor, action: 'token.revoked', subject: token.steamId64, details });
  });
}

/** Saves when tokens were last used, in one statement for a batch of ids. */
export async function saveApiTokenUses(db: Db, ids: readonly number[], usedAt: Date): Promise<void> {
  if (ids.length === 0) return;
  await db
    .update(apiTokens)
    .set({ lastUsedAt: sql`greatest(${apiTokens.lastUsedAt}, ${usedAt.toISOString()}::timestamptz)` })
    .where(inArray(apiTokens.id, [...ids]));
}

/** The number of live tokens of a user, as a column of a select from users. */
export function liveTokenCount(db: Db, now: Date): ReturnType<Db['$count']> {
  return db.$count(apiTokens, and(eq(apiTokens.userId, users.id), liveCondition(now)));
}

/** The rule of {@link tokenStateOf}; never null, so that it can be negated. */
function liveCondition(now: Date): SQL {
  return sql`(${apiTokens.revokedAt} is null and (${apiTokens.expiresAt} is null or ${gt(apiTokens.expiresAt, now)}))`;
}
