import { and, eq, inArray, ne, sql } from 'drizzle-orm';
import { type Db, inTransaction, type Tx } from '../../db/client.ts';
import { discordFeedServers, discordFeeds } from '../../db/schema/discord.ts';
import { serverSnapshots } from '../../db/schema/servers.ts';
import type { FeedChange } from '../../domain/discord-feed.ts';

/** What a feed has posted about a server. */
export type FeedServer = Omit<typeof discordFeedServers.$inferSelect, 'feedId'>;

/** What a feed has recorded about servers, by id. */
export async function listFeedServers(db: Db, feedId: number): Promise<FeedServer[]> {
  return db
    .select()
    .from(discordFeedServers)
    .where(eq(discordFeedServers.feedId, feedId))
    .orderBy(discordFeedServers.serverId);
}

/**
 * Records new states of servers, with the changes to post, before they are posted. States that another process recorded
 * in the meantime are kept, and nothing is recorded if `playersAtLeast`, with which states were compared, has changed.
 */
export async function saveFeedServers(
  db: Db,
  { id: feedId, playersAtLeast }: { id: number; playersAtLeast: number | null },
  states: readonly FeedServer[],
): Promise<void> {
  const { serverId, isOnline, hasPlayers, pending } = discordFeedServers;
  await inTransaction(db, async (transaction) => {
    const [feed] = await transaction
      .select({ playersAtLeast: discordFeeds.playersAtLeast })
      .from(discordFeeds)
      .where(eq(discordFeeds.id, feedId))
      .for('share');
    if (feed?.playersAtLeast !== playersAtLeast) return;
    await transaction
      .insert(discordFeedServers)
      .values(states.map((state) => ({ feedId, ...state })))
      .onConflictDoUpdate({
        target: [discordFeedServers.feedId, serverId],
        set: {
          isOnline: sql`excluded.is_online`,
          hasPlayers: sql`excluded.has_players`,
          calledAt: sql`excluded.called_at`,
          pending: sql`excluded.pending`,
          pendingSince: sql`excluded.pending_since`,
        },
        setWhere: sql`${pending} is null and (${isOnline}, ${hasPlayers}) <> (excluded.is_online, excluded.has_players)`,
      });
  });
}

/**
 * Records that a change that was pending for these servers is posted.
 * @param isOver it was not posted: they were down for a short time only, and count as if they had stayed online.
 */
export async function finishFeedServers(
  db: Db,
  feedId: number,
  { change, serverIds, isOver = false }: { change: FeedChange; serverIds: number[]; isOver?: boolean },
): Promise<void> {
  const { pending, serverId } = discordFeedServers;
  await db
    .update(discordFeedServers)
    .set({ pending: null, ...(isOver && { isOnline: true }) })
    .where(and(eq(discordFeedServers.feedId, feedId), eq(pending, change), inArray(serverId, serverIds)));
}

/**
 * Adapts what a feed has recorded to new settings: forgets servers that it no longer covers. Times of messages and what
 * is pending are kept.
 * @param isOtherNumber whether `playersAtLeast` has changed: servers that already have that many players cause no
 * message.
 */
export async function adaptFeedServers(
  db: Db | Tx,
  { id, serverId, playersAtLeast }: { id: number; serverId: number | null; playersAtLeast: number | null },
  { isOtherNumber }: { isOtherNumber: boolean },
): Promise<void> {
  const isOfFeed = eq(discordFeedServers.feedId, id);
  if (serverId !== null) {
    await db.delete(discordFeedServers).where(and(isOfFeed, ne(discordFeedServers.serverId, serverId)));
  }
  if (!isOtherNumber) return;
  const { isOnline, playersCount } = serverSnapshots;
  const hasPlayers = sql<boolean>`coalesce((select ${isOnline} and ${playersCount} >= ${playersAtLeast} from ${serverSnapshots}
    where ${serverSnapshots.serverId} = ${discordFeedServers.serverId}), false)`;
  await db.update(discordFeedServers).set({ hasPlayers }).where(isOfFeed);
}
