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

test('remembers 5000 users, and forgets the one seen least recently', () => {
  const cooldown = createCooldown({ burst: 1, refillMs: 60_000 });
  for (let user = 0; user < 5000; user++) cooldown.take(`user ${user}`, 0);
  expect(cooldown.take('user 0', 1)).toEqual({ retryAtMs: 60_000 });
  expect(cooldown.take('one more', 1)).toBeUndefined();
  expect(cooldown.take('user 0', 1)).toEqual({ retryAtMs: 60_000 });
  expect(cooldown.take('user 1', 1)).toBeUndefined();
});
