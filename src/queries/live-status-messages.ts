import { and, asc, eq, sql } from 'drizzle-orm';
import type { Db } from '../db/client.ts';
import { auditLog, users } from '../db/schema/accounts.ts';
import { liveStatusMessages } from '../db/schema/discord.ts';
import type { Actor } from '../domain/rights/actor.ts';
import { channelSubject, recordAudit } from './audit-log.ts';

export type LiveStatusMessage = typeof liveStatusMessages.$inferSelect;

/** Every live status message, oldest first. */
export async function listLiveStatusMessages(db: Db): Promise<LiveStatusMessage[]> {
  return db.select().from(liveStatusMessages).orderBy(asc(liveStatusMessages.createdAt));
}

/** Saves a message to keep up to date; one that is saved already stays unchanged. Written to the audit log. */
export async function saveLiveStatusMessage(
  db: Db,
  message: Omit<LiveStatusMessage, 'createdAt'>,
  { actor }: { actor: Actor },
): Promise<void> {
  await db.transaction(async (tx) => {
    const { count } = await tx.insert(liveStatusMessages).values(message).onConflictDoNothing();
    if (count === 0) return;
    const subject = channelSubject(message.channelId);
    await recordAudit(tx, { actor, action: 'live-message.posted', subject });
  });
}

/**
 * The Discord id of the person who pinned a message, as the audit log has it: both rows have the time of one transaction.
 * Undefined once their data was erased.
 */
export async function findWhoPinned(db: Db, messageId: string): Promise<string | undefined> {
  const [row] = await db
    .select({
      discordId: sql<string | null>`coalesce(${users.discordId}::text, ${auditLog.details} ->> 'discordId')`,
    })
    .from(liveStatusMessages)
    .innerJoin(
      auditLog,
      and(
        eq(auditLog.subject, sql`'#' || ${liveStatusMessages.channelId}`),
        eq(auditLog.action, 'live-message.posted'),
        eq(auditLog.at, liveStatusMessages.createdAt),
      ),
    )
    .leftJoin(users, eq(users.id, auditLog.actorUserId))
    .where(eq(liveStatusMessages.messageId, messageId));
  return row?.discordId ?? undefined;
}

/** Deletes the record of a message that can no longer be updated. Written to the audit log. */
export async function removeLiveStatusMessage(db: Db, messageId: string): Promise<void> {
  await db.transaction(async (tx) => {
    const [removed] = await tx
      .delete(liveStatusMessages)
      .where(eq(liveStatusMessages.messageId, messageId))
      .returning();
    if (!removed) return;
    const subject = channelSubject(removed.channelId);
    await recordAudit(tx, { actor: 'service', action: 'live-message.dropped', subject });
  });
}
