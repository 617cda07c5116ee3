import { Unavailable } from '../../domain/errors.ts';

/** Of a request: a query takes some milliseconds, so that after four seconds it hangs. */
export const REQUEST_LIMITS = { limitMs: 4000, maxWaiting: 1000 } as const;

/** Runs work that needs the database, for as long as somebody may wait for it. */
export type WaitLimit = <T>(work: () => Promise<T>) => Promise<T>;

/**
 * Bounds how long a caller waits for a database that hangs, and how much may wait at once: past that, callers are
 * refused at once until the database has answered again.
 * @param limitMs how long a caller waits; the work itself goes on and counts as waiting until it settles.
 * @throws what the work throws, or {@link Unavailable}.
 */
export function createWaitLimit({ limitMs, maxWaiting }: { limitMs: number; maxWaiting: number }): WaitLimit {
  const waiting = new Set<Waiter>();
  let timer: ReturnType<typeof setInterval> | undefined;

  // One timer for all: a timer a call costs more than the rest of this.
  const refuseLate = () => {
    const now = performance.now();
    for (const { sinceMs, refuse } of waiting) {
      if (now - sinceMs < limitMs) break;
      refuse(new Unavailable('The database is out of reach: try again shortly'));
    }
    if (waiting.size > 0) return;
    clearInterval(timer);
    timer = undefined;
  };

  return (work) => {
    if (waiting.size >= maxWaiting) {
      return Promise.reject(new Unavailable('The database is out of reach: try again shortly'));
    }
    return new Promise((resolve, reject) => {
      const working = work();
      const waiter = { sinceMs: performance.now(), refuse: reject };
      waiting.add(waiter);
      timer ??= setInterval(refuseLate, Math.min(limitMs, CHECK_MS));
      const settle = () => waiting.delete(waiter);
      working.then(
        (value) => {
          settle();
          resolve(value);
        },
        (error) => {
          settle();
          reject(error);
        },
      );
    });
  };
}

type Waiter = { sinceMs: number; refuse: (reason: Unavailable) => void };

/** How late a refusal may be. */
const CHECK_MS = 50;
