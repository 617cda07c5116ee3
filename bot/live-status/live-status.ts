import { channelMention, Routes } from 'discord.js';
import { type ServerView, toServerView } from '../../src/live/server-view.ts';
import {
  findWhoPinned,
  type LiveStatusMessage,
  listLiveStatusMessages,
  removeLiveStatusMessage,
  saveLiveStatusMessage,
} from '../../src/queries/live-status-messages.ts';
import { type Loop, startLoop } from '../../src/runtime/loop.ts';
import { retryPauseMs } from '../../src/runtime/retry-pause.ts';
import { type CommandDeps, Refusal } from '../command.ts';
import { type MessageView, noticeMessage } from '../embeds/message.ts';
import { liveServerCard } from '../embeds/server-card.ts';
import { listViews, liveServerList } from '../embeds/server-list.ts';
import { localizationOf } from '../locales/localization.ts';
import {
  editMessage,
  isChannelGone,
  isMessageGone,
  isPostingForbidden,
  postMessage,
  sendDirectMessage,
  toNonce,
} from '../messages.ts';
import type { BotParts } from '../parts.ts';

type Row = Omit<LiveStatusMessage, 'createdAt'>;

/** A message and the state of its edits. */
type Tracked = {
  row: Row;
  /** Fingerprint of the last edit; undefined when it is not known. */
  fingerprint: string | undefined;
  /** When it was posted or last edited, in milliseconds of `performance.now()`: the system clock may be set back. */
  editedAtMs: number;
  /** Not edited before this time. */
  notBeforeMs: number;
  failures: number;
  /** Edits in a row that Discord has forbidden. */
  refusals: number;
};

const MAX_PAUSE_MS = 10 * 60_000;
/** A message is given up after this many edits in a row that Discord has forbidden: within seven minutes or so. */
const MAX_REFUSALS = 5;
/** How often to check for due edits, unless `liveIntervalMs` is shorter. */
const CHECK_MS = 5000;

/**
 * Messages that show the live status of servers: edited after a poll that changed it, stored in the database, and removed
 * from it once they are deleted at Discord.
 */
type LiveStatus = {
  /** Called whenever the bot has logged in; the first call counts. */
  start: () => void;
  /** Aborts edits under way: sent after those of the next leader, they would show an outdated state. */
  stop: () => Promise<void>;
  pin: CommandDeps['pinLiveStatus'];
};

