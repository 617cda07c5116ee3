import { and, asc, eq, gt, lte, sql } from 'drizzle-orm';
import { type Db, inTransaction } from '../../db/client.ts';
import { appealMessages, appeals } from '../../db/schema/appeals.ts';
import { discordAppealPosts, discordFeeds } from '../../db/schema/discord.ts';
import { penalties, penaltyEvents } from '../../db/schema/penalties.ts';
import { type Appeal, IS_APPEALED } from '../appeals/appeals.ts';
import type { DiscordFeed } from './feeds.ts';

/** What a feed shows of an appeal. The penalty is null when it is no longer stored. */
export type ShownAppeal = {
  appeal: Pick<Appeal, 'id' | 'state' | 'ending' | 'waitsFor' | 'penaltyId' | 'playerSteamId'>;
  penalty: Pick<typeof penalties.$inferSelect, 'type' | 'playerName'> | null;
  messages: number;
};

const MESSAGES = sql`(select count(*) from ${appealMessages} where ${eq(appealMessages.appealId, appeals.id)})`;

/** What {@link discordAppealPosts} remembers of it. */
const SHOWN = sql<string>`concat_ws(' ', ${appeals.state}, ${appeals.ending}, ${appeals.waitsFor}, ${MESSAGES})`;

/** The fields of {@link ShownAppeal}, and `shown`. */
const COLUMNS = {
  appeal: {
    id: appeals.id,
    state: appeals.state,
    ending: appeals.ending,
    waitsFor: appeals.waitsFor,
    penaltyId: appeals.penaltyId,
    playerSteamId: appeals.playerSteamId,
  },
  penalty: { type: penalties.type, playerName: penalties.playerName },
  messages: MESSAGES.mapWith(Number),
  shown: SHOWN,
};

/** The first appeal that was opened after a feed's cursor, and its event. */
export async function findNextAppeal(
  db: Db,
  feed: DiscordFeed,
  upTo: number,
): Promise<(ShownAppeal & { shown: string; eventId: number }) | undefined> {
  const [row] = await db
    .select({ ...COLUMNS, eventId: penaltyEvents.id })
    .from(penaltyEvents)
    .innerJoin(appeals, sql`${appeals.id} = (${penaltyEvents.data} -> 'appeal' ->> 'id')::integer`)
    .leftJoin(penalties, IS_APPEALED)
    .where(
      and(
        gt(penaltyEvents.id, feed.cursor),
        lte(penaltyEvents.id, upTo),
        eq(penaltyEvents.type, 'appeal.opened'),
      ),
    )
    .orderBy(asc(penaltyEvents.id))
    .limit(1);
  return row;
}

/**
 * Moves a feed's cursor to an event, and remembers the message that shows its appeal.
 * @param posted undefined when nothing was posted.
 */
export async function passAppealEvents(
  db: Db,
  feed: DiscordFeed,
  { upTo, posted }: { upTo: number; posted?: { appealId: number; messageId: string; shown: string } },
): Promise<void> {
  await inTransaction(db, async (tx) => {
    const isUnchanged = and(eq(discordFeeds.id, feed.id), eq(discordFeeds.cursor, feed.cursor));
    const { count } = await tx.update(discordFeeds).set({ cursor: upTo }).where(isUnchanged);
    if (count > 0 && posted) await tx.insert(discordAppealPosts).values({ feedId: feed.id, ...posted });
  });
}

/** An outdated message of a feed; the appeal is undefined when it was deleted. */
export async function findOutdatedPost(
  db: Db,
  feedId: number,
): Promise<
  { appealId: number; messageId: string; current: (ShownAppeal & { shown: string }) | undefined } | undefined
> {
  const [row] = await db
    .select({ post: discordAppealPosts, ...COLUMNS })
    .from(discordAppealPosts)
    .leftJoin(appeals, eq(appeals.id, discordAppealPosts.appealId))
    .leftJoin(penalties, IS_APPEALED)
    .where(
      and(
        eq(discordAppealPosts.feedId, feedId),
        sql`(${appeals.id} is null or ${discordAppealPosts.shown} <> ${SHOWN})`,
      ),
    )
    .limit(1);
  if (!row) return undefined;
  const { post, appeal, ...rest } = row;
  return { ...post, current: appeal ? { ...rest, appeal } : undefined };
}

/** Remembers what a message shows now; without `shown` it is forgotten. */
export async function saveShownAppeal(
  db: Db,
  feedId: number,
  { appealId, shown }: { appealId: number; shown: string | undefined },
): Promise<void> {
  const isPost = and(eq(discordAppealPosts.feedId, feedId), eq(discordAppealPosts.appealId, appealId));
  if (shown === undefined) await db.delete(discordAppealPosts).where(isPost);
  else await db.update(discordAppealPosts).set({ shown }).where(isPost);
}
