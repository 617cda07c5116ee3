import {
  createMemoryRateLimiter,
  type RateLimiter,
  type RateLimitVerdict,
} from '../../../api/http/limits/rate-limiter.ts';

export const WINDOW_MS = 60_000;
export const BEGIN_MS = Date.UTC(2026, 10, 21, 10);

let nowMs = BEGIN_MS;

/** A limiter in memory, by the clock that {@link take} and {@link check} set. */
export function createLimiter(limit: number, options: { maxKeys?: number } = {}): RateLimiter {
  return createMemoryRateLimiter(limit, { ...options, clockMs: () => nowMs });
}

export function take(limiter: RateLimiter, key: string, atMs: number): RateLimitVerdict {
  nowMs = atMs;
  return atOnce(limiter.take(key));
}

export function check(limiter: RateLimiter, key: string, atMs: number): RateLimitVerdict {
  nowMs = atMs;
  return atOnce(limiter.check(key));
}

function atOnce(verdict: RateLimitVerdict | Promise<RateLimitVerdict>): RateLimitVerdict {
  if (verdict instanceof Promise) throw new Error('a limiter in memory answers at once');
  return verdict;
}
