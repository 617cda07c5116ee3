import type { Logger } from 'pino';
import type { Db } from '../../src/db/client.ts';
import type { DiscordFeed } from '../../src/queries/discord-feeds/feeds.ts';
import {
  claimFeedPost,
  countWaitingPenalties,
  findDueEdit,
  findWaitingPenalty,
  finishEdit,
  forgetFeedPost,
  passFeedEvents,
  restartDiscordFeed,
} from '../../src/queries/discord-feeds/penalty-posts.ts';
import { readEventLog } from '../../src/queries/penalties/events.ts';
import { feedPenalty, feedSummary } from '../embeds/feed-penalty.ts';
import { localizationOf } from '../locales/localization.ts';
import { toNonce } from '../messages.ts';
import type { SitePages } from '../site-pages.ts';
import { type FeedChannels, isMessageRefused } from './feed-channel.ts';

export type PenaltyFeedDeps = {
  db: Db;
  channels: FeedChannels;
  pages: SitePages;
  log: Logger;
  now: () => Date;
};

/** More new penalties than this become one message. */
const SHOWN_ONE_BY_ONE = 20;

/**
 * Posts or edits one message of a penalty feed: new penalties come first, then the edit that has been due longest.
 * @returns whether there may be more to do.
 */
export async function stepPenaltyFeed(deps: PenaltyFeedDeps, feed: DiscordFeed): Promise<boolean> {
  const { db, log } = deps;
  const eventLog = await readEventLog(db);
  if (feed.epoch !== eventLog.epoch || feed.cursor > eventLog.newestId) {
    log.warn(
      { feed: feed.id },
      'a feed continues with new events only: its position is from another database',
    );
    await restartDiscordFeed(db, feed, eventLog);
    return true;
  }
  if (feed.postingUpTo !== null) {
    await post(deps, feed, feed.postingUpTo);
    return true;
  }
  const { newestId } = eventLog;
  if (feed.cursor === newestId) return editOne(deps, feed);
  const { first, amount } = await countWaitingPenalties(db, feed, newestId);
  if (!first) {
    await passFeedEvents(db, feed, { upTo: newestId });
    return true;
  }
  // Claimed first: after a crash, the next step posts the same message again under the same nonce.
  await claimFeedPost(db, feed, amount > SHOWN_ONE_BY_ONE ? newestId : first.id);
  return true;
}

/** Posts the penalties between a feed's cursor and an event in one message, and moves the cursor to that event. */
async function post(
  { db, channels, pages, log, now }: PenaltyFeedDeps,
  feed: DiscordFeed,
  upTo: number,
): Promise<void> {
  const { amount, counts, first } = await countWaitingPenalties(db, feed, upTo);
  const { texts } = localizationOf(feed.locale);
  const event = amount === 1 ? await findWaitingPenalty(db, feed, upTo) : undefined;
  const message = event
    ? feedPenalty(event, { texts, pages, now: now() })
    : first && feedSummary({ amount, counts, since: first.occurredAt }, texts);
  let messageId: string | undefined;
  try {
    const nonce = toNonce(feed.epoch, feed.id, upTo);
    messageId = message && (await channels.post(feed.channelId, message, nonce));
  } catch (error) {
    if (!isMessageRefused(error)) throw error;
    log.error(
      { err: error, feed: feed.id, penalty: event?.penalty.id },
      'Discord refused a message of a feed',
    );
  }
  const posted = event && messageId !== undefined ? { penaltyId: event.penalty.id, messageId } : undefined;
  await passFeedEvents(db, feed, { upTo, posted });
}

async function editOne(
  { db, channels, pages, log, now }: PenaltyFeedDeps,
  feed: DiscordFeed,
): Promise<boolean> {
  const due = await findDueEdit(db, feed.id);
  if (!due) return false;
  const { texts } = localizationOf(feed.locale);
  let isThere = true;
  try {
    // The event has been deleted by retention, so there is nothing to show.
    if (due.event) {
      const view = feedPenalty(due.event, { texts, pages, now: now() });
      isThere = await channels.edit(feed.channelId, due.messageId, view);
    }
  } catch (error) {
    if (!isMessageRefused(error)) throw error;
    log.error({ err: error, feed: feed.id, penalty: due.penaltyId }, 'Discord refused an edit of a feed');
  }
  if (isThere && !due.event?.isDeleted) await finishEdit(db, feed.id, due);
  else await forgetFeedPost(db, feed.id, due);
  return true;
}
