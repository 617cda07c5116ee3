import type { Logger } from 'pino';
import { notifyAll } from '../db/changes.ts';
import type { Db } from '../db/client.ts';
import { listStoredEvents, readEventLog, type StoredEvent } from '../queries/events.ts';
import { startLoop } from '../runtime/loop.ts';

/** Reads the outbox for all parts of a process. */
export type EventReader = {
  /** Part of every cursor. */
  epoch: string;
  /** The newest event that subscribers have received. */
  newestId: () => number;
  /** Calls back with all new events in order, silent ones included. @returns a function that unsubscribes. */
  subscribe: (listener: (events: readonly StoredEvent[]) => void) => () => void;
  /** Reads soon: events were recorded. */
  invalidate: () => void;
  stop: () => void;
};

const BATCH = 500;
/** One read covers every NOTIFY within this time. */
const DEBOUNCE_MS = 100;
/** Events are read at least this often, in case a NOTIFY was lost. */
const REFRESH_MS = 5000;

/**
 * Reads events that are recorded from now on.
 * @param options.onReplaced called instead of a read once the events are those of a restored backup, whose ids begin anew.
 * @throws what the first read throws.
 */
export async function createEventReader(
  db: Db,
  log: Logger,
  { onReplaced = () => {} }: { onReplaced?: (() => void) | undefined } = {},
): Promise<EventReader> {
  const listeners = new Set<(events: readonly StoredEvent[]) => void>();
  const { epoch, newestId: firstId } = await readEventLog(db);
  let newestId = firstId;

  async function read(signal: AbortSignal): Promise<void> {
    const { epoch: current, newestId: upToId } = await readEventLog(db);
    if (current !== epoch) return onReplaced();
    while (newestId < upToId && !signal.aborted) {
      const events = await listStoredEvents(db, newestId, { limit: BATCH, upToId });
      newestId = events.at(-1)?.id ?? upToId;
      // They are not read again, so every listener has to get them now, even if another one fails.
      if (events.length > 0) notifyAll(listeners, [events], { what: 'events', log });
    }
  }

  const loop = startLoop({
    name: 'reading events',
    everyMs: REFRESH_MS,
    pausesFirst: true,
    debounceMs: DEBOUNCE_MS,
    work: read,
    log,
  });
  return {
    epoch,
    newestId: () => newestId,
    subscribe: (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    invalidate: loop.wake,
    stop: () => {
      loop.stop();
      listeners.clear();
    },
  };
}

/** Events as the database had them at one moment, oldest first. */
type EventBatch = {
  events: readonly StoredEvent[];
  /**
   * Whether an event was read too long ago to be sent: it has to be read again, because somebody may have been erased
   * meanwhile. Never true of the first one, so that a slow database delays events but does not stop them.
   */
  isStale: (event: StoredEvent) => boolean;
  /** Everything up to this id has been read. */
  readUpTo: number;
};

/** The most events that one read covers, so that it takes milliseconds even if few of them are to be sent. */
const MAX_PASSED = 50_000;
/** Events are sent for this long after they were read. */
const FRESH_FOR_MS = 1000;

/**
 * Reads the next batch of events.
 * @param afterId the id of the last event that was read before.
 * @param newestId the id of the newest event, greater than `afterId`.
 * @param read reads the events to be sent, after `afterId` and up to `upToId`, at most `limit`.
 */
export async function readEventBatch(
  { afterId, newestId, limit }: { afterId: number; newestId: number; limit: number },
  read: (range: { upToId: number; limit: number }) => Promise<readonly StoredEvent[]>,
): Promise<EventBatch> {
  const readAtMs = performance.now();
  const upToId = Math.min(newestId, afterId + MAX_PASSED);
  const events = await read({ upToId, limit });
  const last = events.at(-1);
  return {
    events,
    readUpTo: last && events.length >= limit ? last.id : upToId,
    isStale: (event) => event !== events[0] && performance.now() - readAtMs > FRESH_FOR_MS,
  };
}
