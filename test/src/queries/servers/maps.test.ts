import { expect, test } from 'bun:test';
import { asc } from 'drizzle-orm';
import { serverMapPeriods } from '../../../../src/db/schema/servers.ts';
import { saveServerPolls } from '../../../../src/queries/servers/polls.ts';
import { listPlayedMaps, thinServerSamples } from '../../../../src/queries/servers/samples.ts';
import { insertServer } from '../../../support/database/builders.ts';
import { createTestDatabase } from '../../../support/database/database.ts';

const { db } = await createTestDatabase();
const START = new Date('2026-11-20T10:00:00Z').getTime();
const at = (minute: number) => new Date(START + minute * 60_000);

/** Polls a server of its own: a map each minute, undefined for a poll without an answer. */
async function play(maps: readonly (string | undefined)[], stepMinutes = 1) {
  const { id } = await insertServer(db);
  for (const [index, map] of maps.entries()) {
    const state = { hostname: 'x', map: map ?? '', playersCount: 1, maxPlayers: 10, pingMs: 5, players: [] };
    const polledAt = at(index * stepMinutes);
    await saveServerPolls(db, [{ serverId: id, state: map === undefined ? undefined : state, polledAt }]);
  }
  const periods = (await db.select().from(serverMapPeriods).orderBy(asc(serverMapPeriods.startedAt)))
    .filter(({ serverId }) => serverId === id)
    .map(({ map, startedAt, endedAt }) => [
      map,
      (startedAt.getTime() - START) / 60_000,
      (endedAt.getTime() - START) / 60_000,
    ]);
  return { id, periods };
}

test('a period lasts while the polls in a row tell of the same map', async () => {
  const { periods } = await play(['de_nuke', 'de_nuke', 'de_nuke', 'de_mirage', 'de_mirage', 'de_nuke']);
  expect(periods).toEqual([
    ['de_nuke', 0, 2],
    ['de_mirage', 3, 4],
    ['de_nuke', 5, 5],
  ]);
});

test('one missed poll interrupts nothing, an outage does', async () => {
  const { periods } = await play(['a', undefined, 'a', undefined, undefined, 'a', 'a']);
  expect(periods).toEqual([
    ['a', 0, 2],
    ['a', 5, 6],
  ]);
});

test('polls an hour apart belong together, those of a service that was off for long do not', async () => {
  expect((await play(['a', 'a', 'a'], 60)).periods).toEqual([['a', 0, 120]]);
  expect((await play(['a', 'a'], 180)).periods).toEqual([
    ['a', 0, 0],
    ['a', 180, 180],
  ]);
});

test('a server that tells no map has no period', async () => {
  expect((await play(['', ''])).periods).toEqual([]);
});

test('the maps of a stretch of time are listed by how long they were on, what lies outside of it left out', async () => {
  const { id } = await play(['a', 'a', 'a', 'a', 'b', 'b', 'b', 'b', 'b', 'b', 'a', 'a']);
  expect(await listPlayedMaps(db, id, { since: at(-60), until: at(60), limit: 2 })).toEqual({
    maps: [
      { map: 'b', seconds: 300, times: 1 },
      { map: 'a', seconds: 240, times: 2 },
    ],
    others: 0,
  });
  expect(await listPlayedMaps(db, id, { since: at(2), until: at(6), limit: 1 })).toEqual({
    maps: [{ map: 'b', seconds: 120, times: 1 }],
    others: 1,
  });
});

test('periods are dropped a year after they ended', async () => {
  const { id: serverId } = await insertServer(db);
  const daysAgo = (days: number) => new Date(Date.now() - days * 86_400_000);
  const period = (map: string, days: number) => ({
    serverId,
    map,
    startedAt: daysAgo(days + 1),
    endedAt: daysAgo(days),
  });
  await db.insert(serverMapPeriods).values([period('old', 366), period('new', 364.5)]);
  await thinServerSamples(db);
  const left = await listPlayedMaps(db, serverId, { since: daysAgo(400), until: daysAgo(0), limit: 10 });
  expect(left.maps.map(({ map }) => map)).toEqual(['new']);
});

test('a clock that was ahead and is corrected interrupts no later period', async () => {
  const { id } = await insertServer(db);
  const nowMs = Date.now();
  const at = (minute: number) => new Date(nowMs + minute * 60_000);
  const poll = (minute: number, map: string) => {
    const state = { hostname: 'x', map, playersCount: 1, maxPlayers: 10, pingMs: 5, players: [] };
    return saveServerPolls(db, [{ serverId: id, state, polledAt: at(minute) }]);
  };
  for (const minute of [120, 121]) await poll(minute, 'a');
  for (const minute of [0, 1, 2]) await poll(minute, 'a');
  for (const minute of [3, 4]) await poll(minute, 'b');
  const { maps } = await listPlayedMaps(db, id, { since: at(0), until: at(10), limit: 10 });
  expect(maps.map(({ map, seconds }) => [map, seconds])).toEqual([
    ['a', 120],
    ['b', 60],
  ]);
});
