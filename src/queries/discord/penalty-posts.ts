import { and, asc, desc, eq, gt, inArray, isNotNull, isNull, lte, min, type SQL, sql } from 'drizzle-orm';
import { type Db, inTransaction } from '../../db/client.ts';
import { discordFeedPosts, discordFeeds } from '../../db/schema/discord.ts';
import { penalties, penaltyEvents } from '../../db/schema/penalties.ts';
import { servers } from '../../db/schema/servers.ts';
import { PENALTY_FEED_TYPES } from '../../domain/event.ts';
import { type EventLog, type PenaltyEvent, toPenaltyEvent } from '../penalties/events.ts';
import { countsByType, type PenaltyCounts, readCounts } from '../penalties/filter.ts';
import { shownNameOf } from '../servers/servers.ts';
import type { DiscordFeed } from './feeds.ts';

/** New penalties that a feed has not posted yet. */
type WaitingPenalties = {
  amount: number;
  counts: PenaltyCounts;
  /** Of the oldest event; undefined when nothing waits. */
  first: { id: number; occurredAt: Date } | undefined;
};

/** An event, with the current data of its penalty; `isDeleted` also if a later event deleted it. */
export type FeedEvent = PenaltyEvent & {
  serverName: string | undefined;
  /** The penalty is gone at its source, or deleted. */
  isRemoved: boolean;
};

/** Counts the new penalties after a feed's cursor, up to and including an event. */
export async function countWaitingPenalties(
  db: Db,
  feed: DiscordFeed,
  upTo: number,
): Promise<WaitingPenalties> {
  const { id, penaltyType, occurredAt } = penaltyEvents;
  const [row] = await db
    .select({ counts: countsByType(penaltyType), firstId: min(id), firstAt: min(occurredAt) })
    .from(penaltyEvents)
    .where(waitingCondition(feed, upTo));
  const counts = readCounts(row?.counts);
  return {
    amount: Object.values(counts).reduce((sum, count) => sum + count, 0),
    counts,
    first: row?.firstId && row.firstAt ? { id: row.firstId, occurredAt: row.firstAt } : undefined,
  };
}

/** The newest of the penalties that {@link countWaitingPenalties} counts. */
export async function findWaitingPenalty(
  db: Db,
  feed: DiscordFeed,
  upTo: number,
): Promise<FeedEvent | undefined> {
  return findEvent(db, waitingCondition(feed, upTo));
}

/**
 * Records which events the next message covers, before it is posted, so that after a crash the same message is posted.
 * Does nothing if another process was faster.
 */
export async function claimFeedPost(db: Db, feed: DiscordFeed, upTo: number): Promise<void> {
  await db.update(discordFeeds).set({ postingUpTo: upTo }).where(unchangedCondition(feed));
}

/**
 * Advances a feed's cursor, and marks for an edit the messages whose penalties changed in between; silent changes count
 * too, so that no message stays out of date. Does nothing if another process was faster.
 * @param feed its state before, including the claim for the message that was posted, if any.
 * @param posted the message that shows a single penalty; undefined if none was posted, or a summary.
 */
export async function passFeedEvents(
  db: Db,
  feed: DiscordFeed,
  { upTo, posted }: { upTo: number; posted?: { penaltyId: number; messageId: string } | undefined },
): Promise<void> {
  await inTransaction(db, async (transaction) => {
    const { count } = await transaction
      .update(discordFeeds)
      .set({ cursor: upTo, postingUpTo: null })
      .where(unchangedCondition(feed));
    if (count === 0) return;
    if (posted) {
      await transaction
        .insert(discordFeedPosts)
        .values({ feedId: feed.id, ...posted })
        .onConflictDoUpdate({
          target: [discordFeedPosts.feedId, discordFeedPosts.penaltyId],
          set: { messageId: posted.messageId, editEventId: null },
        });
    }
    await transaction.execute(sql`
      update ${discordFeedPosts} set edit_event_id = change.id
      from (
        select penalty_id, max(id) as id from ${penaltyEvents}
        where id > ${feed.cursor} and id <= ${upTo} and type <> 'penalty.created'
          and ${inArray(penaltyEvents.type, PENALTY_FEED_TYPES)}
        group by penalty_id
      ) as change
      where ${discordFeedPosts.feedId} = ${feed.id} and ${discordFeedPosts.penaltyId} = change.penalty_id`);
  });
}

