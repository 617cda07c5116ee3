import type { DiscordFeed } from '../../../src/queries/discord/feeds.ts';
import { restartDiscordFeed } from '../../../src/queries/discord/penalty-posts.ts';
import { readEventLog } from '../../../src/queries/penalties/events.ts';
import type { BotParts } from '../../parts.ts';

/**
 * The newest event for a feed. A feed whose position is from another database continues with new events only.
 * @returns undefined when the feed was moved to its new position.
 */
export async function followEventLog(
  { db, log }: Pick<BotParts, 'db' | 'log'>,
  feed: DiscordFeed,
): Promise<number | undefined> {
  const eventLog = await readEventLog(db);
  if (feed.epoch === eventLog.epoch && feed.cursor <= eventLog.newestId) return eventLog.newestId;
  log.warn({ feed: feed.id }, 'a feed continues with new events only: its position is from another database');
  await restartDiscordFeed(db, feed, eventLog);
  return undefined;
}
