import { channelMention, messageLink, Routes } from 'discord.js';
import type { ServerView } from '../../src/live/server-view.ts';
import {
  type LiveStatusMessage,
  listLiveStatusMessages,
  pauseLiveStatusMessage,
  removeLiveStatusMessage,
  saveLiveStatusMessage,
} from '../../src/queries/discord/live-status-messages.ts';
import { listServers } from '../../src/queries/servers/servers.ts';
import { createLoop } from '../../src/runtime/loop.ts';
import type { BotContext } from '../context.ts';
import { linkButton, type MessageView, noticeMessage, personalMessage } from '../embeds/message-view.ts';
import { liveServerCard } from '../embeds/server-card.ts';
import { liveServerList } from '../embeds/server-list.ts';
import type { Publish } from './announcements.ts';
import { countFailing, createAttempts, type PostingHealth } from './attempts.ts';
import {
  editMessage,
  isChannelGone,
  isMessageGone,
  postForInvoker,
  toNonce,
  uniqueNonce,
} from './channel-messages.ts';
import type { DirectMessages } from './direct-messages.ts';
import type { Recovery } from './recovery.ts';

type Row = Omit<LiveStatusMessage, 'createdAt'>;

/** A message and the state of its edits. */
type Tracked = {
  row: Row;
  /** Fingerprint of the last edit; undefined when it is not known. */
  fingerprint: string | undefined;
  /** When it was posted or last edited, in milliseconds of `performance.now()`: the system clock may be set back. */
  editedAtMs: number;
};

/** How often to check for due edits, unless `liveIntervalMs` is shorter. */
const CHECK_MS = 5000;

/**
 * Messages that show the live status of servers: edited after a poll that changed it, stored in the database, and removed
 * from it once they are deleted at Discord.
 */
export type LiveStatus = {
  /** Called at each login; only the first call has an effect. */
  start: () => void;
  /** Aborts edits under way: sent after those of the next leader, they would show an outdated state. */
  stop: () => Promise<void>;
  /**
   * Posts a message into the invoker's channel, in the guild's language, and keeps it up to date; it replaces the one of the
   * same server there. A button that is pressed twice, such as by a double click, posts one message.
   * @param invoker.guildId undefined in a direct message.
   * @param pin.serverId undefined: the message shows all servers.
   * @param pin.pressedMessageId the message whose button was pressed.
   * @throws {Refusal} when the bot may not post there.
   */
  pin: (
    invoker: { discordId: string; channelId: string; guildId: string | undefined; guildLocale: string },
    pin: { serverId: number | undefined; pressedMessageId: string },
  ) => Promise<void>;
  /** Deletes a live status message of a guild; does nothing when there is none with this id. */
  unpin: (manager: { discordId: string; guildId: string }, messageId: string) => Promise<void>;
  health: () => PostingHealth;
};

