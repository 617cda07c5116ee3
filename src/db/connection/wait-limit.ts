import { Unavailable } from '../../domain/errors.ts';

/** For requests: their queries take milliseconds, so one that takes four seconds hangs. */
export const REQUEST_LIMITS = { limitMs: 4000, maxWaiting: 1000 } as const;

/** Runs work that needs the database, and rejects when it takes too long. */
export type WaitLimit = <T>(work: () => Promise<T>) => Promise<T>;

/**
 * Limits how long a caller waits for a database that hangs, and how many wait at once: beyond that, calls are rejected
 * immediately until the database responds again.
 * @param limitMs how long a caller waits; the work itself continues, and counts as waiting until it settles.
 * @throws what the work throws, or {@link Unavailable}.
 */
export function createWaitLimit({ limitMs, maxWaiting }: { limitMs: number; maxWaiting: number }): WaitLimit {
  const waiting = new Set<Waiter>();
  let timer: ReturnType<typeof setInterval> | undefined;

  // One timer for all calls: a timer for each would cost more than the rest of this function.
  const refuseLate = () => {
    const now = performance.now();
    for (const { sinceMs, refuse } of waiting) {
      if (now - sinceMs < limitMs) break;
      refuse(new Unavailable('The database is unreachable: try again shortly'));
    }
    if (waiting.size > 0) return;
    clearInterval(timer);
    timer = undefined;
  };

  return (work) => {
    if (waiting.size >= maxWaiting) {
      return Promise.reject(new Unavailable('The database is unreachable: try again shortly'));
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
