import { channelLink, channelMention } from 'discord.js';
import { UNKNOWN_DISCORD_ID } from '../../../src/domain/discord-id.ts';
import {
  type DiscordFeed,
  findDiscordFeed,
  listDiscordFeeds,
  pauseDiscordFeed,
  stopDiscordFeed,
} from '../../../src/queries/discord/feeds.ts';
import { createLoop } from '../../../src/runtime/loop.ts';
import type { BotContext } from '../../context.ts';
import { linkButton, personalMessage } from '../../embeds/message-view.ts';
import type { ModeratorRule } from '../../gateway/moderators.ts';
import type { Publish } from '../announcements.ts';
import { countFailing, createAttempts, type PostingHealth } from '../attempts.ts';
import { isChannelGone } from '../channel-messages.ts';
import type { DirectMessages } from '../direct-messages.ts';
import type { Recovery } from '../recovery.ts';
import type { FeedDeps } from './feed-messages.ts';
import { SUBJECTS } from './subjects.ts';

type FeedsDeps = BotContext & {
  tell: DirectMessages['tell'];
  /** Feeds are paused in guilds where nobody is a moderator: they would show players' penalties to strangers. */
  moderators: Pick<ModeratorRule, 'holdsIn' | 'settled' | 'objection'>;
  recovery: Recovery;
  publish: Publish;
  takesAppeals: boolean;
};

/** One check covers every NOTIFY within this time. */
const DEBOUNCE_MS = 50;

const LOST = {
  paused: 'a feed is paused: the bot may not post in its channel',
  switchedOff: 'a feed is switched off: its channel is gone',
};

/** The feeds of all channels. */
export type Feeds = {
  /** Called at each login; only the first call has an effect. */
  start: () => void;
  /** Checks soon whether there is anything to post. Resolves when every feed is up to date or backing off. */
  wake: () => Promise<void>;
  /** Called after a feed was started, changed or stopped: what has failed is tried again at once. */
  onChanged: () => void;
  /** Aborts requests to Discord; whatever is not posted is posted after the next start. */
  stop: () => Promise<void>;
  health: () => PostingHealth;
};

/**
 * Posts changes of penalties, servers and appeals into Discord channels. Each feed posts in order and independently of the
 * others, so that one that Discord rate-limits delays no other. Its position is in the database, so a restart resumes there.
 */
