import { and, asc, eq, gt, inArray, isNotNull, isNull, lte, notInArray, type SQL, sql } from 'drizzle-orm';
import { type Db, inTransaction } from '../../db/client.ts';
import { discordFeedPosts, discordFeeds } from '../../db/schema/discord.ts';
import { penaltyEvents } from '../../db/schema/penalties.ts';
import { listFeedTypes } from '../../domain/event.ts';
import type { EventLog } from '../events.ts';
import type { DiscordFeed } from './feeds.ts';

/** What an event is about: its penalty, or the only object in its data. */
export const EVENT_SUBJECT_ID: SQL<number> =
  sql`coalesce(${penaltyEvents.penaltyId}, (jsonb_path_query_first(${penaltyEvents.data}, '$.*.id'))::bigint)`.mapWith(
    Number,
  );

/** The events that a feed has not passed yet, up to and including one of them. */
export function waitingCondition({ cursor }: DiscordFeed, upTo: number): SQL | undefined {
  return and(gt(penaltyEvents.id, cursor), lte(penaltyEvents.id, upTo));
}

/**
 * Records which events the next message covers, before it is posted, so that after a crash the same message is posted.
 * Does nothing if another process was faster.
 */
export async function claimFeedPost(db: Db, feed: DiscordFeed, upTo: number): Promise<void> {
  await db.update(discordFeeds).set({ postingUpTo: upTo }).where(unchangedCondition(feed));
}

/** A message that shows one penalty or appeal, or a reply to it. */
export type PostedMessage = { subjectId: number } & ({ messageId: string } | { repliedAt: Date });

/**
 * Advances a feed's cursor, and marks for an edit the messages whose subjects changed in between; silent changes count
 * too, so that no message stays out of date. Does nothing if another process was faster.
 * @param feed its state before, including the claim for the message that was posted, if any.
 * @param posted undefined if nothing was posted, or a summary.
 */
export async function passFeedEvents(
  db: Db,
  feed: DiscordFeed,
  { upTo, posted }: { upTo: number; posted?: PostedMessage | undefined },
): Promise<void> {
  const [, ...changes] = listFeedTypes(feed.subject);
  await inTransaction(db, async (tx) => {
    const { count } = await tx
      .update(discordFeeds)
      .set({ cursor: upTo, postingUpTo: null })
      .where(unchangedCondition(feed));
    if (count === 0) return;
    if (posted && 'messageId' in posted) {
      const { messageId } = posted;
      await tx
        .insert(discordFeedPosts)
        .values({ feedId: feed.id, ...posted })
        .onConflictDoUpdate({
          target: [discordFeedPosts.feedId, discordFeedPosts.subjectId],
          set: { messageId, editEventId: null },
        });
    } else if (posted) {
      const { subjectId, repliedAt } = posted;
      await tx.update(discordFeedPosts).set({ repliedAt }).where(postCondition(feed.id, subjectId));
    }
    await tx.execute(sql`
      update ${discordFeedPosts} set edit_event_id = change.id
      from (
        select ${EVENT_SUBJECT_ID} as subject_id, max(id) as id from ${penaltyEvents}
        where ${and(waitingCondition(feed, upTo), inArray(penaltyEvents.type, changes))}
        group by 1
      ) as change
      where ${discordFeedPosts.feedId} = ${feed.id} and ${discordFeedPosts.subjectId} = change.subject_id`);
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

/** A message that does not show an event of its subject yet; 0: its subject was deleted. */
export type DueEdit = { subjectId: number; messageId: string; eventId: number };

/** The message of a feed that has waited longest for its edit. @param except messages that wait for another try. */
export async function findDueEdit(
  db: Db,
  feedId: number,
  { except }: { except: readonly string[] },
): Promise<DueEdit | undefined> {
  const [post] = await db
    .select()
    .from(discordFeedPosts)
    .where(
      and(
        eq(discordFeedPosts.feedId, feedId),
        isNotNull(discordFeedPosts.editEventId),
        notInArray(discordFeedPosts.messageId, [...except]),
      ),
    )
    .orderBy(asc(discordFeedPosts.editEventId))
    .limit(1);
  if (!post || post.editEventId === null) return undefined;
  const { subjectId, messageId, editEventId: eventId } = post;
  return { subjectId, messageId, eventId };
}

/** Records that a message shows an event; a later event may be due already. */
export async function finishEdit(db: Db, feedId: number, { subjectId, eventId }: DueEdit): Promise<void> {
  await db
    .update(discordFeedPosts)
    .set({ editEventId: null })
    .where(and(postCondition(feedId, subjectId), eq(discordFeedPosts.editEventId, eventId)));
}

/** Deletes the record of a message that will not change any more. */
export async function forgetFeedPost(db: Db, feedId: number, { subjectId }: DueEdit): Promise<void> {
  await db.delete(discordFeedPosts).where(postCondition(feedId, subjectId));
}

/** The feed, unless its cursor or claim has changed since it was read. */
function unchangedCondition({ id, cursor, postingUpTo }: DiscordFeed): SQL | undefined {
  return and(
    eq(discordFeeds.id, id),
    eq(discordFeeds.cursor, cursor),
    postingUpTo === null ? isNull(discordFeeds.postingUpTo) : eq(discordFeeds.postingUpTo, postingUpTo),
  );
}

export function postCondition(feedId: number, subjectId: number | SQL<number>): SQL | undefined {
  return and(eq(discordFeedPosts.feedId, feedId), eq(discordFeedPosts.subjectId, subjectId));
}
