import { expect, test } from 'bun:test';
import { backoffMs } from '../../../src/runtime/backoff.ts';
import { TimeLimitExceeded, withTimeLimit } from '../../../src/runtime/time-limit.ts';

test('pauses double after each failure, up to the longest', () => {
  const options = { firstMs: 1000, maxMs: 5000 };
  expect([1, 2, 3, 4, 1000].map((failures) => backoffMs(failures, options))).toEqual([
    1000, 2000, 4000, 5000, 5000,
  ]);
});

/** Settles in the turn of the event loop after this process computed for twice the limit of 50 ms. */
function settleAfterBusyLoop(ticks: number): Promise<unknown> {
  const work = withTimeLimit(Bun.sleep(60), 50, { ticks }).catch((error: unknown) => error);
  const untilMs = performance.now() + 100;
  while (performance.now() < untilMs);
  return work;
}

test('a late event loop counts as one of several ticks', async () => {
  expect(await settleAfterBusyLoop(1)).toBeInstanceOf(TimeLimitExceeded);
  expect(await settleAfterBusyLoop(5)).toBeUndefined();
});

test('work that takes longer than all ticks is given up', async () => {
  const work = withTimeLimit(new Promise(() => {}), 50, { ticks: 5 });
  expect(await work.catch((error: unknown) => error)).toBeInstanceOf(TimeLimitExceeded);
});
