import { setTimeout as sleep } from 'node:timers/promises';
import { RESTJSONErrorCodes } from 'discord.js';
import { LRUCache } from 'lru-cache';
import { LimitReached } from '../../src/domain/errors.ts';
import { createLoop } from '../../src/runtime/loop.ts';
import type { BotContext } from '../context.ts';
import type { MessageView } from '../embeds/message-view.ts';
import { isDiscordError, isRateLimited } from '../gateway/rest.ts';
import { countFailing, createAttempts, type PostingHealth } from './attempts.ts';
import {
  isChannelGone,
  isInboxClosed,
  openDirectChannel,
  postMessage,
  uniqueNonce,
} from './channel-messages.ts';

/** A message and its nonce, under which it is sent once even if it is sent again after a crash. */
type Content = { message: MessageView; nonce: string };

/** A message that somebody is to get. */
export type DirectMessage = {
  /** Unique among all messages. */
  key: string;
  /** Messages with different values take turns, so that the followers of one server do not delay those of another. */
  turn: string;
  discordId: string;
  /** Reads the content again, right before it is sent; undefined: do not send it. */
  render: () => Promise<Content | undefined>;
  /** Records that it was sent. */
  sent: () => Promise<void>;
  /** Records that this person accepts no messages from the bot. */
  closed: () => Promise<void>;
};

/** Lists the messages that are due. */
export type ListDirectMessages = () => Promise<DirectMessage[]>;

export type DirectMessages = {
  /** Called at each login; only the first call has an effect. */
  start: () => void;
  /** Called when messages may be due. */
  wake: () => void;
  /** Aborts requests to Discord; the next leader sends what is still to be sent. */
  stop: () => Promise<void>;
  /**
   * Sends a message to somebody who waits for it.
   * @throws {LimitReached} while Discord limits direct messages · what the REST client throws, such as that the inbox is closed.
   */
  send: (discordId: string, message: MessageView) => Promise<void>;
  /** Sends a person a text soon, once; a restart drops texts that are not sent. */
  tell: (discordId: string, message: MessageView) => void;
  health: () => DirectMessagesHealth;
};

/** `total`: how many messages were to be sent when they were last read. */
type DirectMessagesHealth = PostingHealth & {
  /** Until when nothing is sent, because Discord limits direct messages. */
  pausedUntil: Date | undefined;
};

/** Changes within this time cause one check. */
const DEBOUNCE_MS = 50;
/** The number of people whose direct message channels are remembered. */
const MAX_CHANNELS = 20_000;

/**
 * Sends all direct messages, one after another. It opens at most one channel per `inboxIntervalMs`, since Discord
 * quarantines bots that open many. All messages pause when Discord limits them, or says that the bot opens channels
 * too fast.
 * @param lists what there is to send, by its kind.
 */
