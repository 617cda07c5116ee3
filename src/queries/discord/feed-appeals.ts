import { and, eq, min, sql } from 'drizzle-orm';
import type { Db } from '../../db/client.ts';
import { appealMessages, appeals } from '../../db/schema/appeals.ts';
import { penalties, penaltyEvents } from '../../db/schema/penalties.ts';
import { type Appeal, IS_APPEALED } from '../appeals/appeals.ts';
import { EVENT_SUBJECT_ID, waitingCondition } from './feed-posts.ts';
import type { DiscordFeed } from './feeds.ts';

/** What a feed shows of an appeal. The penalty is null when it is no longer stored. */
export type ShownAppeal = {
  appeal: Pick<Appeal, 'id' | 'state' | 'ending' | 'waitsFor' | 'penaltyId' | 'playerSteamId'>;
  penalty: Pick<typeof penalties.$inferSelect, 'type' | 'playerName'> | null;
  messages: number;
};

/** The event of the first appeal that was opened after a feed's cursor. */
export async function findNextAppeal(db: Db, feed: DiscordFeed, upTo: number): Promise<number | undefined> {
  const [row] = await db
    .select({ id: min(penaltyEvents.id) })
    .from(penaltyEvents)
    .where(and(waitingCondition(feed, upTo), eq(penaltyEvents.type, 'appeal.opened')));
  return row?.id ?? undefined;
}

/** The appeal that an event is about; undefined when it was deleted. */
export async function findAppealOfEvent(db: Db, eventId: number): Promise<ShownAppeal | undefined> {
  const [event] = await db
    .select({ appealId: EVENT_SUBJECT_ID })
    .from(penaltyEvents)
    .where(eq(penaltyEvents.id, eventId));
  return event && findShownAppeal(db, event.appealId);
}

/** The current state of an appeal; undefined when it was deleted. */
export async function findShownAppeal(db: Db, id: number): Promise<ShownAppeal | undefined> {
  const { id: appealId, state, ending, waitsFor, penaltyId, playerSteamId } = appeals;
  const [row] = await db
    .select({
      appeal: { id: appealId, state, ending, waitsFor, penaltyId, playerSteamId },
      penalty: { type: penalties.type, playerName: penalties.playerName },
      messages:
        sql`(select count(*) from ${appealMessages} where ${eq(appealMessages.appealId, appeals.id)})`.mapWith(
          Number,
        ),
    })
    .from(appeals)
    .leftJoin(penalties, IS_APPEALED)
    .where(eq(appeals.id, id));
  return row;
}
