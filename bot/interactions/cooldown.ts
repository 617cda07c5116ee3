import { LRUCache } from 'lru-cache';

/** Limits the commands of each user: a burst, then one at a time. */
export type Cooldown = {
  /**
   * Counts one command.
   * @returns how long it takes until the next one is allowed, if this one is not.
   */
  take: (userId: string) => { retryInMs: number } | undefined;
};

type Options = {
  /** Commands at once, 5 by default. */
  burst?: number;
  /** Milliseconds until one more is allowed, 2000 by default. */
  refillMs?: number;
  /** Milliseconds by a monotonic clock. */
  clockMs?: () => number;
};

/** Beyond this the least recent user is evicted, and may send a whole burst again. */
const REMEMBERED_USERS = 5000;

/** A token bucket for each user, in memory. */
export function createCooldown({
  burst = 5,
  refillMs = 2000,
  clockMs = () => performance.now(),
}: Options = {}): Cooldown {
  /** For each user, when their bucket is full again. */
  const fullAtMs = new LRUCache<string, number>({ max: REMEMBERED_USERS });
  return {
    take: (userId) => {
      const nowMs = clockMs();
      const fullAt = Math.max(fullAtMs.get(userId) ?? 0, nowMs);
      // Rounding in another order could refuse a command whose bucket is full.
      const retryInMs = fullAt - nowMs - (burst - 1) * refillMs;
      if (retryInMs > 0) return { retryInMs };
      fullAtMs.set(userId, fullAt + refillMs);
      return undefined;
    },
  };
}
