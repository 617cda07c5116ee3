import {
  type DiscordNotification,
  finishNotification,
  listDueNotifications,
  removeNotifications,
} from '../../src/queries/discord/notifications.ts';
import { createLoop } from '../../src/runtime/loop.ts';
import { toCustomId } from '../embeds/custom-id.ts';
import { button, type MessageView, row } from '../embeds/message-view.ts';
import { localizationOf } from '../locales/localization.ts';
import type { BotParts } from '../parts.ts';
import { createAttempts } from './attempts.ts';
import { isInboxClosed, openDirectChannel, postMessage, toNonce } from './channel-messages.ts';
import { playersReached } from './feeds/server-feed.ts';

/** Changes within this time cause one check. */
const DEBOUNCE_MS = 50;
/** How many people are notified at the same time. */
const AT_ONCE = 10;

/** Direct messages to people who want to know when a server has enough players (`/notify`). */
export type Notifications = {
  /** Called at each login; only the first call has an effect. */
  start: () => void;
  /** Aborts requests to Discord; the next leader sends what is still to be sent. */
  stop: () => Promise<void>;
};

/** Nothing is read or sent before `start`. */
export function createNotifications(parts: BotParts): Notifications {
  const { db, rest, servers, pages, log, now, timings } = parts;
  const loop = createLoop({
    name: 'notifying people of servers',
    everyMs: timings.feedIntervalMs,
    debounceMs: DEBOUNCE_MS,
    work: check,
    log,
  });
  const { signal } = loop;
  const messenger = { rest, signal };
  /** By Discord id. */
  const attempts = createAttempts<string>({
    firstMs: 2 * timings.feedIntervalMs,
    log,
    name: 'notifying somebody of a server',
    // The error names the person's channel only.
    describe: () => ({}),
  });

  async function check(): Promise<void> {
    const counts = servers
      .listViews()
      // Whether one that is offline or unchecked has fallen under a number is not known.
      .filter(({ isOnline }) => isOnline)
      .map(({ id, playersCount }) => ({ serverId: id, players: playersCount }));
    const due = (await listDueNotifications(db, counts, now())).filter(
      ({ discordId }) => !attempts.isBackingOff(discordId),
    );
    while (due.length > 0 && !signal.aborted) await Promise.all(due.splice(0, AT_ONCE).map(notify));
  }

  /** Sends one message; after a crash the next leader sends it again under the same nonce. Never rejects. */
  async function notify(notification: DiscordNotification): Promise<void> {
    const { discordId, serverId, notifiedAt, createdAt, locale } = notification;
    const status = servers.findById(serverId);
    if (!status) return;
    const { texts } = localizationOf(locale);
    const reached = playersReached(servers.toView(status), { texts, pages });
    const off = button(texts.buttons.notifyOff, toCustomId('notify.off', serverId), { emoji: '🔕' });
    const message: MessageView = { ...reached, components: [...reached.components, row(off)] };
    try {
      const channelId = await openDirectChannel(messenger, discordId);
      const nonce = toNonce('notify', discordId, serverId, (notifiedAt ?? createdAt).getTime());
      await postMessage(messenger, channelId, { message, nonce });
      attempts.succeeded(discordId);
      await finishNotification(db, notification, now());
    } catch (error) {
      if (!signal.aborted) await handleFailure(discordId, error);
    }
  }

  async function handleFailure(discordId: string, error: unknown): Promise<void> {
    if (isInboxClosed(error)) {
      await removeNotifications(db, discordId).catch(() => undefined);
      return;
    }
    attempts.failed(discordId, error);
  }

  const stopListening = servers.onChange(() => void loop.wake());

  return {
    start: loop.start,
    stop: async () => {
      stopListening();
      await loop.stop();
    },
  };
}
