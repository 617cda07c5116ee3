import { describe, expect, setSystemTime, test } from 'bun:test';
import {
  createMemoryRateLimiter,
  type RateLimiter,
  roundingOf,
} from '../../../../api/http/limits/rate-limiter.ts';

const WINDOW_MS = 60_000;
const BEGIN_MS = Date.UTC(2026, 10, 21, 10);

/** A limiter in memory, by a clock that each request sets. */
function createLimiter(limit: number, options: { maxKeys?: number } = {}) {
  let nowMs = BEGIN_MS;
  const limiter = createMemoryRateLimiter({ ...options, clockMs: () => nowMs });
  const at = (decide: RateLimiter['take']) => (key: string, atMs: number) => {
    nowMs = atMs;
    const decision = decide(key, limit);
    if (decision instanceof Promise) throw new Error('a limiter in memory answers at once');
    return decision;
  };
  return { take: at(limiter.take), check: at(limiter.check) };
}

/** A random number generator that gives the same numbers in each run. */
function randomNumbers(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 1_664_525 + 1_013_904_223) % 2 ** 32;
    return state / 2 ** 32;
  };
}

/** Moments in ms at which requests come: bursts, pauses, the same moment many times. */
function moments(count: number, seed: number): number[] {
  const random = randomNumbers(seed);
  const found: number[] = [];
  let at = BEGIN_MS;
  for (let i = 0; i < count; i++) {
    const kind = random();
    if (kind > 0.995) at += Math.floor(random() * 130_000);
    else if (kind > 0.6) at += Math.floor(random() * 3000);
    found.push(at);
  }
  return found;
}

/** The most requests let through in any window, half open as windows are. */
function maxInWindow(allowed: readonly number[]): number {
  let most = 0;
  let first = 0;
  for (let last = 0; last < allowed.length; last++) {
    while ((allowed[last] ?? 0) - (allowed[first] ?? 0) >= WINDOW_MS) first += 1;
    most = Math.max(most, last - first + 1);
  }
  return most;
}

describe('the limit', () => {
  test('lets exactly that many requests through at one moment, and tells how many are left', () => {
    const limiter = createLimiter(3);
    expect([1, 2, 3, 4, 5].map(() => limiter.take('a', BEGIN_MS))).toEqual([
      { isAllowed: true, limit: 3, remaining: 2, resetSeconds: 60 },
      { isAllowed: true, limit: 3, remaining: 1, resetSeconds: 60 },
      { isAllowed: true, limit: 3, remaining: 0, resetSeconds: 60 },
      { isAllowed: false, limit: 3, remaining: 0, resetSeconds: 60 },
      { isAllowed: false, limit: 3, remaining: 0, resetSeconds: 60 },
    ]);
  });

  test('the limit can be checked without counting a request', () => {
    const limiter = createLimiter(1);
    for (let turn = 0; turn < 3; turn++)
      expect(limiter.check('a', BEGIN_MS)).toMatchObject({ isAllowed: true, remaining: 1 });
    limiter.take('a', BEGIN_MS);
    expect(limiter.check('a', BEGIN_MS)).toMatchObject({ isAllowed: false, remaining: 0, resetSeconds: 60 });
  });

  for (const limit of [1, 2, 30, 60, 64]) {
    test(`a limit of ${limit} is exact: a request is refused if and only if ${limit} came in the 60 s before`, () => {
      const limiter = createLimiter(limit);
      const allowed: number[] = [];
      for (const at of moments(20_000, limit)) {
        const inWindow = allowed.filter((earlier) => at - earlier < WINDOW_MS).length;
        const decision = limiter.take('a', at);
        expect([at, decision.isAllowed]).toEqual([at, inWindow < limit]);
        if (decision.isAllowed) allowed.push(at);
        if (allowed.length > 500) allowed.splice(0, 300);
        expect(decision.remaining).toBe(limit - inWindow - (decision.isAllowed ? 1 : 0));
      }
    });
  }

  for (const limit of [65, 100, 5000]) {
    test(`a limit of ${limit}, above which times are rounded up, is never exceeded, and is available again within a second of the window's end`, () => {
      const limiter = createLimiter(limit);
      const allowed = moments(60_000, limit).filter((at) => limiter.take('a', at).isAllowed);
      expect(maxInWindow(allowed)).toBeLessThanOrEqual(limit);

      const burst = createLimiter(limit);
      const letThrough = (at: number) =>
        Array.from({ length: limit + 10 }, () => burst.take('a', at).isAllowed).filter(Boolean).length;
      expect(letThrough(BEGIN_MS)).toBe(limit);
      expect(letThrough(BEGIN_MS + 59_999)).toBe(0);
      expect(letThrough(BEGIN_MS + 61_000)).toBe(limit);
    });
  }

  test('up to 64 is kept to the millisecond, above that in sixtieths of the window', () => {
    expect([1, 64, 65, 5000].map((limit) => roundingOf(limit))).toEqual([0, 0, 1000, 1000]);
    expect(roundingOf(65, 30_000)).toBe(500);
  });

  test('says how long to wait: a request that waits so long is let through', () => {
    for (const limit of [1, 2, 30, 100, 5000]) {
      for (let seed = 0; seed < 20; seed++) {
        const limiter = createLimiter(limit);
        // The higher the limit, the closer together the requests.
        const dense = moments(20_000, seed).map((at) => Math.floor(BEGIN_MS + (at - BEGIN_MS) / limit));
        const refusedAt = dense.find((at) => !limiter.take('a', at).isAllowed);
        if (refusedAt === undefined) throw new Error('nothing was refused');
        const { resetSeconds } = limiter.take('a', refusedAt);
        expect(resetSeconds).toBeWithin(1, 62);
        expect(limiter.take('a', refusedAt + resetSeconds * 1000).isAllowed).toBe(true);
      }
    }
  });

  test('above 64 a request at the end of a sixtieth leaves with it', () => {
    const limiter = createLimiter(65);
    limiter.take('a', BEGIN_MS);
    limiter.take('a', BEGIN_MS + 1000);
    expect(limiter.take('a', BEGIN_MS + 61_000).remaining).toBe(64);
  });

  test('goes by a monotonic clock: the system clock plays no part', () => {
    const limiter = createMemoryRateLimiter();
    try {
      setSystemTime(new Date(Date.now() + 3_600_000));
      limiter.take('a', 1);
      setSystemTime();
      expect(limiter.take('a', 1)).toMatchObject({ isAllowed: false, resetSeconds: 60 });
    } finally {
      setSystemTime();
    }
  });
});

