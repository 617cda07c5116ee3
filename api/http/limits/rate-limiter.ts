/** The limiter's decision on one request. */
export type RateLimitDecision = {
  isAllowed: boolean;
  /** Requests allowed in any window. */
  limit: number;
  /** Requests left now, after this one. */
  remaining: number;
  /** Whole seconds, at least 1, until the oldest counted request leaves the window. */
  resetSeconds: number;
};

export type RateLimiter = {
  /** Counts a request of `key` if it is allowed. At most `limit` requests are allowed in any window. */
  take: (key: string, limit: number) => RateLimitDecision | Promise<RateLimitDecision>;
  /** The decision that {@link RateLimiter.take} would make now, without counting. */
  check: (key: string, limit: number) => RateLimitDecision | Promise<RateLimitDecision>;
};

type MemoryRateLimiterOptions = {
  /** Milliseconds by a monotonic clock: a system clock that is set back would lock clients out until it catches up. */
  clockMs?: () => number;
  /** 60 seconds by default. */
  windowMs?: number;
  /** Keys in one generation, 100,000 by default: some 25 MB. */
  maxKeys?: number;
};

const WINDOW_MS = 60_000;
/** Up to this limit the exact time of each request is kept; above it times are rounded up, which bounds the log. */
const MAX_MARKS = 64;
const MAX_KEYS = 100_000;

/** When requests came, oldest first: `times[i]` is the latest of `counts[i]` requests. */
type Log = { times: number[]; counts: number[]; total: number };

/**
 * An exact sliding log in memory. The cost of a request does not depend on the limit. Logs are dropped a generation at a
 * time: when they have been idle for a whole window, and earlier once more than 100,000 keys came after them.
 */
export function createMemoryRateLimiter({
  clockMs = () => performance.now(),
  windowMs = WINDOW_MS,
  maxKeys = MAX_KEYS,
}: MemoryRateLimiterOptions = {}): RateLimiter {
  let current = new Map<string, Log>();
  let previous = new Map<string, Log>();
  let nextGenerationAtMs = 0;

  function logOf(key: string, nowMs: number): Log {
    if (nowMs >= nextGenerationAtMs || current.size >= maxKeys) {
      // After a whole window without requests, no log holds one that still counts.
      previous = nowMs >= nextGenerationAtMs + windowMs ? new Map() : current;
      current = new Map();
      nextGenerationAtMs = nowMs + windowMs;
    }
    const log = current.get(key) ?? previous.get(key) ?? { times: [], counts: [], total: 0 };
    current.set(key, log);
    return log;
  }

  function decide(key: string, limit: number, isCounted: boolean): RateLimitDecision {
    const nowMs = clockMs();
    const log = logOf(key, nowMs);
    dropOutside(log, nowMs - windowMs);
    const isAllowed = log.total < limit;
    if (isAllowed && isCounted) mark(log, nowMs, roundingOf(limit, windowMs));
    return toDecision({
      isAllowed,
      limit,
      windowMs,
      total: log.total,
      oldestAgeMs: nowMs - (log.times[0] ?? nowMs),
    });
  }

  return { take: (key, limit) => decide(key, limit, true), check: (key, limit) => decide(key, limit, false) };
}

/** The step in milliseconds to which times are rounded up, so that a log stays small whatever the limit; 0: exact. */
export function roundingOf(limit: number, windowMs = WINDOW_MS): number {
  return limit <= MAX_MARKS ? 0 : windowMs / (MAX_MARKS - 4);
}

/**
 * Says how many requests remain, and in how many seconds one more is allowed.
 * @param oldestAgeMs how long ago the oldest counted request came; negative when it was rounded up past now.
 */
export function toDecision({
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
}): RateLimitDecision {
  const resetSeconds = Math.max(Math.ceil((windowMs - oldestAgeMs) / 1000), 1);
  return { isAllowed, limit, remaining: limit - total, resetSeconds };
}

/** Drops times that have left the window. */
function dropOutside(log: Log, untilMs: number): void {
  const firstInside = log.times.findIndex((atMs) => atMs > untilMs);
  const expired = firstInside === -1 ? log.times.length : firstInside;
  if (expired === 0) return;
  log.times.splice(0, expired);
  for (const count of log.counts.splice(0, expired)) log.total -= count;
}

function mark(log: Log, nowMs: number, roundedMs: number): void {
  const last = log.times.length - 1;
  const lastTime = log.times[last];
  log.total += 1;
  if (lastTime !== undefined && nowMs <= lastTime) {
    log.counts[last] = (log.counts[last] ?? 0) + 1;
    return;
  }
  // Rounded up, so that a request may leave the window late but never early.
  log.times.push(roundedMs === 0 ? nowMs : (Math.floor(nowMs / roundedMs) + 1) * roundedMs);
  log.counts.push(1);
}
