import { expect, test } from 'bun:test';
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
