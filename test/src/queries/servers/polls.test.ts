import { beforeEach, describe, expect, test } from 'bun:test';
import { asc, sql } from 'drizzle-orm';
import { serverMapPeriods, serverSamples, serverSnapshots } from '../../../../src/db/schema/servers.ts';
import { saveServerPolls } from '../../../../src/queries/servers/polls.ts';
import {
  downsampleHistory,
  listPlayedMaps,
  listServerHistory,
} from '../../../../src/queries/servers/samples.ts';
import { setServerHidden } from '../../../../src/queries/servers/servers.ts';
import { aServerState, insertServer, saveServerPoll } from '../../../support/database/builders.ts';
import { createTestDatabase } from '../../../support/database/database.ts';

const { db } = await createTestDatabase();
const START = new Date('2026-11-20T10:00:00Z').getTime();
const at = (second: number) => new Date(START + second * 1000);
const atMinute = (minute: number) => at(minute * 60);
const state = (map: string) => aServerState({ map, playersCount: 1 });

async function readAll(serverId: number) {
  const of = <T extends { serverId: number }>(rows: T[]) => rows.filter((row) => row.serverId === serverId);
  return {
    snapshot: of(await db.select().from(serverSnapshots))[0],
    samples: of(await db.select().from(serverSamples).orderBy(asc(serverSamples.sampledAt))),
    periods: of(await db.select().from(serverMapPeriods).orderBy(asc(serverMapPeriods.startedAt))),
  };
}

test('a poll that is older than the last one, or the same again, changes nothing', async () => {
  const { id } = await insertServer(db);
  const newest = { serverId: id, state: state('de_nuke'), polledAt: at(10) };
  await saveServerPolls(db, [newest]);
  const before = await readAll(id);
  const stale = { serverId: id, state: state('de_mirage'), polledAt: at(5) };
  for (const poll of [newest, stale, { ...stale, state: undefined }, { ...newest, state: undefined }]) {
    expect(await saveServerPolls(db, [poll])).toEqual([]);
  }
  expect(await readAll(id)).toEqual(before);
});

test('a poll that was stored while the clock was ahead is replaced', async () => {
  const { id } = await insertServer(db);
  const ahead = new Date(Date.now() + 86_400_000);
  await saveServerPolls(db, [{ serverId: id, state: state('de_nuke'), polledAt: ahead }]);
  const now = { serverId: id, state: state('de_mirage'), polledAt: new Date() };
  expect(await saveServerPolls(db, [now])).toMatchObject([{ isOnline: true }]);
  expect((await readAll(id)).snapshot?.map).toBe('de_mirage');
});

test('a server that two processes poll at once goes offline as late as with one', async () => {
  const { id } = await insertServer(db);
  const poll = async (second: number, map?: string) => {
    const row = { serverId: id, state: map === undefined ? undefined : state(map), polledAt: at(second) };
    const [saved] = await saveServerPolls(db, [row], { missesApartMs: 7500 });
    return saved && [saved.isOnline, saved.missedPolls];
  };
  await poll(0, 'de_nuke');
  expect(await poll(15)).toEqual([true, 1]);
  expect(await poll(17)).toEqual([true, 1]);
  expect(await poll(30)).toEqual([false, 2]);
  expect(await poll(32)).toEqual([false, 2]);
});

/** Polls a new server: a map at each step, undefined for a poll without a response. */
async function play(maps: readonly (string | undefined)[], stepMinutes = 1): Promise<number> {
  const { id: serverId } = await insertServer(db);
  for (const [index, map] of maps.entries()) {
    const polledAt = atMinute(index * stepMinutes);
    await saveServerPolls(db, [{ serverId, state: map === undefined ? undefined : state(map), polledAt }]);
  }
  return serverId;
}

