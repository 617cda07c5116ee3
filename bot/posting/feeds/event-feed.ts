import type { Db } from '../../../src/db/client.ts';
import {
  claimFeedPost,
  type DueEdit,
  findDueEdit,
  finishEdit,
  forgetFeedPost,
  type PostedMessage,
  passFeedEvents,
  restartDiscordFeed,
} from '../../../src/queries/discord/feed-posts.ts';
import type { DiscordFeed } from '../../../src/queries/discord/feeds.ts';
import { readEventLog } from '../../../src/queries/events.ts';
import type { MessageView } from '../../embeds/message-view.ts';
import { type ChannelMessage, isChannelGone, isPostingForbidden, toNonce } from '../channel-messages.ts';
import { editInFeed, type FeedDeps, postToFeed } from './feed-messages.ts';

/** What feeds post about the events of one subject. */
type EventSubject = {
  /** The event up to which the next message covers; undefined when nothing is to be posted. */
  findNext: (db: Db, feed: DiscordFeed, newestId: number) => Promise<number | undefined>;
  /** The message about the events up to one; undefined when nothing is to be posted any more. */
  compose: (deps: FeedDeps, feed: DiscordFeed, upTo: number) => Promise<ComposedMessage | undefined>;
  /** What a message shows after an event; `isFinal`: it will not change any more. */
  renew: (deps: FeedDeps, feed: DiscordFeed, edit: DueEdit) => Promise<RenewedMessage>;
};

type ComposedMessage = {
  message: ChannelMessage;
  /** The single subject of the message, by which it is edited later; undefined for a summary. */
  subjectId: number | undefined;
  /** When the message is a reply, which is never edited: the time of the reply. */
  repliedAt?: Date;
};

/** `view` is undefined when the subject is no longer stored. */
type RenewedMessage = { view: MessageView | undefined; isFinal: boolean };

/**
 * The step of feeds that follow stored events: posts or edits one message. New events come first, then the edit that has
 * been due longest.
 */
export function createEventStep({ findNext, compose, renew }: EventSubject) {
  async function post(deps: FeedDeps, feed: DiscordFeed, upTo: number): Promise<void> {
    const composed = await compose(deps, feed, upTo);
    let posted: PostedMessage | undefined;
    if (composed) {
      const { message, subjectId, repliedAt } = composed;
      const content = { message, nonce: toNonce(feed.epoch, feed.id, upTo) };
      const messageId = await postToFeed(deps, feed, content, { subjectId });
      if (subjectId !== undefined && messageId !== undefined) {
        posted = repliedAt ? { subjectId, repliedAt } : { subjectId, messageId };
      }
    }
    await passFeedEvents(deps.db, feed, { upTo, posted });
  }

  async function editOne(deps: FeedDeps, feed: DiscordFeed): Promise<boolean> {
    const { db, edits } = deps;
    const due = await findDueEdit(db, feed.id, { except: edits.listBackingOff() });
    if (!due) return false;
    const { subjectId, messageId } = due;
    const { view, isFinal } = await renew(deps, feed, due);
    try {
      const isThere = !view || (await editInFeed(deps, feed, { messageId, view }, { subjectId }));
      edits.succeeded(messageId);
      if (isThere && !isFinal) await finishEdit(db, feed.id, due);
      else await forgetFeedPost(db, feed.id, due);
    } catch (error) {
      // These errors concern the whole channel; any other error concerns this message only, and the feed continues.
      if (deps.signal?.aborted || isPostingForbidden(error) || isChannelGone(error)) throw error;
      edits.failed(messageId, error);
    }
    return true;
  }

  return async (deps: FeedDeps, feed: DiscordFeed): Promise<boolean> => {
    const { db } = deps;
    const newestId = await followEventLog(deps, feed);
    if (newestId === undefined) return true;
    if (feed.postingUpTo !== null) {
      await post(deps, feed, feed.postingUpTo);
      return true;
    }
    if (feed.cursor === newestId) return editOne(deps, feed);
    const upTo = await findNext(db, feed, newestId);
    // Claimed first: after a crash, the next step posts the same message again under the same nonce.
    if (upTo !== undefined) await claimFeedPost(db, feed, upTo);
    else await passFeedEvents(db, feed, { upTo: newestId });
    return true;
  };
}

/**
 * The newest event for a feed. A feed whose position is from another database continues with new events only.
 * @returns undefined when the feed was moved to its new position.
 */
async function followEventLog({ db, log }: FeedDeps, feed: DiscordFeed): Promise<number | undefined> {
  const eventLog = await readEventLog(db);
  if (feed.epoch === eventLog.epoch) return eventLog.newestId;
  log.warn({ feed: feed.id }, 'a feed continues with new events only: its position is from another database');
  await restartDiscordFeed(db, feed, eventLog);
  return undefined;
}
