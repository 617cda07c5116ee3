import { describe, expect, setSystemTime, test } from 'bun:test';
import {
  createMemoryRateLimiter,
  type RateLimiter,
  type RateLimitVerdict,
  roundingOf,
} from '../../../../api/http/limits/rate-limiter.ts';

const WINDOW_MS = 60_000;
const BEGIN_MS = Date.UTC(2026, 10, 21, 10);

let nowMs = BEGIN_MS;

/** A limiter in memory, by the clock that {@link take} and {@link check} set. */
function createLimiter(limit: number, options: { maxKeys?: number } = {}): RateLimiter {
  return createMemoryRateLimiter(limit, { ...options, clockMs: () => nowMs });
}

function take(limiter: RateLimiter, key: string, atMs: number): RateLimitVerdict {
  nowMs = atMs;
  return atOnce(limiter.take(key));
}

function check(limiter: RateLimiter, key: string, atMs: number): RateLimitVerdict {
  nowMs = atMs;
  return atOnce(limiter.check(key));
}

function atOnce(verdict: RateLimitVerdict | Promise<RateLimitVerdict>): RateLimitVerdict {
  if (verdict instanceof Promise) throw new Error('a limiter in memory answers at once');
  return verdict;
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
    expect([1, 2, 3, 4, 5].map(() => take(limiter, 'a', BEGIN_MS))).toEqual([
      { isAllowed: true, limit: 3, remaining: 2, resetSeconds: 60 },
      { isAllowed: true, limit: 3, remaining: 1, resetSeconds: 60 },
      { isAllowed: true, limit: 3, remaining: 0, resetSeconds: 60 },
      { isAllowed: false, limit: 3, remaining: 0, resetSeconds: 60 },
      { isAllowed: false, limit: 3, remaining: 0, resetSeconds: 60 },
    ]);
  });

  test('can be checked without counting a request', () => {
    const limiter = createLimiter(1);
    for (let turn = 0; turn < 3; turn++)
      expect(check(limiter, 'a', BEGIN_MS)).toMatchObject({ isAllowed: true, remaining: 1 });
    take(limiter, 'a', BEGIN_MS);
    expect(check(limiter, 'a', BEGIN_MS)).toMatchObject({ isAllowed: false, remaining: 0, resetSeconds: 60 });
  });

  for (const limit of [1, 2, 30, 60, 64]) {
    test(`of ${limit} is exact: a request is refused if and only if ${limit} came in the 60 s before`, () => {
      const limiter = createLimiter(limit);
      const allowed: number[] = [];
      for (const at of moments(20_000, limit)) {
        const inWindow = allowed.filter((earlier) => at - earlier < WINDOW_MS).length;
        const verdict = take(limiter, 'a', at);
        expect([at, verdict.isAllowed]).toEqual([at, inWindow < limit]);
        if (verdict.isAllowed) allowed.push(at);
        if (allowed.length > 500) allowed.splice(0, 300);
        expect(verdict.remaining).toBe(limit - inWindow - (verdict.isAllowed ? 1 : 0));
      }
    });
  }

  for (const limit of [65, 100, 5000]) {
    test(`of ${limit}, above which times are rounded up, is never exceeded, and is available again within a second of the window's end`, () => {
      const limiter = createLimiter(limit);
      const allowed = moments(60_000, limit).filter((at) => take(limiter, 'a', at).isAllowed);
      expect(maxInWindow(allowed)).toBeLessThanOrEqual(limit);

      const burst = createLimiter(limit);
      const letThrough = (at: number) =>
        Array.from({ length: limit + 10 }, () => take(burst, 'a', at).isAllowed).filter(Boolean).length;
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
        const refusedAt = dense.find((at) => !take(limiter, 'a', at).isAllowed);
        if (refusedAt === undefined) throw new Error('nothing was refused');
        const { resetSeconds } = take(limiter, 'a', refusedAt);
        expect(resetSeconds).toBeWithin(1, 62);
        expect(take(limiter, 'a', refusedAt + resetSeconds * 1000).isAllowed).toBe(true);
      }
    }
  });

  test('above 64 a request at the end of a sixtieth leaves with it', () => {
    const limiter = createLimiter(65);
    take(limiter, 'a', BEGIN_MS);
    take(limiter, 'a', BEGIN_MS + 1000);
    expect(take(limiter, 'a', BEGIN_MS + 61_000).remaining).toBe(64);
  });

  for (const limit of [2, 100]) {
    test(`of ${limit} drops marks that lie ahead: after a clock that was an hour ahead nobody waits an hour`, () => {
      const limiter = createLimiter(limit);
      const hourAhead = BEGIN_MS + 3_600_000;
      for (let i = 0; i < limit; i++) take(limiter, 'a', hourAhead);
      expect(take(limiter, 'a', hourAhead).isAllowed).toBe(false);
      expect(take(limiter, 'a', BEGIN_MS)).toMatchObject({ isAllowed: true, remaining: limit - 1 });
      for (let i = 1; i < limit; i++) take(limiter, 'a', BEGIN_MS);
      const refused = take(limiter, 'a', BEGIN_MS);
      expect(refused.isAllowed).toBe(false);
      expect(refused.resetSeconds).toBeLessThanOrEqual(62);
      expect(take(limiter, 'a', BEGIN_MS + 62_000).isAllowed).toBe(true);
    });
  }

  test('goes by a monotonic clock: the system clock plays no part', () => {
    const limiter = createMemoryRateLimiter(1);
    try {
      setSystemTime(new Date(Date.now() + 3_600_000));
      limiter.take('a');
      setSystemTime();
      expect(limiter.take('a')).toMatchObject({ isAllowed: false, resetSeconds: 60 });
    } finally {
      setSystemTime();
    }
  });
});