test.each<[name: string, maps: (string | undefined)[], stepMinutes: number, periods: string[]]>([
  [
    'a period lasts while consecutive polls report the same map',
    ['a', 'a', 'a', 'b', 'b', 'a'],
    1,
    ['a from 0 to 2', 'b from 3 to 4', 'a from 5 to 5'],
  ],
  [
    'one missed poll interrupts no period, an outage does',
    ['a', undefined, 'a', undefined, undefined, 'a', 'a'],
    1,
    ['a from 0 to 2', 'a from 5 to 6'],
  ],
  ['polls an hour apart continue a period', ['a', 'a', 'a'], 60, ['a from 0 to 120']],
  ['polls three hours apart begin another period', ['a', 'a'], 180, ['a from 0 to 0', 'a from 180 to 180']],
  ['a server that reports no map has no period', ['', ''], 1, []],
])('%s', async (_, maps, stepMinutes, expected) => {
  const { periods } = await readAll(await play(maps, stepMinutes));
  const minuteOf = (date: Date) => (date.getTime() - START) / 60_000;
  expect(
    periods.map(
      ({ map, startedAt, endedAt }) => `${map} from ${minuteOf(startedAt)} to ${minuteOf(endedAt)}`,
    ),
  ).toEqual(expected);
});

test('the maps of a span are listed by how long they were played within it', async () => {
  const id = await play(['a', 'a', 'a', 'a', 'b', 'b', 'b', 'b', 'b', 'b', 'a', 'a']);
  expect(await listPlayedMaps(db, id, { since: atMinute(-60), until: atMinute(60), limit: 2 })).toEqual({
    maps: [
      { map: 'b', seconds: 300, times: 1 },
      { map: 'a', seconds: 240, times: 2 },
    ],
    others: 0,
  });
  expect(await listPlayedMaps(db, id, { since: atMinute(2), until: atMinute(6), limit: 1 })).toEqual({
    maps: [{ map: 'b', seconds: 120, times: 1 }],
    others: 1,
  });
});

