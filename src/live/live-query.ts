import type { Logger } from 'pino';
import { notifyAll } from '../db/changes.ts';
import { startLoop } from '../runtime/loop.ts';

/** The result of a small query, kept in memory and up to date; it stays available while the database is down. */
export type LiveQuery<T> = {
  /** As last read; the same value until something changed. */
  current: () => T;
  /** Reads again soon: something may have changed. */
  invalidate: () => void;
  /** Calls back with every new value and the one before it. @returns a function that unsubscribes. */
  onChange: (listener: Listener<T>) => () => void;
  stop: () => void;
};

type Listener<T> = (value: T, previous: T) => void;

type Options<Rows, T> = {
  /** What the log calls it. */
  name: string;
  log: Logger;
  read: () => Promise<Rows>;
  /** Builds the value from the rows; called only when they have changed. */
  build: (rows: Rows) => T;
  /** For tests; {@link DEBOUNCE_MS} by default. */
  debounceMs?: number | undefined;
};

/** A round of polls sends many NOTIFYs; one read covers those within this time. */
const DEBOUNCE_MS = 100;
/**
 * How long after a read the next one follows without a NOTIFY: one may be lost, and nothing about people may be
 * older than 5 s.
 */
export const REFRESH_MS = 4500;

/** Reads at once, whenever it is invalidated, and 4.5 seconds after the last time. @throws what the first read throws. */
export async function createLiveQuery<Rows, T>({
  name,
  log,
  read,
  build,
  debounceMs = DEBOUNCE_MS,
}: Options<Rows, T>): Promise<LiveQuery<T>> {
  const listeners = new Set<Listener<T>>();
  const first = await read();
  let fingerprint = Bun.hash(JSON.stringify(first));
  let value = build(first);
  function update(rows: Rows): void {
    const rowsFingerprint = Bun.hash(JSON.stringify(rows));
    if (rowsFingerprint === fingerprint) return;
    const previous = value;
    value = build(rows);
    fingerprint = rowsFingerprint;
    notifyAll(listeners, [value, previous], { what: name, log });
  }

  const loop = startLoop({
    name: `reading the ${name}`,
    everyMs: REFRESH_MS,
    pausesFirst: true,
    debounceMs,
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
