import { and, eq, inArray, ne, type SQL, sql } from 'drizzle-orm';
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
          downAt: sql`excluded.down_at`,
        },
        setWhere: sql`${pending} is null and (${isOnline}, ${hasPlayers}) <> (excluded.is_online, excluded.has_players)`,
      });
  });
}

/**
 * Records that `down` was posted for servers whose change is still pending.
 * @param keptMs how long this is remembered.
 */
export async function recordDown(
  db: Db,
  feedId: number,
  serverIds: number[],
  { now, keptMs }: { now: Date; keptMs: number },
): Promise<void> {
  const { serverId, downAt, pendingSince } = discordFeedServers;
  const keptSince = new Date(now.getTime() - keptMs).toISOString();
  const earlier = sql`array(select at from unnest(${downAt}) as at
    where at > ${keptSince}::timestamptz and at < ${pendingSince})`;
  await db
    .update(discordFeedServers)
    .set({ downAt: sql`${earlier} || ${now.toISOString()}::timestamptz` })
    .where(and(eq(discordFeedServers.feedId, feedId), inArray(serverId, serverIds)));
}

/** Clears a change of servers that was posted. */
export async function finishFeedServers(
  db: Db,
  feedId: number,
  { change, serverIds }: { change: FeedChange; serverIds: number[] },
): Promise<void> {
  await db
    .update(discordFeedServers)
    .set({ pending: null })
    .where(isPending(feedId, change, serverIds));
}

/** Clears a change of servers that is no longer true: they count as if they had stayed as the feed last said. */
export async function dropFeedServers(
  db: Db,
  feedId: number,
  { change, serverIds }: { change: FeedChange; serverIds: number[] },
): Promise<void> {
  const { downAt, pendingSince, isOnline } = discordFeedServers;
  const wasOnline = {
    // Without the response to a message, it may have been posted.
    down: sql<boolean>`coalesce(${downAt}[cardinality(${downAt})] < ${pendingSince}, true)`,
    up: sql<boolean>`false`,
    players: sql<boolean>`${isOnline}`,
  };
  await db
    .update(discordFeedServers)
    .set({ pending: null, isOnline: wasOnline[change] })
    .where(isPending(feedId, change, serverIds));
}

function isPending(feedId: number, change: FeedChange, serverIds: number[]): SQL | undefined {
  const { pending, serverId } = discordFeedServers;
  return and(eq(discordFeedServers.feedId, feedId), eq(pending, change), inArray(serverId, serverIds));
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
