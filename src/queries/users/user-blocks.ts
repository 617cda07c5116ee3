import { eq } from 'drizzle-orm';
import type { Db } from '../../db/client.ts';
import { sessions, users } from '../../db/schema/accounts.ts';
import { Blocked, Forbidden, InvalidInput } from '../../domain/errors.ts';
import type { Actor } from '../../domain/rights/actor.ts';
import { isAdministrator } from '../../domain/rights/administrator.ts';
import type { SteamId64 } from '../../domain/steam-id.ts';
import { recordAudit } from '../audit-log.ts';
import { lockUserFor, type User } from './users.ts';

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
  await db.transaction(async (tx) => {
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
  await db.transaction(async (tx) => {
    const user = await lockUserFor(tx, steamId64, { actor, mayAct: isAdministrator });
    await liftBlock(tx, user, actor);
  });
}

/**
 * Ends the block of a user, if there is one; their earlier sessions are deleted.
 * @param tx a transaction that has locked the user's row.
 */
export async function liftBlock(tx: Db, user: User, actor: Actor): Promise<void> {
  if (!user.blockedAt) return;
  await tx.delete(sessions).where(eq(sessions.userId, user.id));
  await tx.update(users).set({ blockedAt: null, blockReason: '' }).where(eq(users.id, user.id));
  await recordAudit(tx, { actor, action: 'user.unblocked', subject: user.steamId64 });
}

/** @throws {Blocked} when the user is blocked; people without an account are not. */
export function requireUnblocked(user: Pick<User, 'blockedAt' | 'blockReason'> | undefined): void {
  if (user?.blockedAt) throw new Blocked(user.blockReason);
}
