import type { REST } from '@discordjs/rest';
import { RESTJSONErrorCodes, Routes } from 'discord.js';
import type { Logger } from 'pino';
import type { Db } from '../src/db/client.ts';
import {
  type LiveStatusMessage,
  listLiveStatusMessages,
  removeLiveStatusMessage,
  saveLiveStatusMessage,
} from '../src/queries/live-status-messages.ts';
import { retryPauseMs } from '../src/retry-pause.ts';
import type { ServerBoard } from '../src/server-board.ts';
import { type Invoker, Refusal } from './command.ts';
import { isDiscordError } from './discord-error.ts';
import { type MessageView, noticeMessage, withoutLinks } from './embeds/message.ts';
import { liveServerCard } from './embeds/server-card.ts';
import { liveServerList } from './embeds/server-list.ts';
import { type ServerView, toServerView } from './embeds/server-view.ts';
import { localizationOf } from './locales/localization.ts';

type Deps = {
  db: Db;
  rest: REST;
  board: Pick<ServerBoard, 'current' | 'findById' | 'onChange'>;
  publicUrl: string;
  log: Logger;
  /** Edits of one message are at least this far apart. */
  intervalMs: number;
};

/** What is known of one message beside its row. */
type Live = {
  row: LiveStatusMessage;
  /** What it shows, without what changes at every poll. */
  shown: string | undefined;
  notBefore: number;
  failures: number;
  isEditing: boolean;
};

/** The bot may not post in the channel. */
const MAY_NOT_POST = [RESTJSONErrorCodes.MissingAccess, RESTJSONErrorCodes.MissingPermissions];
/** The message is gone for good, or cannot be reached any more. */
const GONE = [
  RESTJSONErrorCodes.UnknownChannel,
  RESTJSONErrorCodes.UnknownGuild,
  RESTJSONErrorCodes.UnknownMessage,
  RESTJSONErrorCodes.MissingAccess,
  RESTJSONErrorCodes.CannotEditMessageAuthoredByAnotherUser,
];
/** Unchanged, a message is still edited this often, so that its "updated" does not read as if nobody looked. */
const REFRESH_MS = 5 * 60_000;
const LONGEST_PAUSE_MS = 10 * 60_000;

