import { expect, setSystemTime, test } from 'bun:test';
import { createCooldown } from '../../../bot/interactions/cooldown.ts';

let nowMs = 0;
const clockMs = () => nowMs;

test('allows each user a burst, then one command per refill', () => {
  const cooldown = createCooldown({ burst: 2, refillMs: 1000, clockMs });
  const take = (userId: string, atMs: number) => {
    nowMs = atMs;
    return cooldown.take(userId);
  };
  expect(take('a', 0)).toBeUndefined();
  expect(take('a', 0)).toBeUndefined();
  expect(take('a', 0)).toEqual({ retryInMs: 1000 });
  expect(take('b', 0)).toBeUndefined();
  expect(take('a', 999)).toEqual({ retryInMs: 1 });
  expect(take('a', 1000)).toBeUndefined();
  expect(take('a', 1000)).toEqual({ retryInMs: 1000 });
  expect(take('a', 10_000)).toBeUndefined();
  expect(take('a', 10_000)).toBeUndefined();
  expect(take('a', 10_000)).toBeDefined();
});

test('allows the first command at every fraction of a millisecond', () => {
  const cooldown = createCooldown({ burst: 1, refillMs: 2000, clockMs });
  const refused: number[] = [];
  for (let user = 0; user < 1000; user++) {
    nowMs = 1000 + user * 1.0123;
    if (cooldown.take(`user ${user}`)) refused.push(nowMs);
  }
  expect(refused).toEqual([]);
});

test('remembers 5000 users, and forgets the one seen least recently', () => {
  nowMs = 0;
  const cooldown = createCooldown({ burst: 1, refillMs: 60_000, clockMs });
  for (let user = 0; user < 5000; user++) cooldown.take(`user ${user}`);
  nowMs = 1;
  expect(cooldown.take('user 0')).toEqual({ retryInMs: 59_999 });
  expect(cooldown.take('one more')).toBeUndefined();
  expect(cooldown.take('user 0')).toEqual({ retryInMs: 59_999 });
  expect(cooldown.take('user 1')).toBeUndefined();
});

test('a system clock that ran an hour ahead and was set back holds nobody up', () => {
  const cooldown = createCooldown({ burst: 1, refillMs: 2000 });
  try {
    setSystemTime(new Date(Date.now() + 3_600_000));
    cooldown.take('a');
    setSystemTime();
    expect(cooldown.take('a')?.retryInMs).toBeLessThanOrEqual(2000);
  } finally {
    setSystemTime();
  }
});
