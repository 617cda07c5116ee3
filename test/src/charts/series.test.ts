import { expect, test } from 'bun:test';
import { averagePlayersOf, mergeSteps, uptimeOf } from '../../../src/charts/series.ts';
import { serverSamples } from '../../../src/db/schema/servers.ts';
import { listServerHistory } from '../../../src/queries/servers/samples.ts';
import { insertServer } from '../../support/database/builders.ts';
import { createTestDatabase } from '../../support/database/database.ts';

const { db } = await createTestDatabase();

test('an hour that was polled for five minutes counts for five minutes of the uptime, also of its day', async () => {
  const { id: serverId } = await insertServer(db);
  const [added, online, until] = ['10:55', '11:00', '12:00'].map(
    (time) => new Date(`2026-11-21T${time}:00Z`),
  );
  if (!added || !online || !until) throw new Error('no times');
  const pollCount = (until.getTime() - added.getTime()) / 15_000;
  await db.insert(serverSamples).values(
    Array.from({ length: pollCount }, (_, number) => {
      const sampledAt = new Date(added.getTime() + number * 15_000);
      const onlineShare = sampledAt < online ? 0 : 1;
      return { serverId, sampledAt, playersAverage: 0, playersMaximum: 0, maxPlayers: 10, onlineShare };
    }),
  );
  for (const stepSeconds of [300, 3600]) {
    const points = await listServerHistory(db, serverId, { since: added, until, stepSeconds });
    const series = { points, stepSeconds };
    expect(uptimeOf(series)).toBeCloseTo(12 / 13, 5);
    expect(mergeSteps(series, 86_400).points).toMatchObject([{ onlineShare: expect.closeTo(12 / 13, 5) }]);
  }
});

test('an hour that was polled for five minutes counts for five minutes of the average, also of its day', async () => {
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
      onlineShare: number === 1 ? 0 : 1,
    })),
  );
  for (const stepSeconds of [300, 3600]) {
    const points = await listServerHistory(db, serverId, { since, until, stepSeconds });
    expect(averagePlayersOf(points)).toBeCloseTo(1, 5);
    const merged = mergeSteps({ points, stepSeconds }, 86_400).points;
    expect(merged).toMatchObject([{ playersAverage: expect.closeTo(1, 5) }]);
  }
});
