import { describe, expect, test } from 'bun:test';
import type { RateLimiter } from '../../../../api/http/limits/rate-limiter.ts';
import { BEGIN_MS, check, createLimiter, take, WINDOW_MS } from '../../../support/http/limiter.ts';

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
