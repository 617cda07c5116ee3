import { hourOf } from '../../src/domain/time-zone.ts';
import type { ServerView } from '../../src/live/server-view.ts';
import {
  armNotifications,
  type DiscordNotification,
  findSendableNotification,
  finishNotification,
  listDueNotifications,
  pauseNotifications,
} from '../../src/queries/discord/notifications.ts';
import type { BotContext } from '../context.ts';
import { toCustomId } from '../embeds/custom-id.ts';
import { button, type MessageView, row } from '../embeds/message-view.ts';
import type { Texts } from '../locales/en.ts';
import { localizationOf } from '../locales/localization.ts';
import { toNonce } from './channel-messages.ts';
import type { DirectMessage, ListDirectMessages } from './direct-messages.ts';
import { playersReached } from './feeds/server-feed.ts';

/** How long a server must have clearly fewer players before its followers are notified again. */
const LOW_FOR_MS = 10 * 60_000;
/** The hour after midnight from which notifications are sent. */
const MORNING = 8;

/** Direct messages when a server has enough players (`/notify`). @param context.timeZone the zone of the quiet hours. */
export function createNotificationList(context: BotContext & { timeZone: string }): ListDirectMessages {
  const { db, servers, pages, now, timeZone } = context;
  const peakOf = watchPeaks();

  return async () => {
    const views = servers.listViews();
    await armNotifications(
      db,
      views.flatMap((server) => {
        const peak = peakOf(server, now().getTime());
        return peak === undefined ? [] : [{ serverId: server.id, peak }];
      }),
    );
    if (hourOf(now(), timeZone) < MORNING) return [];
    const counts = views
      .filter(({ isOnline }) => isOnline)
      .map(({ id, playersCount }) => ({ serverId: id, players: playersCount }));
    const due = await listDueNotifications(db, counts, now());
    return due.map(toDirectMessage);
  };

  function toDirectMessage(due: DiscordNotification): DirectMessage {
    const { discordId, serverId } = due;
    let notification = due;
    return {
      key: `notify:${discordId}:${serverId}`,
      turn: `notify:${serverId}`,
      discordId,
      render: async () => {
        const current = await findSendableNotification(db, due, now());
        const status = servers.findById(serverId);
        const server = status && servers.toView(status);
        if (!current || !server?.isOnline || server.playersCount < current.playersAtLeast) return undefined;
        notification = current;
        const { texts } = localizationOf(current.locale);
        const reached = playersReached(server, { texts, pages });
        const since = current.notifiedAt ?? current.createdAt;
        return {
          message: { ...reached, components: [...reached.components, offRow(serverId, texts)] },
          nonce: toNonce('notify', discordId, serverId, since.getTime()),
        };
      },
      sent: () => finishNotification(db, notification, now()),
      closed: () => pauseNotifications(db, discordId, now()),
    };
  }
}

/** The button that ends the notifications of a server. */
export function offRow(serverId: number, { buttons }: Texts): MessageView['components'][number] {
  return row(button(buttons.notifyOff, toCustomId('notify.off', serverId), { emoji: '🔕' }));
}

/** The player counts of a server, timed by a clock that stops while the server is offline or unchecked. */
type Watch = {
  clockMs: number;
  onlineAtMs: number | undefined;
  counts: { players: number; fromMs: number }[];
};

/**
 * Watches the player counts of servers.
 * @returns a function that takes the state of a server and returns its highest count in the last ten minutes online;
 *   undefined until it has been watched for that long. A restart begins anew.
 */
function watchPeaks(): (server: ServerView, nowMs: number) => number | undefined {
  const watches = new Map<number, Watch>();
  return ({ id, isOnline, playersCount: players }, nowMs) => {
    const watch = watches.get(id) ?? { clockMs: 0, onlineAtMs: undefined, counts: [] };
    watches.set(id, watch);
    const { counts } = watch;
    if (watch.onlineAtMs !== undefined) watch.clockMs += Math.max(0, nowMs - watch.onlineAtMs);
    watch.onlineAtMs = isOnline ? nowMs : undefined;
    if (!isOnline) return undefined;
    if (counts.at(-1)?.players !== players) counts.push({ players, fromMs: watch.clockMs });
    const sinceMs = watch.clockMs - LOW_FOR_MS;
    while (counts[1] && counts[1].fromMs <= sinceMs) counts.shift();
    const isWatched = counts[0] !== undefined && counts[0].fromMs <= sinceMs;
    const held = counts.filter(({ fromMs }) => fromMs < watch.clockMs);
    return isWatched ? Math.max(...held.map((count) => count.players)) : undefined;
  };
}
