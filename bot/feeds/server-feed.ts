import type { Logger } from 'pino';
import type { Db } from '../../src/db/client.ts';
import { FEED_CHANGES, type FeedChange } from '../../src/domain/discord-feed.ts';
import type { ServerList } from '../../src/live/server-list.ts';
import { toServerView } from '../../src/live/server-view.ts';
import {
  type FeedServer,
  finishFeedServers,
  listFeedServers,
  saveFeedServers,
} from '../../src/queries/discord-feeds/feed-servers.ts';
import type { DiscordFeed } from '../../src/queries/discord-feeds/feeds.ts';
import { feedServers } from '../embeds/feed-servers.ts';
import { localizationOf } from '../locales/localization.ts';
import { toNonce } from '../messages.ts';
import type { SitePages } from '../site-pages.ts';
import { type FeedChannels, isMessageRefused } from './feed-channel.ts';
import { compareServer, stillHolds } from './server-changes.ts';

export type ServerFeedDeps = {
  db: Db;
  servers: Pick<ServerList, 'current' | 'findById'>;
  channels: FeedChannels;
  pages: SitePages;
  log: Logger;
  now: () => Date;
};

/**
 * Posts one pending message of a server feed; if none is pending, saves the changes to be posted next.
 * @returns whether there may be more to do.
 */
export async function stepServerFeed(deps: ServerFeedDeps, feed: DiscordFeed): Promise<boolean> {
  const { db, servers, now } = deps;
  const states = await listFeedServers(db, feed.id);
  const change = FEED_CHANGES.find((kind) => states.some(({ pending }) => pending === kind));
  if (change) {
    await post(deps, feed, change, states);
    return true;
  }
  const byId = new Map(states.map((state) => [state.serverId, state]));
  const { playersAtLeast } = feed;
  const changed = servers
    .current()
    .filter(({ server }) => feed.serverId === null || feed.serverId === server.id)
    .flatMap((status) => {
      const before = byId.get(status.server.id);
      const after = compareServer(before, toServerView(status), { playersAtLeast, now: now() });
      return after ? [{ before, after }] : [];
    });
  if (changed.length === 0) return false;
  await saveFeedServers(db, feed.id, changed);
  return true;
}

/** Posts one kind of change in one message, for all servers for which it is pending. */
async function post(
  { db, servers, channels, pages, log }: ServerFeedDeps,
  feed: DiscordFeed,
  change: FeedChange,
  states: readonly FeedServer[],
): Promise<void> {
  const changed = states.filter(({ pending }) => pending === change);
  // Leaves out servers that have been hidden or removed meanwhile, and servers whose change is no longer true.
  const views = changed.flatMap(({ serverId }) => {
    const status = servers.findById(serverId);
    const view = status && toServerView(status);
    return view && stillHolds(change, view, feed) ? [view] : [];
  });
  const { texts } = localizationOf(feed.locale);
  const places = changed.map(({ serverId, pendingSince }) => `${serverId}@${pendingSince?.getTime()}`);
  try {
    const [first, ...others] = views;
    if (first) {
      const message = feedServers(change, [first, ...others], { texts, pages, roleId: feed.roleId });
      await channels.post(feed.channelId, message, toNonce(feed.id, change, ...places));
    }
  } catch (error) {
    if (!isMessageRefused(error)) throw error;
    log.error({ err: error, feed: feed.id }, 'Discord refused a message of a feed');
  }
  await finishFeedServers(db, feed.id, changed);
}
