import { expect, test } from 'bun:test';
import { createCooldown } from '../../bot/cooldown.ts';

test('gives a burst, then one turn each refill, by user', () => {
  const cooldown = createCooldown({ burst: 2, refillMs: 1000 });
  expect(cooldown.take('a', 0)).toBeUndefined();
  expect(cooldown.take('a', 0)).toBeUndefined();
  expect(cooldown.take('a', 0)).toEqual({ retryAtMs: 1000 });
  expect(cooldown.take('b', 0)).toBeUndefined();
  expect(cooldown.take('a', 999)).toEqual({ retryAtMs: 1000 });
  expect(cooldown.take('a', 1000)).toBeUndefined();
  expect(cooldown.take('a', 1000)).toEqual({ retryAtMs: 2000 });
  expect(cooldown.take('a', 10_000)).toBeUndefined();
  expect(cooldown.take('a', 10_000)).toBeUndefined();
  expect(cooldown.take('a', 10_000)).toBeDefined();
});