describe('memory', () => {
  test('a million addresses in a minute cost some tens of megabytes', () => {
    const limiter = createLimiter(30);
    Bun.gc(true);
    const before = process.memoryUsage().heapUsed;
    for (let i = 0; i < 1_000_000; i++) limiter.take(`2001:db8:${i}/64`, BEGIN_MS + i / 20);
    Bun.gc(true);
    const grownMb = (process.memoryUsage().heapUsed - before) / 1024 / 1024;
    expect(grownMb).toBeLessThan(100);
  });

  test('the log of a high limit stays short, however many requests it lets through', () => {
    const limiter = createLimiter(400_000);
    Bun.gc(true);
    const before = process.memoryUsage().heapUsed;
    for (let i = 0; i < 300_000; i++) limiter.take('a', BEGIN_MS + i / 6);
    Bun.gc(true);
    expect((process.memoryUsage().heapUsed - before) / 1024 / 1024).toBeLessThan(1.5);
    expect(limiter.take('a', BEGIN_MS + 50_000).remaining).toBe(99_999);
  });

  test('keys that are idle are forgotten within two windows', () => {
    const limiter = createLimiter(30);
    Bun.gc(true);
    const before = process.memoryUsage().heapUsed;
    for (let i = 0; i < 99_000; i++) limiter.take(`old ${i}`, BEGIN_MS);
    limiter.take('new', BEGIN_MS + 2 * WINDOW_MS);
    Bun.gc(true);
    expect((process.memoryUsage().heapUsed - before) / 1024 / 1024).toBeLessThan(1.5);
  });

  test('a request just before a generation of logs ends still counts after it', () => {
    const limiter = createLimiter(1);
    limiter.take('first', BEGIN_MS);
    limiter.take('a', BEGIN_MS + 59_999);
    expect(limiter.take('a', BEGIN_MS + 60_001).isAllowed).toBe(false);
    expect(limiter.take('a', BEGIN_MS + 119_998).isAllowed).toBe(false);
    expect(limiter.take('a', BEGIN_MS + 119_999).isAllowed).toBe(true);
  });

  test('remembers the newest keys when more come than fit', () => {
    const limiter = createLimiter(1, { maxKeys: 2 });
    for (const key of ['a', 'b', 'c', 'b', 'd']) limiter.take(key, BEGIN_MS);
    const isAllowed = (key: string) => limiter.check(key, BEGIN_MS + 59_999).isAllowed;
    expect(['b', 'd', 'a'].map(isAllowed)).toEqual([false, false, true]);
  });
});