export function createFeeds(deps: FeedsDeps): Feeds {
  const { db, servers, moderators, recovery, log, timings, now } = deps;
  const loop = createLoop({
    name: 'reading the feeds',
    everyMs: timings.feedIntervalMs,
    debounceMs: DEBOUNCE_MS,
    work: check,
    log,
  });
  const { signal } = loop;
  const messenger = { ...deps, signal };
  let feeds: DiscordFeed[] = [];
  /** Work under way, by feed. */
  const running = new Map<number, Promise<void>>();
  const firstMs = 2 * timings.feedIntervalMs;
  /** By feed. */
  const attempts = createAttempts<number>({
    firstMs,
    log,
    name: 'bringing a feed up to date',
    describe: (feed) => ({ feed }),
  });
  /** By message. */
  const edits = createAttempts<string>({
    firstMs,
    log,
    name: 'editing a message of a feed',
    describe: (messageId) => ({ messageId }),
  });
  const recentChanges: FeedDeps['recentChanges'] = new Map();
  /** Guilds whose feeds are paused. */
  const pausedGuilds = new Set<string>();
  /** How many checks there have been. */
  let checks = 0;

  /** Starts every idle feed. */
  async function check(): Promise<void> {
    checks += 1;
    feeds = await listDiscordFeeds(db);
    await moderators.settled();
    reportPaused();
    for (const feed of feeds) {
      if (signal.aborted || isPaused(feed) || running.has(feed.id) || !isDue(feed)) continue;
      running.set(
        feed.id,
        work(feed).finally(() => running.delete(feed.id)),
      );
    }
  }

  function isDue({ id, guildId, pausedAt }: DiscordFeed): boolean {
    return pausedAt === null ? !attempts.isBackingOff(id) : recovery.takeTry(keyOf(id), guildId);
  }

  function isPaused({ guildId }: DiscordFeed): boolean {
    return !moderators.holdsIn(guildId);
  }

  /** Logs once for each guild that its feeds are paused, and that they continue. */
  function reportPaused(): void {
    for (const feed of feeds) {
      const { guildId } = feed;
      if (isPaused(feed) === pausedGuilds.has(guildId)) continue;
      if (pausedGuilds.delete(guildId)) {
        log.info({ guildId }, 'the feeds of a guild continue');
      } else {
        pausedGuilds.add(guildId);
        const reason = moderators.objection() ?? 'DISCORD_GUILD_ID names another guild';
        log.warn({ guildId, reason }, 'the feeds of a guild are paused: nobody is a moderator there');
      }
    }
  }

  /** Brings a feed up to date. Never rejects. */
  async function work(feed: DiscordFeed): Promise<void> {
    try {
      let seenChecks: number;
      do {
        seenChecks = checks;
        await postAll(feed);
        // A check that began meanwhile has skipped this feed, because it was running.
      } while (seenChecks !== checks);
      attempts.succeeded(feed.id);
    } catch (error) {
      if (signal.aborted) return;
      await handleFailure(feed, error).catch((cause) => attempts.failed(feed.id, cause));
    }
  }

  /** Posts everything that is pending, step by step. A paused feed is resumed once that works. */
  async function postAll(feed: DiscordFeed): Promise<void> {
    let isTry = feed.pausedAt !== null;
    let isMore = true;
    while (isMore && !signal.aborted && !isPaused(feed)) {
      // It may have been changed, paused or stopped since the last step.
      const current = await findDiscordFeed(db, feed.id);
      if (!current || (current.pausedAt !== null && !isTry)) return;
      let hasSent = false;
      const onSent = () => {
        hasSent = true;
        attempts.succeeded(feed.id);
        recovery.worked(feed.guildId);
      };
      const stepDeps = { ...messenger, edits, recentChanges, onSent };
      isMore = await SUBJECTS[feed.subject].step(stepDeps, current);
      if (!isTry || (isMore && !hasSent)) continue;
      await pauseDiscordFeed(db, current, null);
      log.info({ feed: feed.id }, 'a feed continues: the bot may post in its channel again');
      isTry = false;
    }
  }

  /** Ends a feed whose channel is gone, pauses one that may not post there any more, and backs off otherwise. */
  async function handleFailure(feed: DiscordFeed, error: unknown): Promise<void> {
    if (isChannelGone(error)) {
      if (await stopDiscordFeed(db, feed, { actor: 'service' })) tell(feed, 'switchedOff');
      return;
    }
    if (feed.pausedAt !== null) return;
    const { isForbidden } = attempts.failed(feed.id, error);
    if (!isForbidden) return;
    const isPausedNow = await pauseDiscordFeed(db, feed, now());
    attempts.forget(feed.id);
    recovery.paused(keyOf(feed.id), feed.guildId);
    if (isPausedNow) tell(feed, 'paused');
  }

  /** Notifies the person who started a feed that it is paused or has ended. */
  function tell(feed: DiscordFeed, what: 'paused' | 'switchedOff'): void {
    const { subject, guildId, channelId, startedBy, locale } = feed;
    log.warn({ channelId, subject, startedBy }, LOST[what]);
    if (startedBy === UNKNOWN_DISCORD_ID) return;
    const { texts } = deps.localizeGuild(locale);
    const start = deps.mention('feed start', texts);
    const text = texts.feed[what]({ subject, channel: channelMention(channelId), start });
    const channel = linkButton(texts.buttons.channel, channelLink(channelId, guildId));
    deps.tell(startedBy, personalMessage(text, ...(what === 'paused' ? [channel] : [])));
  }

  const stopListening = servers.onChange(() => {
    if (feeds.some(({ subject }) => subject === 'servers')) void loop.wake();
  });

  return {
    start: loop.start,
    onChanged: () => {
      attempts.clear();
      edits.clear();
      void loop.wake();
    },
    wake: async () => {
      await loop.wake();
      await Promise.all(running.values());
    },
    stop: async () => {
      stopListening();
      await loop.stop();
      await Promise.allSettled(running.values());
    },
    health: () => ({
      total: feeds.length,
      paused: feeds.filter((feed) => feed.pausedAt !== null || isPaused(feed)).length,
      ...countFailing(attempts, edits),
    }),
  };
}

/** Its key in {@link Recovery}. */
function keyOf(feedId: number): string {
  return `feed ${feedId}`;
}
