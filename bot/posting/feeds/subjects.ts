import type { FeedOption } from '../../../src/domain/discord-feed.ts';
import type { FeedSubject } from '../../../src/domain/event.ts';
import type { DiscordFeed } from '../../../src/queries/discord/feeds.ts';
import type { BotContext } from '../../context.ts';
import type { Texts } from '../../locales/en.ts';
import type { ChannelMessage } from '../channel-messages.ts';
import { exampleAppeal, stepAppealFeed } from './appeal-feed.ts';
import type { FeedDeps } from './feed-messages.ts';
import { examplePenalty, stepPenaltyFeed } from './penalty-feed.ts';
import { exampleServer, stepServerFeed } from './server-feed.ts';

/** What feeds of one subject do. */
type Subject = {
  /** The options that they take. */
  options: readonly FeedOption[];
  /** Posts the next message of a feed. @returns whether there may be more to do. */
  step: (deps: FeedDeps, feed: DiscordFeed) => Promise<boolean>;
  /** An example message; it names the role that the feed mentions, if any. @throws {Refusal} when there is nothing to show. */
  example: (context: BotContext, texts: Texts, roleId: string | null) => ChannelMessage;
};

/** The subjects of feeds. */
export const SUBJECTS: Record<FeedSubject, Subject> = {
  penalties: { options: ['types', 'server'], step: stepPenaltyFeed, example: examplePenalty },
  servers: { options: ['server', 'players', 'after', 'role'], step: stepServerFeed, example: exampleServer },
  appeals: { options: ['role'], step: stepAppealFeed, example: exampleAppeal },
};
