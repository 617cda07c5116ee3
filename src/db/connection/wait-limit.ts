import { Unavailable } from '../../domain/errors.ts';

/** For requests: their queries take milliseconds, so one that takes four seconds hangs. */
export const REQUEST_LIMITS = { limitMs: 4000, maxWaiting: 1000 } as const;

/**
 * Runs work that needs the database, and rejects when it takes too long.
 * @param options.sinceMs since when the caller has waited, by `performance.now()`; now by default.
 * @param options.onLate called when the caller has been refused; the work counts as waiting until it settles.
 */
type WaitLimit = <T>(
  work: () => Promise<T>,
  options?: { sinceMs?: number; onLate?: () => void },
) => Promise<T>;

/**
 * Limits how long a caller waits for a database that hangs, and how many wait at once: beyond that, calls are rejected
 * immediately until the database responds again.
 * @param limitMs how long a caller waits.
 * @throws what the work throws, or {@link Unavailable}.
 */
export function createWaitLimit({ limitMs, maxWaiting }: { limitMs: number; maxWaiting: number }): WaitLimit {
  const waiting = new Set<Waiter>();
  let timer: ReturnType<typeof setInterval> | undefined;

  // One timer for all calls: a timer for each would cost more than the rest of this function.
  const refuseLate = () => {
    const now = performance.now();
    for (const waiter of waiting) {
      if (waiter.isRefused || now - waiter.sinceMs < limitMs) continue;
      waiter.isRefused = true;
      waiter.refuse(new Unavailable('The database is unreachable: try again shortly'));
      waiter.onLate?.();
    }
    if (waiting.size > 0) return;
    clearInterval(timer);
    timer = undefined;
  };

  return (work, { sinceMs = performance.now(), onLate } = {}) => {
    if (waiting.size >= maxWaiting) {
      return Promise.reject(new Unavailable('The database is unreachable: try again shortly'));
    }
    return new Promise((resolve, reject) => {
      const working = work();
      const waiter: Waiter = { sinceMs, refuse: reject, onLate, isRefused: false };
      waiting.add(waiter);
      timer ??= setInterval(refuseLate, Math.min(limitMs, CHECK_MS));
      const settle = () => waiting.delete(waiter);
      working.then(settle, settle);
      working.then(resolve, reject);
    });
  };
}

type Waiter = {
  sinceMs: number;
  refuse: (reason: Unavailable) => void;
  onLate: (() => void) | undefined;
  isRefused: boolean;
};

/** How late a refusal may be. */
const CHECK_MS = 50;