/** Creates the messages of one process; nothing is read or edited before `start`. */
export function createLiveStatus(deps: BotParts): LiveStatus {
  const { db, rest, servers, pages, log } = deps;
  const { liveIntervalMs: intervalMs, liveRefreshMs: refreshMs } = deps.timings;
  const stopping = new AbortController();
  const messenger = { ...deps, signal: stopping.signal };
  const tracked = new Map<string, Tracked>();
  /** Edits under way, by message. */
  const editing = new Map<string, Promise<void>>();
  let isLoaded = false;
  let loop: Loop | undefined;
  const stopListening = servers.onChange(() => loop?.wake());

  /** Reads the stored messages once, and starts the edits that are due. */
  async function editWhatIsDue(): Promise<void> {
    if (!isLoaded) {
      for (const row of await listLiveStatusMessages(db)) track(row, undefined);
      isLoaded = true;
    }
    const nowMs = performance.now();
    for (const message of tracked.values()) {
      const { messageId } = message.row;
      if (editing.has(messageId) || nowMs < message.notBeforeMs) continue;
      const current = serversOf(message.row);
      const fingerprint = fingerprintOf(message.row, current);
      const isStale = nowMs - message.editedAtMs >= refreshMs;
      if (fingerprint === message.fingerprint && !isStale) continue;
      const work = edit(message, current, fingerprint).finally(() => editing.delete(messageId));
      editing.set(messageId, work);
    }
  }

  /** The servers that a message shows; undefined when it shows one server, and that is no longer listed. */
  function serversOf({ serverId }: Pick<Row, 'serverId'>): ServerView[] | undefined {
    if (serverId === null) return listViews(deps);
    const status = servers.findById(serverId);
    return status && [toServerView(status)];
  }

  function render(
    { serverId, locale }: Pick<Row, 'serverId' | 'locale'>,
    views: ServerView[] | undefined,
  ): MessageView {
    const { texts } = localizationOf(locale);
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
      await editMessage(messenger, row, render(row, current));
      if (current === undefined) return await forget(row, 'its server is no longer listed');
      const editedAtMs = performance.now();
      const notBeforeMs = editedAtMs + intervalMs;
      Object.assign(message, { fingerprint, failures: 0, refusals: 0, editedAtMs, notBeforeMs });
    } catch (error) {
      if (stopping.signal.aborted) return;
      const isForbidden = isPostingForbidden(error);
      message.refusals = isForbidden ? message.refusals + 1 : 0;
      if (isMessageGone(error) || isChannelGone(error) || (isForbidden && message.refusals >= MAX_REFUSALS)) {
        if (isForbidden) await tellForbidden(row).catch(() => undefined);
        await forget(row, error.message).catch(() => undefined);
        return;
      }
      if (message.failures === 0) {
        log.warn({ err: error, messageId: row.messageId }, 'editing a live status message failed: retrying');
      }
      message.failures += 1;
      const pauses = { firstMs: 2 * intervalMs, maxMs: MAX_PAUSE_MS };
      message.notBeforeMs = performance.now() + retryPauseMs(message.failures, pauses);
    }
  }

  /** Tells the person who pinned a message that the bot may no longer edit it. */
  async function tellForbidden({ messageId, channelId, locale }: Row): Promise<void> {
    const userId = await findWhoPinned(db, messageId);
    const text = localizationOf(locale).texts.server.updatesForbidden(channelMention(channelId));
    if (userId !== undefined) await sendDirectMessage(messenger, userId, text);
  }

  async function forget({ messageId, channelId }: Row, reason: string): Promise<void> {
    tracked.delete(messageId);
    await removeLiveStatusMessage(db, messageId);
    log.info({ messageId, channelId, reason }, 'a live status message is no longer updated');
  }

  function track(row: Row, fingerprint: string | undefined): void {
    if (tracked.has(row.messageId)) return;
    const editedAtMs = fingerprint === undefined ? Number.NEGATIVE_INFINITY : performance.now();
    const notBeforeMs = editedAtMs + intervalMs;
    tracked.set(row.messageId, { row, fingerprint, editedAtMs, notBeforeMs, failures: 0, refusals: 0 });
  }

  return {
    start: () => {
      loop ??= startLoop({
        name: 'reading the live status messages',
        everyMs: Math.min(intervalMs, CHECK_MS),
        work: editWhatIsDue,
        log,
      });
    },
    stop: async () => {
      stopping.abort();
      stopListening();
      loop?.stop();
      await Promise.allSettled(editing.values());
    },
    pin: async ({ discordId, channelId, guildId, guildLocalization }, { serverId, pressedMessageId }) => {
      const draft = {
        channelId,
        guildId: guildId ?? null,
        serverId: serverId ?? null,
        locale: guildLocalization.locale,
      };
      const current = serversOf(draft) ?? [];
      const message = render(draft, current);
      const nonce = toNonce('live', pressedMessageId, serverId ?? 'all');
      try {
        // When the message of an earlier press has been deleted, the invoker wants another one.
        const messageId =
          (await postMessage(deps, channelId, { message, nonce })) ??
          (await postMessage(deps, channelId, { message }));
        if (messageId === undefined) throw new Error('Discord did not post the message');
        const row = { ...draft, messageId };
        await saveLiveStatusMessage(db, row, { actor: { discordId } }).catch(async (error) => {
          // Otherwise the message would promise updates and never get any.
          await rest.delete(Routes.channelMessage(channelId, messageId)).catch(() => {});
          throw error;
        });
        track(row, fingerprintOf(row, current));
        loop?.wake();
      } catch (error) {
        throw isPostingForbidden(error) ? new Refusal(({ refusals }) => refusals.cannotPost) : error;
      }
    },
  };
}
