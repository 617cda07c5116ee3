import type { DiscordFeed } from '../../../src/queries/discord/feeds.ts';
import type { MessageView } from '../../embeds/message-view.ts';
import type { BotParts } from '../../parts.ts';
import {
  type ChannelMessage,
  editMessage,
  isMessageGone,
  isMessageRefused,
  type Messenger,
  postMessage,
} from '../channel-messages.ts';

type Deps = Messenger & Pick<BotParts, 'log'>;
type Feed = Pick<DiscordFeed, 'id' | 'channelId'>;
/** What a message is about, for the log. */
type About = Record<string, unknown>;

/**
 * Posts a message of a feed; a message that Discord rejects itself is logged.
 * @returns its id; undefined when it was rejected, or has been deleted since it was posted under the same nonce.
 */
export async function postToFeed(
  deps: Deps,
  feed: Feed,
  content: { message: ChannelMessage; nonce: string },
  about: About = {},
): Promise<string | undefined> {
  try {
    return await postMessage(deps, feed.channelId, content);
  } catch (error) {
    if (!isMessageRefused(error)) throw error;
    deps.log.error({ err: error, feed: feed.id, ...about }, 'Discord refused a message of a feed');
    return undefined;
  }
}

/** Edits a message of a feed; an edit that Discord rejects itself is logged. @returns whether the message still exists. */
export async function editInFeed(
  deps: Deps,
  feed: Feed,
  { messageId, view }: { messageId: string; view: MessageView },
  about: About,
): Promise<boolean> {
  try {
    await editMessage(deps, { channelId: feed.channelId, messageId }, view);
  } catch (error) {
    if (isMessageGone(error)) return false;
    if (!isMessageRefused(error)) throw error;
    deps.log.error({ err: error, feed: feed.id, ...about }, 'Discord refused an edit of a feed');
  }
  return true;
}
