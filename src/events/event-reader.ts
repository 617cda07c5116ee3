import type { Logger } from 'pino';
import { notifyAll } from '../db/changes.ts';
import type { Db } from '../db/client.ts';
import { listStoredEvents, readEventLog, type StoredEvent } from '../queries/penalties/events.ts';
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
/** One read covers a burst of notifications. */
const GATHER_MS = 100;
/** Events are read at least this often, in case a notification was lost. */
const REFRESH_MS = 5000;

/** Reads events that are recorded from now on. @throws what the first read throws. */
export async function createEventReader(db: Db, log: Logger): Promise<EventReader> {
  const listeners = new Set<(events: readonly StoredEvent[]) => void>();
  const { epoch, newestId: firstId } = await readEventLog(db);
  let newestId = firstId;

  async function read(signal: AbortSignal): Promise<void> {
    let isMore = true;
    while (isMore && !signal.aborted) {
      const events = await listStoredEvents(db, newestId, { limit: BATCH });
      newestId = events.at(-1)?.id ?? newestId;
      // They are not read again, so every listener has to get them now, even if another one fails.
      if (events.length > 0) notifyAll(listeners, events, { what: 'events', log });
      isMore = events.length === BATCH;
    }
  }

  const loop = startLoop({
    name: 'reading events',
    everyMs: REFRESH_MS,
    gatherMs: GATHER_MS,
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