describe('memory', () => {
  test('a million addresses in a minute cost some tens of megabytes, and each is still limited', () => {
    const limiter = createLimiter(30);
    Bun.gc(true);
    const before = process.memoryUsage().heapUsed;
    let allowed = 0;
    for (let i = 0; i < 1_000_000; i++) {
      if (take(limiter, `2001:db8:${i}/64`, BEGIN_MS + i / 20).isAllowed) allowed += 1;
    }
    Bun.gc(true);
    const grownMb = (process.memoryUsage().heapUsed - before) / 1024 / 1024;
    expect(grownMb).toBeLessThan(100);
    // 100,000 of their own, and 8,192 shared ones at 30 each.
    expect(allowed).toBeLessThanOrEqual(100_000 + 8192 * 30);
  });

  test('the log of a high limit stays short, however many requests it lets through', () => {
    const limiter = createLimiter(400_000);
    Bun.gc(true);
    const before = process.memoryUsage().heapUsed;
    for (let i = 0; i < 300_000; i++) take(limiter, 'a', BEGIN_MS + i / 6);
    Bun.gc(true);
    expect((process.memoryUsage().heapUsed - before) / 1024 / 1024).toBeLessThan(1.5);
    expect(take(limiter, 'a', BEGIN_MS + 50_000).remaining).toBe(99_999);
  });

  test('idle keys are forgotten within two windows', () => {
    const limiter = createLimiter(30, { maxKeys: 10 });
    for (let i = 0; i < 10; i++) take(limiter, `old ${i}`, BEGIN_MS);
    const later = BEGIN_MS + 2 * WINDOW_MS + 1;
    // There is room again: each of ten new keys has its whole limit.
    for (let i = 0; i < 10; i++) expect(take(limiter, `new ${i}`, later).remaining).toBe(29);
  });

  test('a request just before logs are turned over still counts after', () => {
    const limiter = createLimiter(1);
    take(limiter, 'first', BEGIN_MS);
    take(limiter, 'a', BEGIN_MS + 59_999);
    expect(take(limiter, 'a', BEGIN_MS + 60_001).isAllowed).toBe(false);
    expect(take(limiter, 'a', BEGIN_MS + 119_998).isAllowed).toBe(false);
    expect(take(limiter, 'a', BEGIN_MS + 119_999).isAllowed).toBe(true);
  });

  test('requests of several keys in the millisecond in which logs are turned over all count', () => {
    const limiter = createLimiter(1);
    for (const key of ['a', 'b', 'b']) take(limiter, key, BEGIN_MS);
    expect(take(limiter, 'a', BEGIN_MS).isAllowed).toBe(false);
  });

  test('a flood of addresses resets no limit: an address that was refused before it stays refused', () => {
    const limiter = createLimiter(2, { maxKeys: 50 });
    for (let i = 0; i < 2; i++) take(limiter, 'known', BEGIN_MS);
    for (let i = 0; i < 5000; i++) take(limiter, `flood ${i}`, BEGIN_MS + 1000);
    expect(take(limiter, 'known', BEGIN_MS + 59_000).isAllowed).toBe(false);
  });

  test('an address that comes in the middle of a flood is limited too, also when the logs are rotated', () => {
    const limiter = createLimiter(2, { maxKeys: 50 });
    for (let i = 0; i < 50; i++) take(limiter, `flood ${i}`, BEGIN_MS);
    const allowed: number[] = [];
    for (let at = BEGIN_MS + 30_000; at < BEGIN_MS + 300_000; at += 500) {
      if (take(limiter, 'late', at).isAllowed) allowed.push(at);
    }
    expect(maxInWindow(allowed)).toBe(2);
    expect(allowed.length).toBeGreaterThanOrEqual(8);
  });

  test('no key of a flood ever passes more than its limit in a window', () => {
    const limiter = createLimiter(3, { maxKeys: 20 });
    const random = randomNumbers(5);
    const allowed = new Map<string, number[]>();
    for (let i = 0, at = BEGIN_MS; i < 60_000; i++, at += Math.floor(random() * 20)) {
      const key = `k${Math.floor(random() * (i % 20_000 < 10_000 ? 2000 : 5))}`;
      if (take(limiter, key, at).isAllowed) allowed.set(key, [...(allowed.get(key) ?? []), at].slice(-200));
    }
    expect(Math.max(...[...allowed.values()].map(maxInWindow))).toBe(3);
  });
});