export function createDirectMessages(
  { rest, servers, log, now, timings }: Pick<BotContext, 'rest' | 'servers' | 'log' | 'now' | 'timings'>,
  lists: readonly ListDirectMessages[],
): DirectMessages {
  const loop = createLoop({
    name: 'sending direct messages',
    everyMs: timings.feedIntervalMs,
    debounceMs: DEBOUNCE_MS,
    work: sendAll,
    log,
  });
  const { signal } = loop;
  const messenger = { rest, signal };
  const channelIds = new LRUCache<string, string>({ max: MAX_CHANNELS });
  const attempts = createAttempts<string>({
    firstMs: 2 * timings.feedIntervalMs,
    log,
    name: 'sending a direct message',
    // Keys contain Discord ids; the error names the person's channel only.
    describe: () => ({}),
  });
  /** Messages of {@link DirectMessages.tell} that are not sent yet. */
  const toTell = new Map<string, DirectMessage>();
  /** When each turn was last served, as a number that grows with each message. */
  const servedAt = new Map<string, number>();
  let served = 0;
  let waiting = 0;
  let isPaused = false;
  /** These two are in milliseconds of `performance.now()`. */
  let pausedUntilMs = 0;
  let nextInboxAtMs = 0;

  /** Sends what is due. It is read again after each message, since it may change with every poll. */
  async function sendAll(): Promise<void> {
    const tried = new Set<string>();
    for (;;) {
      const listed = (await Promise.all(lists.map((list) => list()))).flat();
      const all = [...toTell.values(), ...listed];
      waiting = all.length;
      if (signal.aborted || performance.now() < pausedUntilMs) return;
      const [next] = all
        .filter(({ key }) => !tried.has(key) && !attempts.isBackingOff(key))
        .toSorted((a, b) => (servedAt.get(a.turn) ?? 0) - (servedAt.get(b.turn) ?? 0));
      if (!next) return;
      tried.add(next.key);
      servedAt.set(next.turn, ++served);
      await sendNext(next);
    }
  }

  /** Never rejects. */
  async function sendNext(next: DirectMessage): Promise<void> {
    const { key, discordId } = next;
    try {
      if (!(await sendTo(discordId, next.render))) return;
      attempts.succeeded(key);
      await next.sent();
    } catch (error) {
      if (signal.aborted || error instanceof LimitReached) return;
      if (isInboxClosed(error)) {
        attempts.forget(key);
        return next.closed().catch(() => undefined);
      }
      attempts.failed(key, error);
    }
  }

  /** @returns whether there was something to send. @throws as {@link DirectMessages.send}. */
  async function sendTo(discordId: string, render: DirectMessage['render']): Promise<boolean> {
    const pauseMs = pausedUntilMs - performance.now();
    if (pauseMs > 0) throw limitReached(pauseMs);
    const isOpen = channelIds.has(discordId);
    if (!isOpen) await waitForInbox();
    const content = await render();
    if (!content) return false;
    try {
      const channelId = channelIds.get(discordId) ?? (await openDirectChannel(messenger, discordId));
      channelIds.set(discordId, channelId);
      await postMessage(messenger, channelId, content);
    } catch (error) {
      if (isChannelGone(error)) channelIds.delete(discordId);
      const isTooFast = isDiscordError(error, RESTJSONErrorCodes.OpeningDirectMessagesTooFast);
      const limitMs = isRateLimited(error) ? error.retryAfter : isTooFast ? timings.inboxPauseMs : 0;
      if (limitMs === 0) throw error;
      pausedUntilMs = performance.now() + limitMs;
      if (!isPaused) log.warn({ err: error, pauseMs: limitMs }, 'Discord limits direct messages: they pause');
      isPaused = true;
      throw limitReached(limitMs);
    }
    if (isPaused) log.info('direct messages are sent again');
    isPaused = false;
    return true;
  }

  /** Waits until another inbox may be opened. */
  async function waitForInbox(): Promise<void> {
    const nowMs = performance.now();
    const atMs = Math.max(nowMs, nextInboxAtMs);
    nextInboxAtMs = atMs + timings.inboxIntervalMs;
    await sleep(atMs - nowMs, undefined, { signal });
  }

  const stopListening = servers.onChange(() => void loop.wake());

  return {
    start: loop.start,
    wake: () => void loop.wake(),
    stop: async () => {
      stopListening();
      await loop.stop();
    },
    send: async (discordId, message) => {
      const content = { message, nonce: uniqueNonce() };
      await sendTo(discordId, async () => content);
    },
    tell: (discordId, message) => {
      const nonce = uniqueNonce();
      const forget = () => void toTell.delete(nonce);
      toTell.set(nonce, {
        key: nonce,
        turn: 'told',
        discordId,
        render: async () => ({ message, nonce }),
        sent: async () => forget(),
        closed: async () => {
          forget();
          log.warn({ text: message.content }, 'a user could not be notified by direct message');
        },
      });
      void loop.wake();
    },
    health: () => {
      const pauseMs = pausedUntilMs - performance.now();
      const pausedUntil = pauseMs > 0 ? new Date(now().getTime() + pauseMs) : undefined;
      const paused = pausedUntil ? waiting : 0;
      return { total: waiting, paused, ...countFailing(attempts), pausedUntil };
    },
  };
}

function limitReached(pauseMs: number): LimitReached {
  return new LimitReached('Discord limits direct messages', Math.ceil(pauseMs / 1000));
}
