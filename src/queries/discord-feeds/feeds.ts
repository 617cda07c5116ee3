import { and, asc, eq, sql } from 'drizzle-orm';
import type { Db } from '../../db/client.ts';
import { discordFeeds } from '../../db/schema/discord.ts';
import { servers } from '../../db/schema/servers.ts';
import type { FeedSubject } from '../../domain/discord-feed.ts';
import type { Actor } from '../../domain/rights/actor.ts';
import { channelSubject, recordAudit } from '../audit-log.ts';
import { readEventLog } from '../penalties/events.ts';
import { shownNameOf } from '../servers/servers.ts';
import { adaptFeedServers } from './feed-servers.ts';

export type DiscordFeed = typeof discordFeeds.$inferSelect;
/** The settings of a feed, and who started it where. */
export type FeedSettings = Omit<DiscordFeed, 'id' | 'epoch' | 'cursor' | 'postingUpTo' | 'createdAt'>;

/**
 * Starts a feed of changes from now on. An existing feed of the same subject in the channel gets the new settings and
 * continues where it was. Written to the audit log.
 * @returns whether there was none before.
 */
export async function startDiscordFeed(db: Db, settings: FeedSettings): Promise<{ isNew: boolean }> {
  return db.transaction(async (transaction) => {
    const { epoch, newestId } = await readEventLog(transaction);
    const [before] = await transaction
      .select({ playersAtLeast: discordFeeds.playersAtLeast })
      .from(discordFeeds)
      .where(feedCondition(settings))
      .for('update');
    const [feed] = await transaction
      .insert(discordFeeds)
      .values({ ...settings, epoch, cursor: newestId })
      .onConflictDoUpdate({ target: [discordFeeds.channelId, discordFeeds.subject], set: settings })
      .returning({ id: discordFeeds.id, isNew: sql<boolean>`xmax = 0` });
    if (!feed) throw new Error('the feed was not stored');
    if (!feed.isNew) {
      const isOtherNumber = before?.playersAtLeast !== settings.playersAtLeast;
      await adaptFeedServers(transaction, { ...settings, id: feed.id }, { isOtherNumber });
    }
    await recordAudit(transaction, {
      actor: { discordId: settings.startedBy },
      action: feed.isNew ? 'feed.started' : 'feed.changed',
      subject: channelSubject(settings.channelId),
      details: { feed: settings.subject },
    });
    return { isNew: feed.isNew };
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
 * @param actor `service` when the bot may no longer post in the channel.
 * @returns whether there was one.
 */
export async function stopDiscordFeed(
  db: Db,
  feed: FeedPlace,
  { actor }: { actor: Actor },
): Promise<boolean> {
  return db.transaction(async (transaction) => {
    const stopped = await transaction
      .delete(discordFeeds)
      .where(feedCondition(feed))
      .returning({ id: discordFeeds.id });
    if (stopped.length === 0) return false;
    await recordAudit(transaction, {
      actor,
      action: actor === 'service' ? 'feed.switched-off' : 'feed.stopped',
      subject: channelSubject(feed.channelId),
      details: { feed: feed.subject },
    });
    return true;
  });
}

type FeedPlace = { id?: number; channelId: string; subject: FeedSubject };

function feedCondition({ id, channelId, subject }: FeedPlace) {
  return and(
    id === undefined ? undefined : eq(discordFeeds.id, id),
    eq(discordFeeds.channelId, channelId),
    eq(discordFeeds.subject, subject),
  );
}