/** Messages that follow the servers: edited after a change, kept over restarts, forgotten when Discord has them no more. */
export function createLiveStatus({ db, rest, board, publicUrl, log, intervalMs }: Deps) {
  const messages = new Map<string, Live>();
  let isRunning = false;
  let isLoaded = false;
  let refusesOurLinks = false;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const editing = new Set<Promise<void>>();

  board.onChange(() => look());

  /** Edits what has changed and is due; comes back when the next one is due. */
  function look(): void {
    if (!isRunning || !isLoaded) return;
    const now = Date.now();
    for (const live of messages.values()) {
      if (live.isEditing || now < live.notBefore) continue;
      const servers = serversOf(live.row);
      const wanted = fingerprint(servers);
      const isStale = now - (live.notBefore - intervalMs) >= REFRESH_MS;
      if (wanted === live.shown && !isStale) continue;
      live.isEditing = true;
      const work: Promise<void> = edit(live, servers, wanted).finally(() => editing.delete(work));
      editing.add(work);
    }
    clearTimeout(timer);
    timer = setTimeout(look, Math.min(intervalMs, 5000));
  }

  async function edit(live: Live, servers: ServerView[] | undefined, wanted: string): Promise<void> {
    const { row } = live;
    const { texts } = localizationOf(row.locale);
    try {
      if (servers === undefined) {
        await patch(row, noticeMessage(texts.server.noLongerListed));
        await forget(row, 'its server is no longer listed');
        return;
      }
      await patch(row, render(row, servers));
      live.shown = wanted;
      live.failures = 0;
      live.notBefore = Date.now() + intervalMs;
    } catch (error) {
      if (isDiscordError(error, ...GONE)) {
        await forget(row, error.message).catch(() => undefined);
        return;
      }
      if (live.failures === 0)
        log.warn({ err: error, messageId: row.messageId }, 'a live status message cannot be edited now');
      live.failures += 1;
      live.notBefore =
        Date.now() + retryPauseMs(live.failures, { firstMs: 2 * intervalMs, longestMs: LONGEST_PAUSE_MS });
    } finally {
      live.isEditing = false;
    }
  }

  async function patch(row: LiveStatusMessage, view: MessageView): Promise<void> {
    const route = Routes.channelMessage(row.channelId, row.messageId);
    await withLinkFallback(view, (shown) => rest.patch(route, { body: toBody(shown) }));
  }

  async function withLinkFallback<T>(view: MessageView, send: (view: MessageView) => Promise<T>): Promise<T> {
    try {
      return await send(refusesOurLinks ? withoutLinks(view) : view);
    } catch (error) {
      const isFormRefused = isDiscordError(error, RESTJSONErrorCodes.InvalidFormBodyOrContentType);
      if (refusesOurLinks || !isFormRefused) throw error;
      const answer = await send(withoutLinks(view));
      refusesOurLinks = true;
      return answer;
    }
  }

  async function forget(row: LiveStatusMessage, why: string): Promise<void> {
    messages.delete(row.messageId);
    await removeLiveStatusMessage(db, row.messageId);
    log.info({ messageId: row.messageId, channelId: row.channelId, why }, 'a live status message ended');
  }

  function render(row: LiveStatusMessage, servers: ServerView[]): MessageView {
    const { texts } = localizationOf(row.locale);
    const [server] = servers;
    if (row.serverId === null || !server) return liveServerList(servers, { texts });
    return liveServerCard(server, { texts, publicUrl });
  }

  /** Undefined when the one server it shows is gone. */
  function serversOf({ serverId }: LiveStatusMessage): ServerView[] | undefined {
    if (serverId === null) return board.current().map(toServerView);
    const status = board.findById(serverId);
    return status && [toServerView(status)];
  }

  async function load(): Promise<void> {
    try {
      for (const row of await listLiveStatusMessages(db)) track(row, undefined);
      isLoaded = true;
      look();
    } catch (error) {
      log.warn({ err: error }, 'the live status messages cannot be read: trying again');
      timer = setTimeout(() => isRunning && void load(), 5000);
    }
  }

  function track(row: LiveStatusMessage, shown: string | undefined): void {
    if (messages.has(row.messageId)) return;
    const notBefore = shown === undefined ? 0 : Date.now() + intervalMs;
    messages.set(row.messageId, { row, shown, notBefore, failures: 0, isEditing: false });
  }

  return {
    /** Called when the bot is connected; again is no harm. */
    start: (): void => {
      if (isRunning) return;
      isRunning = true;
      void load();
    },
    /** Waits for edits under way. */
    stop: async (): Promise<void> => {
      isRunning = false;
      clearTimeout(timer);
      await Promise.allSettled(editing);
    },
    /** How many there are. */
    count: (): number => messages.size,
    /** Posts a message that follows one server, or all of them. @throws {Refusal} when it may not post there. */
    pin: async (
      { channelId, guildId, guildLocalization }: Invoker,
      serverId: number | undefined,
    ): Promise<void> => {
      const draft: LiveStatusMessage = {
        messageId: '',
        channelId,
        guildId: guildId ?? null,
        serverId: serverId ?? null,
        locale: guildLocalization.locale,
        createdAt: new Date(),
      };
      const servers = serversOf(draft) ?? [];
      const posted = await withLinkFallback(render(draft, servers), (shown) =>
        rest.post(Routes.channelMessages(channelId), { body: toBody(shown) }),
      ).catch((error) => {
        if (!isDiscordError(error, ...MAY_NOT_POST)) throw error;
        throw new Refusal(({ refusals }) => noticeMessage(refusals.cannotPost));
      });
      const messageId = readMessageId(posted);
      const row = { ...draft, messageId };
      await saveLiveStatusMessage(db, row);
      track(row, fingerprint(servers));
      look();
    },
  };
}

function toBody({ embeds, components }: MessageView) {
  return { embeds, components, allowed_mentions: { parse: [] } };
}

/** What a localization would see change; ping and the time of the poll differ at every poll. */
function fingerprint(servers: ServerView[] | undefined): string {
  return JSON.stringify(
    servers?.map((server) => ({
      ...server,
      pingMs: 0,
      updatedAt: 0,
      seenAt: server.isOnline ? 0 : server.seenAt,
    })) ?? null,
  );
}

function readMessageId(message: unknown): string {
  if (typeof message === 'object' && message !== null && 'id' in message) return String(message.id);
  throw new Error('Discord did not tell the id of a message');
}
