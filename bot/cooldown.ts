/** Lets each user do a few things at once, then one every little while. */
export type Cooldown = {
  /** Takes one turn; returns when there is a turn again if there is none now. */
  take: (userId: string, nowMs: number) => { retryAtMs: number } | undefined;
};

type Options = {
  /** Turns at once. */
  burst?: number;
  /** Milliseconds until a turn is given back. */
  refillMs?: number;
};

const REMEMBERED_USERS = 5000;

/** A token bucket a user, in memory; users that have all their turns are forgotten. */
export function createCooldown({ burst = 5, refillMs = 2000 }: Options = {}): Cooldown {
  // By user: when all turns are there again.
  const fullAtMs = new Map<string, number>();
  return {
    take: (userId, nowMs) => {
      const fullAt = Math.max(fullAtMs.get(userId) ?? 0, nowMs);
      const afterThis = fullAt + refillMs;
      if (afterThis > nowMs + burst * refillMs) return { retryAtMs: afterThis - burst * refillMs };
      fullAtMs.set(userId, afterThis);
      if (fullAtMs.size > REMEMBERED_USERS) forgetFull(nowMs);
      return undefined;
    },
  };

  function forgetFull(nowMs: number): void {
    for (const [userId, fullAt] of fullAtMs) if (fullAt <= nowMs) fullAtMs.delete(userId);
  }
}