test('a clock that was ahead and is corrected interrupts no later period', async () => {
  const { id } = await insertServer(db);
  const nowMs = Date.now();
  const at = (minute: number) => new Date(nowMs + minute * 60_000);
  const poll = (minute: number, map: string) => {
    return saveServerPolls(db, [{ serverId: id, state: state(map), polledAt: at(minute) }]);
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

test('a server that is hidden, and no longer polled, keeps no names of players', async () => {
  const server = await insertServer(db, { address: '10.0.0.1:27015' });
  const players = [{ name: 'Rzeźnik', score: 7 }];
  const shown = { ...state('de_mirage'), players };
  await saveServerPoll(db, server.id, { state: shown, polledAt: at(0) });
  await setServerHidden(db, server.slug, { isHidden: true, actor: 'operator' });
  expect((await readAll(server.id)).snapshot).toMatchObject({ players: [] });

  await setServerHidden(db, server.slug, { isHidden: false, actor: 'operator' });
  await saveServerPoll(db, server.id, { state: shown, polledAt: at(15) });
  expect((await readAll(server.id)).snapshot).toMatchObject({ players });
});

const DAY_MS = 86_400_000;

/** One poll of a server. */
function aSample(serverId: number, { sampledAt, players }: { sampledAt: Date; players: number }) {
  const counts = { playersAverage: players, playersMaximum: players, maxPlayers: 10 };
  return { serverId, sampledAt, ...counts, onlineShare: 1 };
}

describe('old samples', () => {
  beforeEach(async () => {
    await db.delete(serverSamples);
    await db.delete(serverMapPeriods);
  });

  test('samples and periods of maps are deleted after a year, and not before', async () => {
    const { id: serverId } = await insertServer(db);
    const now = Math.floor(Date.now() / 3_600_000) * 3_600_000;
    const daysAgo = (days: number) => new Date(now - days * DAY_MS);
    for (const days of [366, 364]) {
      const sample = aSample(serverId, { sampledAt: daysAgo(days), players: 1 });
      await db.insert(serverSamples).values({ ...sample, periodSeconds: 300 });
      const period = { startedAt: daysAgo(days + 1), endedAt: daysAgo(days) };
      await db.insert(serverMapPeriods).values({ ...period, serverId, map: `${days}` });
    }
    await downsampleHistory(db);
    expect(await db.select({ at: serverSamples.sampledAt }).from(serverSamples)).toEqual([
      { at: daysAgo(364) },
    ]);
    expect(await db.select({ map: serverMapPeriods.map }).from(serverMapPeriods)).toEqual([{ map: '364' }]);
  });

  test('a backlog of polls is merged a day of one server at a time, so that no statement grows with it', async () => {
    const servers = [await insertServer(db), await insertServer(db)].map(({ id }) => id);
    await db.execute(sql`create table deletions (count bigint)`);
    await db.execute(sql`
    create function note_deletion() returns trigger language plpgsql as $$
    begin insert into deletions select count(*) from deleted; return null; end $$`);
    await db.execute(sql`
    create trigger note_deletion after delete on server_samples referencing old table as deleted
    for each statement execute function note_deletion()`);
    const periodsAgo = (periods: number) =>
      new Date((Math.floor((Date.now() - DAY_MS) / 300_000) - periods) * 300_000);
    const polls = (begin: Date, players: number[]) =>
      servers.flatMap((serverId) =>
        players.map((count, number) =>
          aSample(serverId, { sampledAt: new Date(begin.getTime() + number * 15_000), players: count }),
        ),
      );
    await db
      .insert(serverSamples)
      .values([
        ...polls(periodsAgo(500), [1, 3]),
        ...polls(periodsAgo(3), [4, 8]),
        ...polls(periodsAgo(2), [5]),
        ...polls(periodsAgo(-10), [7, 9]),
      ]);
    await downsampleHistory(db);
    const rows = await db.select().from(serverSamples).orderBy(asc(serverSamples.sampledAt));
    const found = rows
      .filter(({ serverId }) => serverId === servers[0])
      .map(({ sampledAt, periodSeconds, playersAverage, playersMaximum }) => [
        sampledAt,
        periodSeconds,
        playersAverage,
        playersMaximum,
      ]);
    expect(found).toEqual([
      [periodsAgo(500), 300, 2, 3],
      [periodsAgo(3), 300, 6, 8],
      [periodsAgo(2), 300, 5, 5],
      [periodsAgo(-10), 0, 7, 7],
      [new Date(periodsAgo(-10).getTime() + 15_000), 0, 9, 9],
    ]);
    expect(rows).toHaveLength(2 * found.length);
    const [largest] = await db.execute<{ count: string }>(sql`select max(count) as count from deletions`);
    expect(Number(largest?.count)).toBe(3);
  });

  test('periods of five minutes become hours after 31 days, which count by how much of them was polled', async () => {
    const { id: serverId } = await insertServer(db);
    const hourAgo = (hours: number) => new Date((Math.floor(Date.now() / 3_600_000) - hours) * 3_600_000);
    const old = hourAgo(32 * 24);
    const at = (begin: Date, minutes: number) => new Date(begin.getTime() + minutes * 60_000);
    const sample = (sampledAt: Date, players: number) => ({
      ...aSample(serverId, { sampledAt, players }),
      periodSeconds: 300,
      onlineShare: players === 0 ? 0 : 1,
    });
    await db
      .insert(serverSamples)
      .values([
        sample(at(old, 0), 6),
        sample(at(old, 5), 0),
        sample(at(old, 10), 6),
        sample(at(old, 65), 8),
        sample(hourAgo(100), 3),
        sample(at(hourAgo(100), 5), 4),
      ]);
    const span = { since: hourAgo(9000), until: new Date(), stepSeconds: 86_400 };
    const before = await listServerHistory(db, serverId, span);
    // Once more, since merged hours must stay as they are.
    for (let round = 0; round < 2; round++) await downsampleHistory(db);
    const rows = await db.select().from(serverSamples).orderBy(asc(serverSamples.sampledAt));
    const merged = { ...sample(old, 4), periodSeconds: 900, playersMaximum: 6 };
    expect(rows).toEqual([
      { ...merged, onlineShare: expect.closeTo(2 / 3) },
      sample(at(old, 60), 8),
      sample(hourAgo(100), 3),
      sample(at(hourAgo(100), 5), 4),
    ]);
    expect(await listServerHistory(db, serverId, span)).toEqual(
      before.map((point) => ({ ...point, onlineShare: expect.closeTo(point.onlineShare) })),
    );
  });
});