/** Continues a feed from now on, because its cursor belongs to another database. */
export async function restartDiscordFeed(
  db: Db,
  feed: DiscordFeed,
  { epoch, newestId }: EventLog,
): Promise<void> {
  await db
    .update(discordFeeds)
    .set({ epoch, cursor: newestId, postingUpTo: null })
    .where(unchangedCondition(feed));
}

/** A message that does not show an event of its penalty yet. */
type DueEdit = { penaltyId: number; messageId: string; eventId: number; event: FeedEvent | undefined };

/** The message of a feed that has waited longest for its edit. Its event may have been pruned. */
export async function findDueEdit(db: Db, feedId: number): Promise<DueEdit | undefined> {
  const [post] = await db
    .select()
    .from(discordFeedPosts)
    .where(and(eq(discordFeedPosts.feedId, feedId), isNotNull(discordFeedPosts.editEventId)))
    .orderBy(asc(discordFeedPosts.editEventId))
    .limit(1);
  if (!post || post.editEventId === null) return undefined;
  const { penaltyId, messageId, editEventId: eventId } = post;
  return { penaltyId, messageId, eventId, event: await findEvent(db, eq(penaltyEvents.id, eventId)) };
}

/** Records that a message shows an event; a later event may be due already. */
export async function finishEdit(db: Db, feedId: number, { penaltyId, eventId }: DueEdit): Promise<void> {
  await db
    .update(discordFeedPosts)
    .set({ editEventId: null })
    .where(and(postCondition(feedId, penaltyId), eq(discordFeedPosts.editEventId, eventId)));
}

/** Deletes the record of a message that will not change any more. */
export async function forgetFeedPost(db: Db, feedId: number, { penaltyId }: DueEdit): Promise<void> {
  await db.delete(discordFeedPosts).where(postCondition(feedId, penaltyId));
}

async function findEvent(db: Db, condition: SQL | undefined): Promise<FeedEvent | undefined> {
  const [row] = await db
    .select({
      event: penaltyEvents,
      server: { name: servers.name, slug: servers.slug },
      penalty: { id: penalties.id, goneAt: penalties.goneAt },
    })
    .from(penaltyEvents)
    .leftJoin(servers, eq(servers.id, penaltyEvents.serverId))
    .leftJoin(penalties, eq(penalties.id, penaltyEvents.penaltyId))
    .where(condition)
    .orderBy(desc(penaltyEvents.id))
    .limit(1);
  if (!row) return undefined;
  const serverName = row.server ? shownNameOf(row.server) : undefined;
  // Read from the penalty, not the event: an event after the removal, such as an expiry, does not bring the penalty
  // back.
  const isDeleted = row.penalty === null;
  const isRemoved = isDeleted || row.penalty?.goneAt !== null;
  return { ...toPenaltyEvent(row.event), serverName, isDeleted, isRemoved };
}

function waitingCondition({ cursor, penaltyTypes, serverId }: DiscordFeed, upTo: number): SQL | undefined {
  return and(
    gt(penaltyEvents.id, cursor),
    lte(penaltyEvents.id, upTo),
    eq(penaltyEvents.type, 'penalty.created'),
    eq(penaltyEvents.isSilent, false),
    penaltyTypes === null ? undefined : inArray(penaltyEvents.penaltyType, penaltyTypes),
    serverId === null ? undefined : eq(penaltyEvents.serverId, serverId),
  );
}

/** The feed, unless its cursor or claim has changed since it was read. */
function unchangedCondition({ id, cursor, postingUpTo }: DiscordFeed): SQL | undefined {
  return and(
    eq(discordFeeds.id, id),
    eq(discordFeeds.cursor, cursor),
    postingUpTo === null ? isNull(discordFeeds.postingUpTo) : eq(discordFeeds.postingUpTo, postingUpTo),
  );
}

function postCondition(feedId: number, penaltyId: number): SQL | undefined {
  return and(eq(discordFeedPosts.feedId, feedId), eq(discordFeedPosts.penaltyId, penaltyId));
}
