import { and, asc, eq, ne, sql } from 'drizzle-orm';
import { type Db, inTransaction } from '../../db/client.ts';
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
  message: Omit<LiveStatusMessage, 'createdAt'> & { pinnedBy: string },
): Promise<string[]> {
  const { channelId, serverId, messageId, pinnedBy } = message;
  return inTransaction(db, async (tx) => {
    // Of two messages that are pinned at the same time, the later one replaces the other.
    await tx.execute(sql`lock table ${liveStatusMessages} in share row exclusive mode`);
    const { count } = await tx.insert(liveStatusMessages).values(message).onConflictDoNothing();
    if (count === 0) return [];
    const actor = { discordId: pinnedBy };
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
 * Pauses a message, or lets it be updated again. Written to the audit log.
 * @param pausedAt null: it is updated again.
 */
export async function pauseLiveStatusMessage(
  db: Db,
  { messageId, channelId }: Pick<LiveStatusMessage, 'messageId' | 'channelId'>,
  pausedAt: Date | null,
): Promise<void> {
  await inTransaction(db, async (tx) => {
    const isMessage = eq(liveStatusMessages.messageId, messageId);
    const { count } = await tx.update(liveStatusMessages).set({ pausedAt }).where(isMessage);
    if (count === 0) return;
    const action = pausedAt ? 'live-message.paused' : 'live-message.resumed';
    await recordAudit(tx, { actor: 'service', action, subject: channelSubject(channelId) });
  });
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
