import { and, asc, eq, getTableColumns, sql } from 'drizzle-orm';
import { type Db, inTransaction, type Tx } from '../../db/client.ts';
import { discordFeeds } from '../../db/schema/discord.ts';
import { servers } from '../../db/schema/servers.ts';
import { InvalidInput } from '../../domain/errors.ts';
import type { FeedSubject } from '../../domain/event.ts';
import type { Actor } from '../../domain/rights/actor.ts';
import { channelSubject, recordAudit } from '../audit-log.ts';
import { readEventLog } from '../events.ts';
import { shownNameOf } from '../servers/servers.ts';
import { adaptFeedServers } from './feed-servers.ts';

export type DiscordFeed = typeof discordFeeds.$inferSelect;
/** Where a feed is and who started it, and its settings as far as they are chosen. */
type FeedStart = Pick<DiscordFeed, 'subject' | 'channelId' | 'guildId' | 'startedBy' | 'locale'> &
  Partial<Pick<DiscordFeed, 'penaltyTypes' | 'serverId' | 'playersAtLeast' | 'roleId' | 'afterMinutes'>>;

/**
 * Starts a feed of changes from now on. An existing feed of the same subject in the channel gets the chosen settings, keeps
 * the others, and continues where it was, also if it was paused. Written to the audit log.
 * @returns its id, and whether there was none before.
 * @throws {InvalidInput} when it would mention a role at no number of players.
 */
export async function startDiscordFeed(db: Db, start: FeedStart): Promise<{ id: number; isNew: boolean }> {
  return inTransaction(db, async (transaction) => {
    const { epoch, newestId } = await readEventLog(transaction);
    const [before] = await transaction
      .select({ playersAtLeast: discordFeeds.playersAtLeast })
      .from(discordFeeds)
      .where(feedCondition(start))
      .for('update');
    const [feed] = await transaction
      .insert(discordFeeds)
      .values({ ...start, epoch, cursor: newestId })
      .onConflictDoUpdate({
        target: [discordFeeds.channelId, discordFeeds.subject],
        set: { ...start, pausedAt: null },
      })
      .returning({ ...getTableColumns(discordFeeds), isNew: sql<boolean>`xmax = 0` });
    if (!feed) throw new Error('the feed was not stored');
    if (feed.subject === 'servers' && feed.roleId !== null && feed.playersAtLeast === null) {
      throw new InvalidInput('a role is mentioned only when a number of players is reached');
    }
    if (!feed.isNew) {
      const isOtherNumber = before?.playersAtLeast !== feed.playersAtLeast;
      await adaptFeedServers(transaction, feed, { isOtherNumber });
    }
    const action = feed.isNew ? 'feed.started' : 'feed.changed';
    await recordFeedAudit(transaction, start, { actor: { discordId: start.startedBy }, action });
    return { id: feed.id, isNew: feed.isNew };
  });
}

/** All feeds, the oldest first. */
export async function listDiscordFeeds(db: Db): Promise<DiscordFeed[]> {
  return db.select().from(discordFeeds).orderBy(asc(discordFeeds.id));
}

/** The feeds of a guild, grouped by channel, with the name of the server that they are limited to. */
export async function listGuildFeeds(
  db: Db,
  guildId: string,
): Promise<(DiscordFeed & { serverName: string | undefined })[]> {
  const rows = await db
    .select({ feed: discordFeeds, server: { name: servers.name, slug: servers.slug } })
    .from(discordFeeds)
    .leftJoin(servers, eq(servers.id, discordFeeds.serverId))
    .where(eq(discordFeeds.guildId, guildId))
    .orderBy(asc(discordFeeds.channelId), asc(discordFeeds.id));
  return rows.map(({ feed, server }) => ({ ...feed, serverName: server ? shownNameOf(server) : undefined }));
}

/** The current state of a feed; undefined once it was stopped. */
export async function findDiscordFeed(db: Db, id: number): Promise<DiscordFeed | undefined> {
  const [feed] = await db.select().from(discordFeeds).where(eq(discordFeeds.id, id));
  return feed;
}

/**
 * Stops the feed of a subject in a channel, and deletes the records of its messages. Written to the audit log.
 * @param feed with an id only that feed, not one that was started in its place.
 * @param actor `service` when the channel is gone.
 * @returns whether there was one.
 */
export async function stopDiscordFeed(
  db: Db,
  feed: FeedPlace,
  { actor }: { actor: Actor },
): Promise<boolean> {
  return inTransaction(db, async (transaction) => {
    const { count } = await transaction.delete(discordFeeds).where(feedCondition(feed));
    if (count === 0) return false;
    const action = actor === 'service' ? 'feed.switched-off' : 'feed.stopped';
    await recordFeedAudit(transaction, feed, { actor, action });
    return true;
  });
}

/**
 * Pauses a feed, which keeps its position and the records of its messages, or lets it continue. Written to the audit log.
 * @param pausedAt null: it continues.
 * @returns whether there is such a feed.
 */
export async function pauseDiscordFeed(db: Db, feed: DiscordFeed, pausedAt: Date | null): Promise<boolean> {
  return inTransaction(db, async (tx) => {
    const { count } = await tx.update(discordFeeds).set({ pausedAt }).where(feedCondition(feed));
    if (count === 0) return false;
    await recordFeedAudit(tx, feed, { actor: 'service', action: pausedAt ? 'feed.paused' : 'feed.resumed' });
    return true;
  });
}

/** Removes a feed's role, unless it has been changed meanwhile. */
export async function unsetFeedRole(db: Db, { id, roleId }: { id: number; roleId: string }): Promise<void> {
  await db
    .update(discordFeeds)
    .set({ roleId: null })
    .where(and(eq(discordFeeds.id, id), eq(discordFeeds.roleId, roleId)));
}

function recordFeedAudit(
  tx: Tx,
  { channelId, subject }: FeedPlace,
  entry: Pick<Parameters<typeof recordAudit>[1], 'actor' | 'action'>,
): Promise<void> {
  return recordAudit(tx, { ...entry, subject: channelSubject(channelId), details: { feed: subject } });
}

type FeedPlace = { id?: number; channelId: string; subject: FeedSubject };

function feedCondition({ id, channelId, subject }: FeedPlace) {
  return and(
    id === undefined ? undefined : eq(discordFeeds.id, id),
    eq(discordFeeds.channelId, channelId),
    eq(discordFeeds.subject, subject),
  );
}
