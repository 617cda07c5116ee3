import { and, asc, eq, ne, sql } from 'drizzle-orm';
import { type Db, inTransaction } from '../../db/client.ts';
import { auditLog, users } from '../../db/schema/accounts.ts';
import { liveStatusMessages } from '../../db/schema/discord.ts';
import { servers } from '../../db/schema/servers.ts';
import type { Actor } from '../../domain/rights/actor.ts';
import { channelSubject, recordAudit } from '../audit-log.ts';
import { shownNameOf } from '../servers/servers.ts';

export type LiveStatusMessage = typeof liveStatusMessages.$inferSelect;

/** Every live status message, oldest first. */
export async function listLiveStatusMessages(db: Db): Promise<LiveStatusMessage[]> {
  return db.select().from(liveStatusMessages).orderBy(asc(liveStatusMessages.createdAt));
}

/** The live status messages of a guild, grouped by channel, with the name of the server that they show. */
export async function listGuildLiveMessages(
  db: Db,
  guildId: string,
): Promise<(LiveStatusMessage & { serverName: string | undefined })[]> {
  const rows = await db
    .select({ message: liveStatusMessages, server: { name: servers.name, slug: servers.slug } })
    .from(liveStatusMessages)
    .leftJoin(servers, eq(servers.id, liveStatusMessages.serverId))
    .where(eq(liveStatusMessages.guildId, guildId))
    .orderBy(asc(liveStatusMessages.channelId), asc(liveStatusMessages.createdAt));
  return rows.map(({ message, server }) => ({
    ...message,
    serverName: server ? shownNameOf(server) : undefined,
  }));
}

/**
 * Saves a message to keep up to date, in place of those of the same server in the channel; one that is saved already stays
 * unchanged. Written to the audit log.
 * @returns the ids of the messages that it replaces.
 */
export async function saveLiveStatusMessage(
  db: Db,
  message: Omit<LiveStatusMessage, 'createdAt'>,
  { actor }: { actor: Actor },
): Promise<string[]> {
  const { channelId, serverId, messageId } = message;
  return inTransaction(db, async (tx) => {
    // Of two messages that are pinned at the same time, the later one replaces the other.
    await tx.execute(sql`lock table ${liveStatusMessages} in share row exclusive mode`);
    const { count } = await tx.insert(liveStatusMessages).values(message).onConflictDoNothing();
    if (count === 0) return [];
    await recordAudit(tx, { actor, action: 'live-message.posted', subject: channelSubject(channelId) });
    const replaced = await tx
      .delete(liveStatusMessages)
      .where(
        and(
          eq(liveStatusMessages.channelId, channelId),
          sql`${liveStatusMessages.serverId} is not distinct from ${serverId}`,
          ne(liveStatusMessages.messageId, messageId),
        ),
      )
      .returning({ messageId: liveStatusMessages.messageId });
    return replaced.map((row) => row.messageId);
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

/**
 * Deletes the record of a message that is no longer updated. Written to the audit log.
 * @param options.guildId only if it is in this guild.
 * @param options.actor `service` when it can no longer be updated.
 * @returns the channel of the message; undefined when there is no such record.
 */
export async function removeLiveStatusMessage(
  db: Db,
  messageId: string,
  { actor, guildId }: { actor: Actor; guildId?: string },
): Promise<string | undefined> {
  const isIn = guildId === undefined ? undefined : eq(liveStatusMessages.guildId, guildId);
  return inTransaction(db, async (tx) => {
    const [removed] = await tx
      .delete(liveStatusMessages)
      .where(and(eq(liveStatusMessages.messageId, messageId), isIn))
      .returning();
    if (!removed) return undefined;
    const { channelId } = removed;
    await recordAudit(tx, { actor, action: 'live-message.dropped', subject: channelSubject(channelId) });
    return channelId;
  });
}
