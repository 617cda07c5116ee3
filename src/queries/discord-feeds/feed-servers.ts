import { and, eq, exists, isNull, ne, sql } from 'drizzle-orm';
import type { Db } from '../../db/client.ts';
import { discordFeedServers } from '../../db/schema/discord.ts';
import { serverSnapshots } from '../../db/schema/servers.ts';

/** What a feed has posted about a server. */
export type FeedServer = Omit<typeof discordFeedServers.$inferSelect, 'feedId'>;

/** A change of what a feed has recorded about a server; `before` is undefined if nothing was recorded. */
export type FeedServerUpdate = { before: FeedServer | undefined; after: FeedServer };

/** What a feed has recorded about servers, by id. */
export async function listFeedServers(db: Db, feedId: number): Promise<FeedServer[]> {
  return db
    .select()
    .from(discordFeedServers)
    .where(eq(discordFeedServers.feedId, feedId))
    .orderBy(discordFeedServers.serverId);
}

/**
 * Records what is to be posted about servers, before it is posted, in one transaction. What another process recorded
 * in the meantime is kept.
 */
export async function saveFeedServers(
  db: Db,
  feedId: number,
  updates: readonly FeedServerUpdate[],
): Promise<void> {
  await db.transaction(async (transaction) => {
    for (const { before, after } of updates) {
      if (before) {
        await transaction
          .update(discordFeedServers)
          .set(after)
          .where(
            and(
              isServer(feedId, before),
              eq(discordFeedServers.isOnline, before.isOnline),
              eq(discordFeedServers.hasPlayers, before.hasPlayers),
              isNull(discordFeedServers.pending),
            ),
          );
      } else {
        await transaction
          .insert(discordFeedServers)
          .values({ feedId, ...after })
          .onConflictDoNothing();
      }
    }
  });
}

/** Records that what was pending for these servers is posted. */
export async function finishFeedServers(
  db: Db,
  feedId: number,
  posted: readonly FeedServer[],
): Promise<void> {
  await db.transaction(async (transaction) => {
    for (const state of posted) {
      await transaction
        .update(discordFeedServers)
        .set({ pending: null })
        .where(
          and(
            isServer(feedId, state),
            state.pending === null ? undefined : eq(discordFeedServers.pending, state.pending),
            state.pendingSince === null ? undefined : eq(discordFeedServers.pendingSince, state.pendingSince),
          ),
        );
    }
  });
}

/**
 * Adapts what a feed has recorded to new settings: forgets servers that it no longer covers. Times of messages and what
 * is pending are kept.
 * @param isOtherNumber whether `playersAtLeast` has changed: servers that already have that many players cause no
 * message.
 */
export async function adaptFeedServers(
  db: Db,
  { id, serverId, playersAtLeast }: { id: number; serverId: number | null; playersAtLeast: number | null },
  { isOtherNumber }: { isOtherNumber: boolean },
): Promise<void> {
  const isOfFeed = eq(discordFeedServers.feedId, id);
  if (serverId !== null) {
    await db.delete(discordFeedServers).where(and(isOfFeed, ne(discordFeedServers.serverId, serverId)));
  }
  if (!isOtherNumber) return;
  const reached = db
    .select({ serverId: serverSnapshots.serverId })
    .from(serverSnapshots)
    .where(
      and(
        eq(serverSnapshots.serverId, discordFeedServers.serverId),
        serverSnapshots.isOnline,
        // Never true for null.
        sql`${serverSnapshots.playersCount} >= ${playersAtLeast}`,
      ),
    );
  await db
    .update(discordFeedServers)
    .set({ hasPlayers: exists(reached) })
    .where(isOfFeed);
}

function isServer(feedId: number, { serverId }: FeedServer) {
  return and(eq(discordFeedServers.feedId, feedId), eq(discordFeedServers.serverId, serverId));
}
