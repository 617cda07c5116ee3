import type { Logger } from 'pino';
import type { Db } from '../../src/db/client.ts';
import type { ServerList } from '../../src/live/server-list.ts';
import type { ServerView } from '../../src/live/server-view.ts';
import {
  findWhoPinned,
  type LiveStatusMessage,
  listLiveStatusMessages,
  removeLiveStatusMessage,
  saveLiveStatusMessage,
} from '../../src/queries/live-status-messages.ts';
import { retryPauseMs } from '../../src/runtime/retry-pause.ts';
import type { Invoker } from '../command.ts';
import { toNonce } from '../messages.ts';
import { createLiveMessages, isEditForbidden, isMessageGone, type LiveMessageDeps } from './live-message.ts';

type LiveStatusDeps = LiveMessageDeps & {
  db: Db;
  servers: Pick<ServerList, 'onChange'>;
  log: Logger;
  /** Edits of one message are at least this far apart. */
  intervalMs: number;
  /** A message is edited this often even without changes: "Updated 3 hours ago" would look broken. */
  refreshMs: number;
};

type Pin = {
  /** Undefined: the message shows all servers. */
  serverId: number | undefined;
  /** The message whose button was pressed. */
  pressedMessageId: string;
};

/** A message and the state of its edits. */
type Tracked = {
  row: Omit<LiveStatusMessage, 'createdAt'>;
  /** Fingerprint of the last edit; undefined when it is not known. */
  fingerprint: string | undefined;
  /** When it was posted or last edited, in milliseconds of `performance.now()`: the system clock may be set back. */
  editedAtMs: number;
  /** Not edited before this time. */
  notBeforeMs: number;
  failures: number;
  /** Edits in a row that Discord has forbidden. */
  refusals: number;
  isEditing: boolean;
};

const MAX_PAUSE_MS = 10 * 60_000;
/** A message is given up after this many edits in a row that Discord has forbidden: within seven minutes or so. */
const MAX_REFUSALS = 5;
/** How often to check for due edits, unless `intervalMs` is shorter. */
const CHECK_MS = 5000;
/** The pause after the messages could not be read from the database. */
const LOAD_AGAIN_MS = 5000;

/**
 * Messages that show the live status of servers: edited after a poll that changed it, stored in the database, and removed
 * from it once they are deleted at Discord.
 */
export type LiveStatus = {
  /** Called whenever the bot has logged in; the first call counts. */
  start: () => void;
  /** Aborts edits under way: sent after those of the next leader, they would show an outdated state. */
  stop: () => Promise<void>;
  /**
   * Posts a message into the invoker's channel, in the guild's language, and keeps it up to date. A button that is pressed
   * twice, such as by a double click, posts one message.
   * @throws {Refusal} when the bot may not post there.
   */
  pin: (invoker: Invoker, pin: Pin) => Promise<void>;
};

