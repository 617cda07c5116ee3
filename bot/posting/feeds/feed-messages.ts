import { RESTJSONErrorCodes, Routes } from 'discord.js';
import type { FeedServer } from '../../../src/queries/discord/feed-servers.ts';
import { type DiscordFeed, unsetFeedRole } from '../../../src/queries/discord/feeds.ts';
import type { BotContext } from '../../context.ts';
import type { MessageView } from '../../embeds/message-view.ts';
import { isDiscordError } from '../../gateway/rest.ts';
import type { Publish } from '../announcements.ts';
import type { Attempts } from '../attempts.ts';
import {
  type ChannelMessage,
  editMessage,
  isMessageGone,
  isMessageRefused,
  type Messenger,
  postMessage,
} from '../channel-messages.ts';

/** What the steps of one feed need. */
export type FeedDeps = BotContext &
  Messenger & {
    takesAppeals: boolean;
    /** Edits, by message. */
    edits: Attempts<string>;
    /** By feed and change: the newest message about servers. */
    recentChanges: Map<string, RecentChange>;
    publish: Publish;
    /** Called when a message was posted or edited. */
    onSent: () => void;
  };

type RecentChange = {
  messageId: string;
  /** The servers that it names. */
  states: readonly FeedServer[];
  at: Date;
};

/** What a message is about, for the log. */
type About = Record<string, unknown>;

/**
 * Posts a message of a feed; a rejection of this one message is logged.
 * @returns its id; undefined when it was rejected, or has been deleted since it was posted under the same nonce.
 */
export async function postToFeed(
  deps: FeedDeps,
  { id, channelId }: DiscordFeed,
  content: { message: ChannelMessage; nonce: string },
  about: About = {},
): Promise<string | undefined> {
  try {
    const messageId = await postMessage(deps, channelId, content);
    deps.onSent();
    if (messageId !== undefined) deps.publish({ channelId, messageId });
    return messageId;
  } catch (error) {
    if (!isMessageRefused(error)) throw error;
    deps.log.error({ err: error, feed: id, ...about }, 'Discord refused a message of a feed');
    return undefined;
  }
}

/** Edits a message of a feed; a rejection of this one edit is logged. @returns whether the message still exists. */
export async function editInFeed(
  deps: FeedDeps,
  { id, channelId }: DiscordFeed,
  { messageId, view }: { messageId: string; view: MessageView },
  about: About = {},
): Promise<boolean> {
  try {
    await editMessage(deps, { channelId, messageId }, view);
    deps.onSent();
  } catch (error) {
    if (isMessageGone(error)) return false;
    if (!isMessageRefused(error)) throw error;
    deps.log.error({ err: error, feed: id, ...about }, 'Discord refused an edit of a feed');
  }
  return true;
}

/** The role that a feed mentions; null for none. One that was deleted is unset. */
export async function findRole(
  { db, rest, signal, log }: FeedDeps,
  { id, guildId, roleId }: DiscordFeed,
): Promise<string | null> {
  if (roleId === null) return null;
  try {
    await rest.get(Routes.guildRole(guildId, roleId), { ...(signal && { signal }) });
  } catch (error) {
    if (!isDiscordError(error, RESTJSONErrorCodes.UnknownRole)) return roleId;
    await unsetFeedRole(db, { id, roleId });
    log.info({ feed: id, roleId }, 'a feed no longer mentions its role: it was deleted');
    return null;
  }
  return roleId;
}
