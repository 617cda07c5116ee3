import { expect, test } from 'bun:test';
import { compareServer } from '../../../bot/feeds/server-feed.ts';

const NOW = new Date('2026-11-21T12:00:00Z');
const minutesAgo = (minutes: number) => new Date(NOW.getTime() - minutes * 60_000);
/** A server with enough players whose last `players` message was at this time. */
const compare = (calledAt: Date | null) =>
  compareServer(
    { serverId: 1, isOnline: true, hasPlayers: false, calledAt, pending: null, pendingSince: null },
    { id: 1, isOnline: true, playersCount: 10, updatedAt: NOW } as Parameters<typeof compareServer>[1],
    { playersAtLeast: 10, now: NOW },
  )?.pending;

test('players are announced at most once an hour', () => {
  expect([null, minutesAgo(59), minutesAgo(60)].map(compare)).toEqual(['players', undefined, 'players']);
});

test('a message of a time when the clock was ahead delays no other', () => {
  expect(compare(minutesAgo(-3000))).toBe('players');
});
