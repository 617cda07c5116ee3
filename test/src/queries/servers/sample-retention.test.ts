import { expect, test } from 'bun:test';
import { asc, sql } from 'drizzle-orm';
import { serverSamples } from '../../../../src/db/schema/servers.ts';
import { thinServerSamples } from '../../../../src/queries/servers/samples.ts';
import { insertServer } from '../../../support/database/builders.ts';
import { createTestDatabase } from '../../../support/database/database.ts';

const { db } = await createTestDatabase();
const DAY_MS = 86_400_000;

test('samples are deleted after a year, and not before', async () => {
  const { id: serverId } = await insertServer(db);
  const now = Date.now();
  const daysAgo = (days: number) => new Date(now - days * DAY_MS);
  const sample = { serverId, playersAverage: 1, playersMaximum: 1, maxPlayers: 32, onlineShare: 1 };
  await db
    .insert(serverSamples)
    .values([366, 364].map((days) => ({ ...sample, sampledAt: daysAgo(days), periodSeconds: 300 })));
  await thinServerSamples(db);
  expect(await db.select({ at: serverSamples.sampledAt }).from(serverSamples)).toEqual([
    { at: daysAgo(364) },
  ]);
});

test('a backlog of polls is merged five minutes at a time, so that no statement grows with it', async () => {
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
      players.map((count, number) => ({
        serverId,
        sampledAt: new Date(begin.getTime() + number * 15_000),
        playersAverage: count,
        playersMaximum: count,
        maxPlayers: 10,
        onlineShare: 1,
      })),
    );
  await db
    .insert(serverSamples)
    .values([
      ...polls(periodsAgo(500), [1, 3]),
      ...polls(periodsAgo(3), [4, 8]),
      ...polls(periodsAgo(2), [5]),
      ...polls(periodsAgo(-10), [7, 9]),
    ]);
  await thinServerSamples(db);
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
  expect(Number(largest?.count)).toBe(4);
});