/** Creates the messages of one process; nothing is read or edited before `start`. */
export function createLiveStatus(deps: LiveStatusDeps): LiveStatus {
  const { db, servers, log, intervalMs, refreshMs } = deps;
  const stopping = new AbortController();
  const liveMessages = createLiveMessages(deps, stopping.signal);
  const tracked = new Map<string, Tracked>();
  const editing = new Set<Promise<void>>();
  let isRunning = false;
  let isLoaded = false;
  let timer: ReturnType<typeof setTimeout> | undefined;

  const stopListening = servers.onChange(() => editWhatIsDue());

  function editWhatIsDue(): void {
    if (!isRunning || !isLoaded) return;
    const nowMs = performance.now();
    for (const message of tracked.values()) {
      if (message.isEditing || nowMs < message.notBeforeMs) continue;
      const current = liveMessages.serversOf(message.row);
      const fingerprint = liveMessages.fingerprint(message.row, current);
      const isStale = nowMs - message.editedAtMs >= refreshMs;
      if (fingerprint === message.fingerprint && !isStale) continue;
      message.isEditing = true;
      const work: Promise<void> = edit(message, current, fingerprint).finally(() => editing.delete(work));
      editing.add(work);
    }
    clearTimeout(timer);
    timer = setTimeout(editWhatIsDue, Math.min(intervalMs, CHECK_MS));
  }

  async function edit(
    message: Tracked,
    current: ServerView[] | undefined,
    fingerprint: string,
  ): Promise<void> {
    const { row } = message;
    try {
      await liveMessages.edit(row, current);
      if (current === undefined) return await forget(row, 'its server is no longer listed');
      message.fingerprint = fingerprint;
      message.failures = 0;
      message.refusals = 0;
      message.editedAtMs = performance.now();
      message.notBeforeMs = message.editedAtMs + intervalMs;
    } catch (error) {
      if (stopping.signal.aborted) return;
      message.refusals = isEditForbidden(error) ? message.refusals + 1 : 0;
      if (isMessageGone(error) || (isEditForbidden(error) && message.refusals >= MAX_REFUSALS)) {
        if (message.refusals > 0) await tellForbidden(row);
        await forget(row, error.message).catch(() => undefined);
        return;
      }
      if (message.failures === 0) {
        log.warn({ err: error, messageId: row.messageId }, 'editing a live status message failed: retrying');
      }
      message.failures += 1;
      const pauses = { firstMs: 2 * intervalMs, maxMs: MAX_PAUSE_MS };
      message.notBeforeMs = performance.now() + retryPauseMs(message.failures, pauses);
    } finally {
      message.isEditing = false;
    }
  }

  /** Tells the person who pinned a message that it ends. */
  async function tellForbidden(row: Tracked['row']): Promise<void> {
    try {
      const userId = await findWhoPinned(db, row.messageId);
      if (userId !== undefined) await liveMessages.tellForbidden(row, userId);
    } catch (error) {
      log.warn(
        { err: error, messageId: row.messageId },
        'the person who pinned a live status message could not be notified',
      );
    }
  }

  async function forget(row: Tracked['row'], reason: string): Promise<void> {
    tracked.delete(row.messageId);
    await removeLiveStatusMessage(db, row.messageId);
    log.info(
      { messageId: row.messageId, channelId: row.channelId, reason },
      'a live status message is no longer updated',
    );
  }

  async function load(): Promise<void> {
    try {
      for (const row of await listLiveStatusMessages(db)) track(row, undefined);
      isLoaded = true;
      editWhatIsDue();
    } catch (error) {
      log.warn({ err: error }, 'the live status messages could not be read: retrying');
      timer = setTimeout(() => isRunning && void load(), LOAD_AGAIN_MS);
    }
  }

  function track(row: Tracked['row'], fingerprint: string | undefined): void {
    if (tracked.has(row.messageId)) return;
    const editedAtMs = fingerprint === undefined ? Number.NEGATIVE_INFINITY : performance.now();
    const notBeforeMs = editedAtMs + intervalMs;
    tracked.set(row.messageId, {
      row,
      fingerprint,
      editedAtMs,
      notBeforeMs,
      failures: 0,
      refusals: 0,
      isEditing: false,
    });
  }

  return {
    start: () => {
      if (isRunning) return;
      isRunning = true;
      void load();
    },
    stop: async () => {
      isRunning = false;
      stopping.abort();
      stopListening();
      clearTimeout(timer);
      await Promise.allSettled(editing);
    },
    pin: async ({ discordId, channelId, guildId, guildLocalization }, { serverId, pressedMessageId }) => {
      const draft = {
        channelId,
        guildId: guildId ?? null,
        serverId: serverId ?? null,
        locale: guildLocalization.locale,
      };
      const current = liveMessages.serversOf(draft) ?? [];
      const nonce = toNonce('live', pressedMessageId, serverId ?? 'all');
      const row = { ...draft, messageId: await liveMessages.post(draft, current, nonce) };
      try {
        await saveLiveStatusMessage(db, row, { actor: { discordId } });
      } catch (error) {
        // Otherwise the message would promise updates and never get any.
        await liveMessages.remove(row).catch(() => {});
        throw error;
      }
      track(row, liveMessages.fingerprint(row, current));
      editWhatIsDue();
    },
  };
}
