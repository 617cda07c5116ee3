import { channelMention } from 'discord.js';
import { UNKNOWN_DISCORD_ID } from '../../src/domain/discord-id.ts';
import {
  type DiscordFeed,
  findDiscordFeed,
  listDiscordFeeds,
  stopDiscordFeed,
} from '../../src/queries/discord-feeds/feeds.ts';
import { type Loop, startLoop } from '../../src/runtime/loop.ts';
import { retryPauseMs } from '../../src/runtime/retry-pause.ts';
import { localizationOf } from '../locales/localization.ts';
import { isChannelGone, isPostingForbidden, sendDirectMessage } from '../messages.ts';
import type { ModeratorRule } from '../moderators.ts';
import type { BotParts } from '../parts.ts';
import { stepPenaltyFeed } from './penalty-feed.ts';
import { stepServerFeed } from './server-feed.ts';

type FeedsDeps = BotParts & {
  /** Feeds are paused in guilds where nobody is a moderator: they would show players' penalties to strangers. */
  moderators: Pick<ModeratorRule, 'holdsIn' | 'settled' | 'objection'>;
};

/** Notifications within this time cause one check. */
const GATHER_MS = 50;
const MAX_PAUSE_MS = 10 * 60_000;

/** The feeds of all channels. */
export type Feeds = {
  /** Called whenever the bot has logged in; the first call counts. */
  start: () => void;
  /** Checks soon whether there is anything to post. Resolves when every feed is up to date or backing off. */
  wake: () => Promise<void>;
  /** Aborts requests to Discord; whatever is not posted is posted after the next start. */
  stop: () => Promise<void>;
};

/**
 * Posts changes of penalties and servers into Discord channels. Each feed posts in order and independently of the others,
 * so that one that Discord rate-limits delays no other. Its position is in the database, so a restart resumes there.
 */
export function createFeeds(deps: FeedsDeps): Feeds {
  const { db, servers, moderators, log, timings } = deps;
  const stopping = new AbortController();
  const { signal } = stopping;
  const stepDeps = { ...deps, signal };
  /** Work under way, by feed. */
  const running = new Map<number, Promise<void>>();
  /** Consecutive failures by feed, and the time of the next attempt in milliseconds of `performance.now()`. */
  const failing = new Map<number, { failures: number; notBefore: number }>();
  /** Guilds whose feeds are paused. */
  const pausedGuilds = new Set<string>();
  /** How many checks there have been. */
  let checks = 0;
  let hasServerFeeds = false;
  let loop: Loop | undefined;

  /** Starts every idle feed. */
  async function check(): Promise<void> {
    checks += 1;
    const feeds = await listDiscordFeeds(db);
    hasServerFeeds = feeds.some(({ subject }) => subject === 'servers');
    await moderators.settled();
    reportPaused(feeds);
    for (const feed of feeds) {
      const isBackingOff = performance.now() < (failing.get(feed.id)?.notBefore ?? 0);
      if (signal.aborted || isPaused(feed) || isBackingOff || running.has(feed.id)) continue;
      running.set(
        feed.id,
        work(feed).finally(() => running.delete(feed.id)),
      );
    }
  }

  function isPaused({ guildId }: DiscordFeed): boolean {
    return !moderators.holdsIn(guildId);
  }

  /** Logs once for each guild that its feeds are paused, and that they continue. */
  function reportPaused(feeds: readonly DiscordFeed[]): void {
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
    } catch (error) {
      if (signal.aborted) return;
      if (isChannelGone(error)) await switchOff(feed, 'channelGone');
      else if (isPostingForbidden(error)) await switchOff(feed, 'permissionLost');
      else postpone(feed, error);
    }
  }

  /** Posts everything that is pending, step by step. */
  async function postAll(feed: DiscordFeed): Promise<void> {
    const step = feed.subject === 'penalties' ? stepPenaltyFeed : stepServerFeed;
    let isMore = true;
    while (isMore && !signal.aborted && !isPaused(feed)) {
      // It may have been changed or stopped since the last step.
      const current = await findDiscordFeed(db, feed.id);
      isMore = current !== undefined && (await step(stepDeps, current));
      failing.delete(feed.id);
    }
  }

  function postpone({ id }: DiscordFeed, error: unknown): void {
    const failures = (failing.get(id)?.failures ?? 0) + 1;
    if (failures === 1)
      log.warn({ err: error, feed: id }, 'a feed could not be brought up to date: retrying');
    const pauseMs = retryPauseMs(failures, { firstMs: timings.feedIntervalMs, maxMs: MAX_PAUSE_MS });
    failing.set(id, { failures, notBefore: performance.now() + pauseMs });
  }

  /** Stops a feed whose channel is lost, and notifies the person who started it. */
  async function switchOff(feed: DiscordFeed, reason: 'channelGone' | 'permissionLost'): Promise<void> {
    const { subject, channelId, startedBy, locale } = feed;
    const fields = { channelId, subject, startedBy, reason };
    try {
      const wasThere = await stopDiscordFeed(db, feed, { actor: 'service' });
      if (!wasThere) return;
      log.warn(fields, 'a feed is switched off: its channel is gone, or the bot may not post there');
    } catch (error) {
      return postpone(feed, error);
    }
    if (startedBy === UNKNOWN_DISCORD_ID) return;
    const { texts } = localizationOf(locale);
    const { feed: words } = texts;
    const why = words[reason](deps.mention('feed start', texts));
    const text = words.switchedOff({ subject, channel: channelMention(channelId), reason: why });
    await sendDirectMessage(stepDeps, startedBy, text);
  }

  const stopListening = servers.onChange(() => {
    if (hasServerFeeds) void loop?.wake();
  });

  return {
    start: () => {
      loop ??= startLoop({
        name: 'reading the feeds',
        everyMs: timings.feedIntervalMs,
        gatherMs: GATHER_MS,
        work: check,
        log,
      });
    },
    wake: async () => {
      await loop?.wake();
      await Promise.all(running.values());
    },
    stop: async () => {
      stopping.abort();
      stopListening();
      loop?.stop();
      await Promise.allSettled(running.values());
    },
  };
}