/** Creates the messages of one process; nothing is read or edited before `start`. */
export function createLiveStatus(
  deps: BotContext & Pick<DirectMessages, 'tell'> & { recovery: Recovery; publish: Publish },
): LiveStatus {
  const { db, rest, servers, pages, localizeGuild, recovery, publish, log, now } = deps;
  const { liveIntervalMs: intervalMs, liveRefreshMs: refreshMs } = deps.timings;
  const loop = createLoop({
    name: 'reading the live status messages',
    everyMs: Math.min(intervalMs, CHECK_MS),
    work: editWhatIsDue,
    log,
  });
  const messenger = { ...deps, signal: loop.signal };
  const tracked = new Map<string, Tracked>();
  /** By message. */
  const attempts = createAttempts<string>({
    firstMs: 2 * intervalMs,
    log,
    name: 'editing a live status message',
    describe: (messageId) => ({ messageId }),
  });
  /** Edits under way, by message. */
  const editing = new Map<string, Promise<void>>();
  let isLoaded = false;
  const stopListening = servers.onChange(() => loop.wake());

  /** Reads the stored messages once, and starts the edits that are due. */
  async function editWhatIsDue(): Promise<void> {
    if (!isLoaded) {
      for (const row of await listLiveStatusMessages(db)) track(row, undefined);
      isLoaded = true;
    }
    const nowMs = performance.now();
    for (const message of tracked.values()) {
      const { messageId } = message.row;
      if (editing.has(messageId) || nowMs - message.editedAtMs < intervalMs || !mayEdit(message)) continue;
      const current = serversOf(message.row);
      const fingerprint = fingerprintOf(message.row, current);
      const isStale = nowMs - message.editedAtMs >= refreshMs;
      if (fingerprint === message.fingerprint && !isStale) continue;
      const work = edit(message, current, fingerprint).finally(() => editing.delete(messageId));
      editing.set(messageId, work);
    }
  }

  function mayEdit({ row: { messageId, guildId, pausedAt } }: Tracked): boolean {
    return pausedAt === null
      ? !attempts.isBackingOff(messageId)
      : recovery.takeTry(keyOf(messageId), guildId);
  }

  /** Whether a server that is not listed is only hidden; true as well while the database does not say. */
  async function mayReturn({ serverId }: Pick<Row, 'serverId'>): Promise<boolean> {
    const stored = await listServers(db).catch(() => undefined);
    return stored?.some(({ id }) => id === serverId) ?? true;
  }

  /** The servers that a message shows; undefined when it shows one server, and that is no longer listed. */
  function serversOf({ serverId }: Pick<Row, 'serverId'>): ServerView[] | undefined {
    if (serverId === null) return servers.listViews();
    const status = servers.findById(serverId);
    return status && [servers.toView(status)];
  }

  function render(
    { serverId, locale }: Pick<Row, 'serverId' | 'locale'>,
    views: ServerView[] | undefined,
  ): MessageView {
    const { texts } = localizeGuild(locale);
    if (views === undefined) return noticeMessage(texts.server.noLongerListed);
    const [server] = views;
    return serverId === null || server === undefined
      ? liveServerList(views, { texts, pages })
      : liveServerCard(server, { texts, pages });
  }

  /** A text that changes when the content of a message does. It omits ping and poll time, which change with every poll. */
  function fingerprintOf(message: Pick<Row, 'serverId' | 'locale'>, views: ServerView[] | undefined): string {
    const lasting = views?.map((server) => ({
      ...server,
      pingMs: 0,
      updatedAt: server.updatedAt && new Date(0),
    }));
    return JSON.stringify(render(message, lasting));
  }

  async function edit(
    message: Tracked,
    current: ServerView[] | undefined,
    fingerprint: string,
  ): Promise<void> {
    const { row } = message;
    try {
      if (current === undefined && (await mayReturn(row))) return;
      await editMessage(messenger, row, render(row, current));
      if (current === undefined) return await forget(row, 'its server is no longer listed');
      attempts.succeeded(row.messageId);
      recovery.worked(row.guildId);
      Object.assign(message, { fingerprint, editedAtMs: performance.now() });
      if (row.pausedAt !== null) await pause(row, null);
    } catch (error) {
      if (!loop.signal.aborted) await handleFailure(row, error).catch(() => undefined);
    }
  }

  /** Ends a message that is gone, pauses one that the bot may not edit any more, and backs off otherwise. */
  async function handleFailure(row: Row, error: unknown): Promise<void> {
    const { messageId, channelId, guildId, pinnedBy, locale } = row;
    if (isMessageGone(error) || isChannelGone(error)) return forget(row, String(error));
    if (row.pausedAt !== null || !attempts.failed(messageId, error).isForbidden) return;
    attempts.forget(messageId);
    recovery.paused(keyOf(messageId), guildId);
    await pause(row, now());
    if (pinnedBy === null) return;
    const { server, buttons } = localizeGuild(locale).texts;
    const text = server.updatesForbidden(channelMention(channelId));
    const link = linkButton(buttons.message, messageLink(channelId, messageId, guildId ?? '@me'));
    deps.tell(pinnedBy, personalMessage(text, link));
  }

  async function pause(row: Row, pausedAt: Date | null): Promise<void> {
    row.pausedAt = pausedAt;
    await pauseLiveStatusMessage(db, row, pausedAt);
    const { messageId, channelId } = row;
    if (pausedAt)
      log.warn({ messageId, channelId }, 'a live status message is paused: the bot may not edit it');
    else log.info({ messageId, channelId }, 'a live status message is updated again');
  }

  async function forget({ messageId, channelId }: Row, reason: string): Promise<void> {
    tracked.delete(messageId);
    attempts.forget(messageId);
    await removeLiveStatusMessage(db, messageId, { actor: 'service' });
    log.info({ messageId, channelId, reason }, 'a live status message is no longer updated');
  }

  /** Deletes a message on Discord, if it still exists and may be deleted. */
  async function deleteMessage(channelId: string, messageId: string): Promise<void> {
    tracked.delete(messageId);
    await rest.delete(Routes.channelMessage(channelId, messageId)).catch(() => undefined);
  }

  function track(row: Row, fingerprint: string | undefined): void {
    if (tracked.has(row.messageId)) return;
    const editedAtMs = fingerprint === undefined ? Number.NEGATIVE_INFINITY : performance.now();
    tracked.set(row.messageId, { row, fingerprint, editedAtMs });
  }

  return {
    start: loop.start,
    stop: async () => {
      stopListening();
      await loop.stop();
      await Promise.allSettled(editing.values());
    },
    pin: async ({ discordId, channelId, guildId, guildLocale }, { serverId, pressedMessageId }) => {
      const draft = {
        channelId,
        guildId: guildId ?? null,
        serverId: serverId ?? null,
        locale: guildLocale,
        pinnedBy: discordId,
        pausedAt: null,
      };
      const current = serversOf(draft) ?? [];
      const message = render(draft, current);
      const nonce = toNonce('live', pressedMessageId, serverId ?? 'all');
      // When the message of an earlier press has been deleted, the invoker wants another one.
      const messageId =
        (await postForInvoker(deps, channelId, { message, nonce })) ??
        (await postForInvoker(deps, channelId, { message, nonce: uniqueNonce() }));
      if (messageId === undefined) throw new Error('Discord did not post the message');
      const row = { ...draft, messageId };
      const replaced = await saveLiveStatusMessage(db, row).catch(async (error) => {
        // Otherwise the message would promise updates and never get any.
        await deleteMessage(channelId, messageId);
        throw error;
      });
      for (const id of replaced) await deleteMessage(channelId, id);
      track(row, fingerprintOf(row, current));
      recovery.worked(row.guildId);
      publish(row);
      loop.wake();
    },
    unpin: async ({ discordId, guildId }, messageId) => {
      const channelId = await removeLiveStatusMessage(db, messageId, { actor: { discordId }, guildId });
      if (channelId !== undefined) await deleteMessage(channelId, messageId);
    },
    health: () => ({
      total: tracked.size,
      paused: [...tracked.values()].filter(({ row }) => row.pausedAt !== null).length,
      ...countFailing(attempts),
    }),
  };
}

/** Its key in {@link Recovery}. */
function keyOf(messageId: string): string {
  return `message ${messageId}`;
}
