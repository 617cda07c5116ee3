import { expect, test } from 'bun:test';
import { createWaitLimit } from '../../../../src/db/connection/wait-limit.ts';
import { Unavailable } from '../../../../src/domain/errors.ts';

const never = () => new Promise<never>(() => {});

test('gives what the work gives, or throws what it throws', async () => {
  const limit = createWaitLimit({ limitMs: 1000, maxWaiting: 1 });
  expect(await limit(async () => 7)).toBe(7);
  expect(
    limit(async () => {
      throw new RangeError('no');
    }),
  ).rejects.toThrow(RangeError);
});

test('work that hangs is Unavailable after the limit', async () => {
  const limit = createWaitLimit({ limitMs: 30, maxWaiting: 10 });
  expect(await limit(never).catch((error) => error)).toBeInstanceOf(Unavailable);
});

test('past the number that may wait, work is refused at once and never begun', async () => {
  const limit = createWaitLimit({ limitMs: 30, maxWaiting: 2 });
  await Promise.allSettled([limit(never), limit(never)]);
  let hasBegun = false;
  const begin = async () => {
    hasBegun = true;
  };
  expect(limit(begin)).rejects.toThrow(Unavailable);
  expect(hasBegun).toBe(false);
});

test('opens again when what hung has settled, however it ended', async () => {
  const limit = createWaitLimit({ limitMs: 20, maxWaiting: 2 });
  const first = Promise.withResolvers<void>();
  const second = Promise.withResolvers<void>();
  await Promise.allSettled([limit(() => first.promise), limit(() => second.promise)]);
  first.resolve();
  second.reject(new Error('lost'));
  await second.promise.catch(() => {});
  await Bun.sleep(0);
  expect(await limit(async () => 'again')).toBe('again');
});
