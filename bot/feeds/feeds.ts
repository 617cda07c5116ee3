import { setTimeout as pause } from 'node:timers/promises';
import type { REST } from '@discordjs/rest';
import { channelMention } from 'discord.js';
import type { Logger } from 'pino';
import type { Db } from '../../src/db/client.ts';
import type { ServerList } from '../../src/live/server-list.ts';
import {
  type DiscordFeed,
  findDiscordFeed,
  listDiscordFeeds,
  stopDiscordFeed,
} from '../../src/queries/discord-feeds/feeds.ts';
import { retryPauseMs } from '../../src/runtime/retry-pause.ts';
import type { MentionCommand } from '../command-mentions.ts';
import { noticeMessage } from '../embeds/message.ts';
import type { SendWithLinkFallback } from '../link-fallback.ts';
import { localizationOf } from '../locales/localization.ts';
import type { ModeratorRule } from '../moderators.ts';
import { channelLossOf, createFeedChannels } from './feed-channel.ts';
import { stepPenaltyFeed } from './penalty-feed.ts';
import { stepServerFeed } from './server-feed.ts';

type FeedsDeps = {
  db: Db;
  rest: REST;
  servers: Pick<ServerList, 'current' | 'findById' | 'onChange'>;
  publicUrl: string;
  /** Feeds rest in guilds where nobody is a moderator: they would tell strangers about players. */
  moderators: Pick<ModeratorRule, 'holdsIn' | 'settled' | 'objection'>;
  /** What messages call the commands. */
  mention: MentionCommand;
  log: Logger;
  now: () => Date;
  sendWithLinkFallback: SendWithLinkFallback;
  /** How often to look for news without being woken, and the shortest pause after a failure. */
  intervalMs: number;
};

/** Notifications of a burst are answered by one look. */
const GATHER_MS = 50;
const LONGEST_PAUSE_MS = 10 * 60_000;

/**
 * Tells Discord channels what happens to penalties and servers. Each feed posts in its own order and at its own pace, so
 * that one which Discord slows down delays no other. What was posted is kept in the database: a restart resumes there.
 */
export function createFeeds(deps: FeedsDeps) {
  const { db, servers, moderators, log, intervalMs } = deps;
  const stopping = new AbortController();
  const { signal } = stopping;
  const channels = createFeedChannels({ ...deps, signal });
  /** By feed: what is posted now. */
  const running = new Map<number, Promise<void>>();
  /** By feed: failures in a row, and when it tries again, in milliseconds of `performance.now()`. */
  const failing = new Map<number, { failures: number; notBefore: number }>();
  /** Guilds whose feeds rest. */
  const resting = new Set<string>();
  let looks = 0;
  let timer: ReturnType<typeof setInterval> | undefined;
  let woken: Promise<void> | undefined;
  let isFailing = false;

  function wake(): Promise<void> {
    woken ??= pause(GATHER_MS).then(() => {
      woken = undefined;
      return look();
    });
    return woken;
  }

  /** Sets every feed to work that is not, and waits for all of them. */
  async function look(): Promise<void> {
    if (timer === undefined || signal.aborted) return;
    looks += 1;
    try {
      const feeds = await listDiscordFeeds(db);
      isFailing = false;
      await moderators.settled();
      reportResting(feeds);
      for (const feed of feeds) {
        const isPausing = performance.now() < (failing.get(feed.id)?.notBefore ?? 0);
        if (signal.aborted || rests(feed) || isPausing || running.has(feed.id)) continue;
        running.set(
          feed.id,
          work(feed).finally(() => running.delete(feed.id)),
        );
      }
      await Promise.all(running.values());
    } catch (error) {
      if (!isFailing) log.warn({ err: error }, 'the feeds cannot be read: trying again');
      isFailing = true;
    }
  }

  function rests({ guildId }: DiscordFeed): boolean {
    return !moderators.holdsIn(guildId);
  }

  /** Says of each guild once that its feeds rest, and that they go on. */
  function reportResting(feeds: readonly DiscordFeed[]): void {
    for (const feed of feeds) {
      const { guildId } = feed;
      if (rests(feed) === resting.has(guildId)) continue;
      if (resting.delete(guildId)) {
        log.info({ guildId }, 'the feeds of a guild go on');
      } else {
        resting.add(guildId);
        const reason = moderators.objection() ?? 'DISCORD_GUILD_ID names another guild';
        log.warn({ guildId, reason }, 'the feeds of a guild rest: nobody is a moderator there');
      }
    }
  }

  /** Does all there is to do for a feed. Never rejects. */
  async function work(feed: DiscordFeed): Promise<void> {
    try {
      for (let seen = 0; seen !== looks; ) {
        seen = looks;
        for (let isMore = true; isMore && !signal.aborted && !rests(feed); ) {
          isMore = await step(feed.id);
          failing.delete(feed.id);
        }
      }
    } catch (error) {
      if (signal.aborted) return;
      const loss = channelLossOf(error);
      if (loss) await switchOff(feed, loss);
      else postpone(feed, error);
    }
  }

  /** One message, or one look at what to do. The feed may have been changed or stopped since the last. */
  async function step(id: number): Promise<boolean> {
    const feed = await findDiscordFeed(db, id);
    if (!feed) return false;
    return feed.subject === 'penalties'
      ? stepPenaltyFeed({ ...deps, channels }, feed)
      : stepServerFeed({ ...deps, channels }, feed);
  }

  function postpone({ id }: DiscordFeed, error: unknown): void {
    const failures = (failing.get(id)?.failures ?? 0) + 1;
    if (failures === 1)
      log.warn({ err: error, feed: id }, 'a feed could not be brought up to date: retrying');
    const pauseMs = retryPauseMs(failures, { firstMs: intervalMs, longestMs: LONGEST_PAUSE_MS });
    failing.set(id, { failures, notBefore: performance.now() + pauseMs });
  }

  /** Ends a feed whose channel is lost, and notifies whoever started it. */
  async function switchOff(feed: DiscordFeed, reason: 'channelGone' | 'permissionLost'): Promise<void> {
    const { subject, channelId, startedBy, locale } = feed;
    const fields = { channelId, subject, startedBy, reason };
    try {
      await stopDiscordFeed(db, feed, { actor: 'service' });
      log.warn(fields, 'a feed is switched off: its channel is gone, or the bot may not post there');
    } catch (error) {
      return postpone(feed, error);
    }
    try {
      const { texts } = localizationOf(locale);
      const { feed: words } = texts;
      const channel = channelMention(channelId);
      const why = words[reason](deps.mention('feed start', texts));
      const text = words.switchedOff({ subject, channel, reason: why });
      await channels.tell(startedBy, noticeMessage(text));
    } catch (error) {
      if (signal.aborted) return;
      log.warn({ ...fields, err: error }, 'who started the feed could not be told by a direct message');
    }
  }

  servers.onChange(() => void wake());

  return {
    /** Called whenever the bot has logged in; the first call counts. */
    start: (): void => {
      if (timer !== undefined || signal.aborted) return;
      timer = setInterval(() => void look(), intervalMs);
      void look();
    },
    /** Checks soon whether there is something to post. Resolves when no feed has anything to post, or only after a pause. */
    wake,
    /** Ends what waits for Discord; the rest is left to the next start. */
    stop: async (): Promise<void> => {
      stopping.abort();
      clearInterval(timer);
      await Promise.allSettled(running.values());
    },
  };
}