function areAllowed(limiter: RateLimiter, keys: readonly string[], atMs: number): boolean[] {
  return keys.map((key) => take(limiter, key, atMs).isAllowed);
}

/** Two keys that share a log where none has a log of its own: of a limit of 1 the first leaves nothing to the second. */
function findSharers(): [string, string] {
  const limiter = createLimiter(1, { maxKeys: 0 });
  take(limiter, 'one', BEGIN_MS);
  for (let i = 0; i < 200_000; i++)
    if (!check(limiter, `other ${i}`, BEGIN_MS).isAllowed) return ['one', `other ${i}`];
  throw new Error('no keys share a log');
}

describe('shared logs', () => {
  const sharers = findSharers();

  test('are for keys past the most that have their own, and for no others', () => {
    expect(areAllowed(createLimiter(1, { maxKeys: 2 }), sharers, BEGIN_MS)).toEqual([true, true]);
    const limiter = createLimiter(1, { maxKeys: 1 });
    take(limiter, 'own', BEGIN_MS);
    expect(areAllowed(limiter, [...sharers, 'in another log'], BEGIN_MS)).toEqual([true, false, true]);
  });

  // With room for one, the second of the two is let through if the first has a log of its own.
  const cases = {
    'when a window has passed, to the millisecond': { fullAt: 0, askedAt: 60_000 },
    'when the clock was an hour ahead': { fullAt: 3_600_000, askedAt: 0 },
  };
  for (const [when, { fullAt, askedAt }] of Object.entries(cases)) {
    test(`are no longer needed ${when}`, () => {
      const limiter = createLimiter(1, { maxKeys: 1 });
      take(limiter, 'own', BEGIN_MS + fullAt);
      expect(areAllowed(limiter, sharers, BEGIN_MS + askedAt)).toEqual([true, true]);
    });
  }

  test('are left by a key once none of its requests there counts, though those of others do', () => {
    for (const asked of [[], [sharers[0]]]) {
      const limiter = createLimiter(1, { maxKeys: 1 });
      areAllowed(limiter, ['own', ...asked], BEGIN_MS);
      take(limiter, 'in another log', BEGIN_MS + 50_000);
      expect(areAllowed(limiter, sharers, BEGIN_MS + 60_000)).toEqual([true, true]);
    }
  });

  test('are not left before: above 64 requests leave up to a second late', () => {
    const limiter = createLimiter(100, { maxKeys: 1 });
    take(limiter, 'own', BEGIN_MS);
    for (let i = 0; i < 100; i++) take(limiter, 'late', BEGIN_MS + 30_000);
    expect(take(limiter, 'late', BEGIN_MS + 89_500).isAllowed).toBe(false);
    expect(take(limiter, 'late', BEGIN_MS + 91_000).isAllowed).toBe(true);
  });

  test('are not for a key that had its own in the window before, however many others there are', () => {
    const limiter = createLimiter(1, { maxKeys: 2 });
    take(limiter, 'first', BEGIN_MS);
    take(limiter, 'a', BEGIN_MS + 59_000);
    areAllowed(limiter, ['b', 'c'], BEGIN_MS + 60_000);
    expect(take(limiter, 'a', BEGIN_MS + 60_000).isAllowed).toBe(false);
  });

  test('are for a key again that was idle for a whole window', () => {
    const limiter = createLimiter(1, { maxKeys: 1 });
    take(limiter, sharers[0], BEGIN_MS);
    take(limiter, 'own', BEGIN_MS + 2 * WINDOW_MS);
    expect(areAllowed(limiter, sharers, BEGIN_MS + 2 * WINDOW_MS)).toEqual([true, false]);
  });
});
