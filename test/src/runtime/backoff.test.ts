import { expect, test } from 'bun:test';
import { backoffMs } from '../../../src/runtime/backoff.ts';

test('pauses double after each failure, up to the longest', () => {
  const options = { firstMs: 1000, maxMs: 5000 };
  expect([1, 2, 3, 4, 1000].map((failures) => backoffMs(failures, options))).toEqual([
    1000, 2000, 4000, 5000, 5000,
  ]);
});
