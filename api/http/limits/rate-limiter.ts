/** What a limiter says of one request. */
export type RateLimitVerdict = {
  isAllowed: boolean;
  /** Requests allowed in any window. */
  limit: number;
  /** Requests left now, after this one. */
  remaining: number;
  /** Whole seconds, at least 1, until the oldest counted request leaves the window. */
  resetSeconds: number;
};

export type RateLimiter = {
  /** Counts a request of `key` and judges it; a refused one does not count. Never lets more than the limit through in any window. */
  take: (key: string) => RateLimitVerdict | Promise<RateLimitVerdict>;
  /** Whether {@link RateLimiter.take} would let a request through now; counts nothing. */
  check: (key: string) => RateLimitVerdict | Promise<RateLimitVerdict>;
};

export type MemoryRateLimiterOptions = {
  /** Milliseconds by a monotonic clock: a system clock that is set back would lock clients out until it catches up. */
  clockMs?: () => number;
  /** 60 seconds by default. */
  windowMs?: number;
  /** Keys with a log of their own in one generation, 100,000 by default: some 25 MB. */
  maxKeys?: number;
};

const WINDOW_MS = 60_000;
/** Up to this limit every request's own time is kept; beyond it times are rounded up, so that a key stays small. */
const MAX_MARKS = 64;
const MAX_KEYS = 100_000;
const SHARED_KEYS = 8192;

/** When requests came, oldest first: `times[i]` is the latest of `counts[i]` requests. */
type Log = { times: number[]; counts: number[]; total: number };

/**
 * An exact sliding log in memory. The cost of a request does not depend on the limit.
 *
 * Memory is bounded: logs idle for a whole window are dropped a generation at a time, and past 100,000 keys in a window
 * further ones share logs, so that a flood of addresses can neither exhaust memory nor wash its own traces away.
 */
export function createMemoryRateLimiter(
  limit: number,
  {
    clockMs = () => performance.now(),
    windowMs = WINDOW_MS,
    maxKeys = MAX_KEYS,
  }: MemoryRateLimiterOptions = {},
): RateLimiter {
  let current = new Map<string, Log>();
  let previous = new Map<string, Log>();
  let turnsAtMs = 0;
  /** Until then a request counted in a shared log may still count. */
  let sharedUntilMs = 0;
  const roundedMs = roundingOf(limit, windowMs);

  function logOf(key: string, nowMs: number): Log {
    if (nowMs >= turnsAtMs || nowMs < turnsAtMs - windowMs) {
      // What was not asked for in a whole window holds no request that still counts.
      previous = nowMs >= turnsAtMs + windowMs ? new Map() : current;
      current = new Map();
      turnsAtMs = nowMs + windowMs;
    }
    const name = hasOwnLog(key, nowMs) ? key : sharedKey(key);
    if (name !== key) sharedUntilMs = nowMs + windowMs + roundedMs;
    const known = current.get(name);
    if (known) return known;
    const log = previous.get(name) ?? { times: [], counts: [], total: 0 };
    current.set(name, log);
    return log;
  }

  function hasOwnLog(key: string, nowMs: number): boolean {
    if (current.has(key) || previous.has(key)) return true;
    if (current.size >= maxKeys) return false;
    if (nowMs >= sharedUntilMs) return true;
    // There is room again; but what it used in a shared log must not be forgotten.
    const shared = current.get(sharedKey(key)) ?? previous.get(sharedKey(key));
    if (!shared) return true;
    dropOutside(shared, nowMs, { windowMs, roundedMs });
    return shared.total === 0;
  }

  function judge(key: string, isCounted: boolean): RateLimitVerdict {
    const nowMs = clockMs();
    const log = logOf(key, nowMs);
    dropOutside(log, nowMs, { windowMs, roundedMs });
    const isAllowed = log.total < limit;
    if (isAllowed && isCounted) mark(log, nowMs, roundedMs);
    return toVerdict({
      isAllowed,
      limit,
      windowMs,
      total: log.total,
      oldestAgeMs: nowMs - (log.times[0] ?? nowMs),
    });
  }

  return { take: (key) => judge(key, true), check: (key) => judge(key, false) };
}

/** To what multiple times are rounded up, so that a key keeps few marks whatever the limit; 0: not at all. */
export function roundingOf(limit: number, windowMs = WINDOW_MS): number {
  return limit <= MAX_MARKS ? 0 : windowMs / (MAX_MARKS - 4);
}

/** @param oldestAgeMs how long ago the oldest counted request came; negative when it was rounded up past now. */
export function toVerdict({
  isAllowed,
  limit,
  windowMs = WINDOW_MS,
  total,
  oldestAgeMs,
}: {
  isAllowed: boolean;
  limit: number;
  windowMs?: number;
  total: number;
  oldestAgeMs: number;
}): RateLimitVerdict {
  const resetSeconds = Math.max(Math.ceil((windowMs - oldestAgeMs) / 1000), 1);
  return { isAllowed, limit, remaining: limit - total, resetSeconds };
}

/** Drops what has left the window, and what lies ahead: the clock was set back. */
function dropOutside(
  log: Log,
  nowMs: number,
  { windowMs, roundedMs }: { windowMs: number; roundedMs: number },
): void {
  let expired = 0;
  while (expired < log.times.length && (log.times[expired] ?? 0) <= nowMs - windowMs) {
    log.total -= log.counts[expired] ?? 0;
    expired += 1;
  }
  if (expired > 0) {
    log.times.splice(0, expired);
    log.counts.splice(0, expired);
  }
  while ((log.times.at(-1) ?? nowMs) > nowMs + roundedMs) {
    log.times.pop();
    log.total -= log.counts.pop() ?? 0;
  }
}

function mark(log: Log, nowMs: number, roundedMs: number): void {
  const last = log.times.length - 1;
  const lastTime = log.times[last];
  log.total += 1;
  if (lastTime !== undefined && nowMs <= lastTime) {
    log.counts[last] = (log.counts[last] ?? 0) + 1;
    return;
  }
  // Rounded up, never down: a mark may leave the window late, never early.
  log.times.push(roundedMs === 0 ? nowMs : (Math.floor(nowMs / roundedMs) + 1) * roundedMs);
  log.counts.push(1);
}

function sharedKey(key: string): string {
  return `\0${Bun.hash.crc32(key) % SHARED_KEYS}`;
}
