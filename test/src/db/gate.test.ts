import { expect, test } from 'bun:test';
import { createGate } from '../../../src/db/gate.ts';
import { Unavailable } from '../../../src/errors.ts';

const never = () => new Promise<never>(() => {});

test('gives what the work gives, or throws what it throws', async () => {
  const gate = createGate({ limitMs: 1000, maxWaiting: 1 });
  expect(await gate(async () => 7)).toBe(7);
  expect(
    gate(async () => {
      throw new RangeError('no');
    }),
  ).rejects.toThrow(RangeError);
});

test('work that hangs is Unavailable after the limit', async () => {
  const gate = createGate({ limitMs: 30, maxWaiting: 10 });
  const begunAt = performance.now();
  expect(await gate(never).catch((error) => error)).toBeInstanceOf(Unavailable);
  expect(performance.now() - begunAt).toBeWithin(25, 1000);
});

test('past the number that may wait, work is refused at once and never begun', async () => {
  const gate = createGate({ limitMs: 30, maxWaiting: 2 });
  await Promise.allSettled([gate(never), gate(never)]);
  let hasBegun = false;
  const begin = async () => {
    hasBegun = true;
  };
  expect(gate(begin)).rejects.toThrow(Unavailable);
  expect(hasBegun).toBe(false);
});

test('opens again when what hung has settled, however it ended', async () => {
  const gate = createGate({ limitMs: 20, maxWaiting: 2 });
  const first = Promise.withResolvers<void>();
  const second = Promise.withResolvers<void>();
  await Promise.allSettled([gate(() => first.promise), gate(() => second.promise)]);
  first.resolve();
  second.reject(new Error('lost'));
  await second.promise.catch(() => {});
  await Bun.sleep(0);
  expect(await gate(async () => 'again')).toBe('again');
});
