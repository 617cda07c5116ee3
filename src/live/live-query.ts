import type { Logger } from 'pino';
import { notifyAll } from '../db/changes.ts';
import { startLoop } from '../runtime/loop.ts';

/** The result of a small query, kept in memory and up to date; it stays available while the database is down. */
export type LiveQuery<T> = {
  /** As last read; the same value until something changed. */
  current: () => T;
  /** Reads again soon: something may have changed. */
  invalidate: () => void;
  /** Calls back with every new value. @returns a function that unsubscribes. */
  onChange: (listener: (value: T) => void) => () => void;
  stop: () => void;
};

type Options<Rows, T> = {
  /** What the log calls it. */
  name: string;
  log: Logger;
  read: () => Promise<Rows>;
  /** Builds the value from the rows; called only when they have changed. */
  build: (rows: Rows) => T;
  /** {@link REFRESH_MS} by default. */
  refreshMs?: number;
};

/** A round of polls sends a burst of notifications; one read covers them all. */
const GATHER_MS = 100;
/** How long after a read the next one follows without a notification: one may be lost, and nothing about people may be older than 5 s. */
export const REFRESH_MS = 4500;

/** Reads at once, whenever it is invalidated, and 4.5 seconds after the last time. @throws what the first read throws. */
export async function createLiveQuery<Rows, T>({
  name,
  log,
  read,
  build,
  refreshMs = REFRESH_MS,
}: Options<Rows, T>): Promise<LiveQuery<T>> {
  const listeners = new Set<(value: T) => void>();
  const first = await read();
  let fingerprint = Bun.hash(JSON.stringify(first));
  let value = build(first);
  function update(rows: Rows): void {
    const rowsFingerprint = Bun.hash(JSON.stringify(rows));
    if (rowsFingerprint === fingerprint) return;
    value = build(rows);
    fingerprint = rowsFingerprint;
    notifyAll(listeners, value, { what: name, log });
  }

  const loop = startLoop({
    name: `reading the ${name}`,
    everyMs: refreshMs,
    gatherMs: GATHER_MS,
    work: async () => update(await read()),
    log,
  });
  return {
    current: () => value,
    invalidate: loop.wake,
    onChange: (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    stop: loop.stop,
  };
}
