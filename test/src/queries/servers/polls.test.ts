import { expect, test } from 'bun:test';
import { asc, eq } from 'drizzle-orm';
import { serverMapPeriods, serverSamples, serverSnapshots } from '../../../../src/db/schema/servers.ts';
import { saveServerPolls } from '../../../../src/queries/servers/polls.ts';
import { insertServer } from '../../../support/database/builders.ts';
import { createTestDatabase } from '../../../support/database/database.ts';

const { db } = await createTestDatabase();
const START = new Date('2026-11-20T10:00:00Z').getTime();
const at = (second: number) => new Date(START + second * 1000);
const state = (map: string) => ({
  hostname: 'x',
  map,
  playersCount: 1,
  maxPlayers: 10,
  pingMs: 5,
  players: [],
});

async function readAll(serverId: number) {
  const of = <T extends { serverId: number }>(rows: T[]) => rows.filter((row) => row.serverId === serverId);
  return {
    snapshot: of(await db.select().from(serverSnapshots))[0],
    samples: of(await db.select().from(serverSamples).orderBy(asc(serverSamples.sampledAt))),
    periods: of(await db.select().from(serverMapPeriods)),
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
  const [saved] = await saveServerPolls(db, [
    { serverId: id, state: state('de_mirage'), polledAt: new Date() },
  ]);
  expect(saved).toMatchObject({ isOnline: true });
  const [snapshot] = await db.select().from(serverSnapshots).where(eq(serverSnapshots.serverId, id));
  expect(snapshot?.map).toBe('de_mirage');
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
