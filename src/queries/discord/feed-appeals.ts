import { and, count, eq, inArray, lt, min, or, sql } from 'drizzle-orm';
import type { Db } from '../../db/client.ts';
import { appeals } from '../../db/schema/appeals.ts';
import { discordFeedPosts, discordFeeds } from '../../db/schema/discord.ts';
import { penalties, penaltyEvents } from '../../db/schema/penalties.ts';
import type { AppealTurn } from '../../domain/appeal.ts';
import { type Appeal, IS_APPEALED } from '../appeals/appeals.ts';
import { EVENT_SUBJECT_ID, postCondition, waitingCondition } from './feed-posts.ts';
import type { DiscordFeed } from './feeds.ts';

/** What a feed shows of an appeal. The penalty is null when it is no longer stored. */
export type ShownAppeal = {
  appeal: Pick<Appeal, 'id' | 'state' | 'ending' | 'waitsFor' | 'penaltyId' | 'playerSteamId'>;
  penalty: Pick<typeof penalties.$inferSelect, 'type' | 'playerName'> | null;
};

/** The first event after a feed's cursor that opens an appeal, or is the player's answer. */
export async function findNextAppeal(db: Db, feed: DiscordFeed, upTo: number): Promise<number | undefined> {
  const { id, type, data } = penaltyEvents;
  const isAnswer = and(eq(type, 'appeal.answered'), sql`${data} -> 'appeal' ->> 'by' = 'player'`);
  const [row] = await db
    .select({ id: min(id) })
    .from(penaltyEvents)
    .where(and(waitingCondition(feed, upTo), or(eq(type, 'appeal.opened'), isAnswer)));
  return row?.id ?? undefined;
}

/** An event of an appeal, and the message of a feed about the appeal. */
export type AppealEvent = {
  appealId: number;
  isOpening: boolean;
  occurredAt: Date;
  post: { messageId: string; repliedAt: Date | null } | null;
};

export async function findAppealEvent(
  db: Db,
  feedId: number,
  eventId: number,
): Promise<AppealEvent | undefined> {
  const { type, occurredAt } = penaltyEvents;
  const { messageId, repliedAt } = discordFeedPosts;
  const [event] = await db
    .select({ appealId: EVENT_SUBJECT_ID, type, occurredAt, post: { messageId, repliedAt } })
    .from(penaltyEvents)
    .leftJoin(discordFeedPosts, postCondition(feedId, EVENT_SUBJECT_ID))
    .where(eq(penaltyEvents.id, eventId));
  return event && { ...event, isOpening: event.type === 'appeal.opened' };
}

/** The current state of an appeal; undefined when it was deleted. */
export async function findShownAppeal(db: Db, id: number): Promise<ShownAppeal | undefined> {
  const { id: appealId, state, ending, waitsFor, penaltyId, playerSteamId } = appeals;
  const [row] = await db
    .select({
      appeal: { id: appealId, state, ending, waitsFor, penaltyId, playerSteamId },
      penalty: { type: penalties.type, playerName: penalties.playerName },
    })
    .from(appeals)
    .leftJoin(penalties, IS_APPEALED)
    .where(eq(appeals.id, id));
  return row;
}

/** How many appeals have waited for staff, and for a lift, since before a time. */
export async function countWaitingAppeals(db: Db, since: Date): Promise<Partial<Record<AppealTurn, number>>> {
  const rows = await db
    .select({ turn: appeals.waitsFor, amount: count() })
    .from(appeals)
    .where(and(inArray(appeals.waitsFor, ['staff', 'lift']), lt(appeals.waitingSince, since)))
    .groupBy(appeals.waitsFor);
  return Object.fromEntries(rows.map(({ turn, amount }) => [turn, amount]));
}

/** Records when a feed said what has been waiting. */
export async function saveReminder(db: Db, feedId: number, remindedAt: Date): Promise<void> {
  await db.update(discordFeeds).set({ remindedAt }).where(eq(discordFeeds.id, feedId));
}
