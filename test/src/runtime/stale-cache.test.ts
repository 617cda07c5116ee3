import { expect, test } from 'bun:test';
import { createStaleCache } from '../../../src/runtime/stale-cache.ts';

let nowMs = 0;
const passTo = (seconds: number) => {
  // A clock that has run for a while: lru-cache takes the time 0 for none.
  nowMs = 1 + seconds * 1000;
};

function open() {
  passTo(0);
  return createStaleCache<number>({
    freshMs: 30_000,
    staleMs: 900_000,
    maxEntries: 2,
    clockMs: () => nowMs,
  });
}

const fail = async () => {
  throw new Error('away');
};

test('a value is reused while it is fresh, then loaded again', async () => {
  const cache = open();
  expect(await cache.get('a', async () => 1)).toBe(1);
  passTo(29);
  expect(await cache.get('a', async () => 2)).toBe(1);
  passTo(30.001);
  expect(await cache.get('a', async () => 3)).toBe(3);
});

test('simultaneous requests load once', async () => {
  const cache = open();
  let loads = 0;
  const load = async () => {
    loads += 1;
    return loads;
  };
  expect(await Promise.all([cache.get('a', load), cache.get('a', load), cache.get('a', load)])).toEqual([
    1, 1, 1,
  ]);
});

test('uses the last value for a quarter of an hour while loading fails', async () => {
  const cache = open();
  await cache.get('a', async () => 1);
  passTo(899);
  expect(await cache.get('a', fail)).toBe(1);
  passTo(900);
  expect(cache.get('a', fail)).rejects.toThrow('away');
});

test('a failure is not cached', async () => {
  const cache = open();
  expect(cache.get('a', fail)).rejects.toThrow('away');
  await Promise.resolve();
  expect(await cache.get('a', async () => 1)).toBe(1);
});

test('drops the oldest entry beyond its size', async () => {
  const cache = open();
  for (const key of ['a', 'b', 'c']) await cache.get(key, async () => 1);
  expect(await cache.get('c', async () => 2)).toBe(1);
  expect(await cache.get('a', async () => 2)).toBe(2);
});
