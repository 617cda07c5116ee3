import { expect, test } from 'bun:test';
import { averagePlayersOf, mergeSteps, uptimeOf } from '../../../src/charts/series.ts';
import { serverSamples } from '../../../src/db/schema/servers.ts';
import { listServerHistory } from '../../../src/queries/servers/samples.ts';
import { insertServer } from '../../support/database/builders.ts';
import { createTestDatabase } from '../../support/database/database.ts';

const { db } = await createTestDatabase();

test('an hour that was polled for five minutes counts for five minutes of uptime and average, also of its day', async () => {
  const { id: serverId } = await insertServer(db);
  const since = new Date('2026-11-21T10:55:00Z');
  const until = new Date('2026-11-21T12:00:00Z');
  await db.insert(serverSamples).values(
    Array.from({ length: 13 }, (_, number) => ({
      serverId,
      sampledAt: new Date(since.getTime() + number * 300_000),
      periodSeconds: 300,
      playersAverage: number === 0 ? 13 : 0,
      playersMaximum: 13,
      maxPlayers: 20,
      onlineShare: number === 0 ? 0 : 1,
    })),
  );
  for (const stepSeconds of [300, 3600]) {
    const points = await listServerHistory(db, serverId, { since, until, stepSeconds });
    const series = { points, stepSeconds };
    expect(uptimeOf(series)).toBeCloseTo(12 / 13, 5);
    expect(averagePlayersOf(points)).toBeCloseTo(1, 5);
    expect(mergeSteps(series, 86_400).points).toMatchObject([
      { playersAverage: expect.closeTo(1, 5), onlineShare: expect.closeTo(12 / 13, 5) },
    ]);
  }
});
