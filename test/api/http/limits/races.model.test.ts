import { afterAll, describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import pino from 'pino';
import { createMemoryRateLimiter, type RateLimitVerdict } from '../../../../api/http/limits/rate-limiter.ts';
import { openRedisLimits } from '../../../../api/http/limits/redis-limits.ts';
import { findTestRedis } from '../../../support/database/redis.ts';
import { RUNS, tryHistories } from '../../../support/model.ts';

const WINDOW_MS = 60_000;
const KEYS = ['a', 'b'] as const;
const limit = fc.integer({ min: 1, max: 4 });

/** Only the requests allowed in the window before a moment count; the window is half open, to the millisecond. */
function createModel(most: number) {
  const allowed = new Map<string, number[]>();
  return (key: string, nowMs: number) => {
    const counted = (allowed.get(key) ?? []).filter((at) => at > nowMs - WINDOW_MS && at <= nowMs);
    const isAllowed = counted.length < most;
    allowed.set(key, isAllowed ? [...counted, nowMs] : counted);
    return { isAllowed, limit: most, remaining: most - counted.length - (isAllowed ? 1 : 0) };
  };
}

const moment = fc.oneof(fc.constantFrom(0, 1, 30_000, 59_999, 60_000, 60_001, 130_000), fc.nat(WINDOW_MS));

test('in memory each request is judged as the model judges it, in whichever order requests are let in', () =>
  tryHistories(
    'rate limiter in memory',
    fc.record({
      most: limit,
      requests: fc.array(fc.record({ key: fc.constantFrom(...KEYS), afterMs: moment }), { maxLength: 30 }),
      scheduler: fc.scheduler(),
    }),
    async ({ most, requests, scheduler }) => {
      let nowMs = 1_000_000;
      const limiter = createMemoryRateLimiter(most, { clockMs: () => nowMs });
      const judge = createModel(most);
      // Time passes between two requests, whichever of them comes first.
      const taken = requests.map(({ key, afterMs }) =>
        scheduler.schedule(Promise.resolve(), `${key} after ${afterMs} ms`).then(async () => {
          nowMs += afterMs;
          const verdict = limiter.take(key);
          expect(verdict).toMatchObject(judge(key, nowMs));
          const { isAllowed, resetSeconds } = await verdict;
          // A client that waits as long as it was told to is let through.
          if (!isAllowed) expect(resetSeconds).toBeWithin(1, WINDOW_MS / 1000 + 1);
        }),
      );
      await scheduler.waitFor(Promise.all(taken));
    },
    { runs: 5 * RUNS },
  ));

const url = await findTestRedis();
const lines: string[] = [];
const log = pino({}, { write: (line: string) => lines.push(line) });
const processes = url === undefined ? [] : [1, 2, 3].map(() => openRedisLimits({ url, log }));
/** Redis was late, as happens on a busy machine, so a process counted by itself. */
const wasAlone = (since: number) => {
  const count = (text: string) => lines.filter((line) => line.includes(text)).length;
  return lines.length > since || count('unreachable') > count('Redis is back');
};
afterAll(() => {
  for (const limits of processes) limits.close();
});
let lastHistory = 0;

describe.skipIf(url === undefined)('over Redis', () => {
  test('several processes together let through what the limit allows, whichever command comes first', async () => {
    const run = crypto.randomUUID();
    await tryHistories(
      'rate limiter over Redis',
      fc.record({
        most: limit,
        requests: fc.array(fc.record({ process: fc.nat({ max: 2 }), key: fc.constantFrom(...KEYS) }), {
          maxLength: 20,
        }),
        scheduler: fc.scheduler(),
      }),
      async ({ most, requests, scheduler }) => {
        lastHistory += 1;
        const since = lines.length;
        const limiters = processes.map((limits) => limits.createLimiter(`${run} ${lastHistory}`, most));
        const verdicts: { key: string; verdict: RateLimitVerdict }[] = [];
        const asked = requests.map(async ({ process, key }) => {
          await scheduler.schedule(Promise.resolve(), `process ${process} asks for ${key}`);
          const verdict = await limiters[process]?.take(key);
          if (!verdict) throw new Error('there are three processes');
          await scheduler.schedule(Promise.resolve(), `process ${process} is told of ${key}`);
          verdicts.push({ key, verdict });
        });
        await scheduler.waitFor(Promise.all(asked));
        fc.pre(!wasAlone(since));
        for (const key of KEYS) {
          const own = verdicts.filter((one) => one.key === key).map((one) => one.verdict);
          const expected = Math.min(own.length, most);
          const remaining = own.filter(({ isAllowed }) => isAllowed).map((one) => one.remaining);
          expect(remaining.sort((a, b) => b - a)).toEqual(
            Array.from({ length: expected }, (_, i) => most - 1 - i),
          );
        }
      },
      { runs: 5 * RUNS },
    );
  });
});
