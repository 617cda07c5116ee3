import { expect, test } from 'bun:test';
import { asc, sql } from 'drizzle-orm';
import { serverMapPeriods, serverSamples } from '../../../../src/db/schema/servers.ts';
import { downsampleHistory, listServerHistory } from '../../../../src/queries/servers/samples.ts';
import { insertServer } from '../../../support/database/builders.ts';
import { createTestDatabase } from '../../../support/database/database.ts';

const { db } = await createTestDatabase();
const DAY_MS = 86_400_000;

/** One poll of a server. */
function aSample(serverId: number, { sampledAt, players }: { sampledAt: Date; players: number }) {
  const counts = { playersAverage: players, playersMaximum: players, maxPlayers: 10 };
  return { serverId, sampledAt, ...counts, onlineShare: 1 };
}

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
  await db.delete(serverSamples);
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
  await db.delete(serverSamples);
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
