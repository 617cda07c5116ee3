import { expect, test } from 'bun:test';
import { importNdjson } from '../../../../src/import/ndjson/ndjson.ts';
import { loadPlayerRecord } from '../../../../src/queries/penalties/player-record.ts';
import { aSteamId, insertPenalties } from '../../../support/database/builders.ts';
import { createTestDatabase } from '../../../support/database/database.ts';
import { tallyDifferences } from '../../../support/database/tallies.ts';
import { importDeps } from '../../../support/import/penalty-rows.ts';
import { aToken, bearer, NOW, startTestService } from '../../../support/service/service.ts';

const database = await createTestDatabase();
const service = await startTestService({ databaseUrl: database.url });
const { token } = await aToken(database.db);

type Body = { data: { id: number; reason: string; created: string }[]; meta: { total: number } };
async function list(path: string): Promise<Body> {
  const { status, body } = await service.get(path, bearer(token));
  expect([path, status]).toEqual([path, 200]);
  return body as Body;
}

test('records that share a shown second are ordered by id, whatever milliseconds their source kept', async () => {
  const fractions = ['.900', '.100', '', '.999', '.000', '.500'];
  const lines = fractions.map((fraction, index) =>
    JSON.stringify({
      penalty_type: 'ban',
      player_steamid: aSteamId(1),
      created: `2026-11-21T09:00:00${fraction}Z`,
      ends: `2026-11-21T13:00:00${fraction}Z`,
      reason: `line ${index}`,
    }),
  );
  const chunks = () => new Blob([lines.join('\n')]).stream();
  await importNdjson(importDeps(database), { chunks: chunks() });
  // A writer other than an importer.
  await insertPenalties(database.db, [
    { reason: 'line 6', createdAt: new Date('2026-11-21T09:00:00.700Z') },
    { reason: 'line 7', createdAt: new Date('2026-11-21T09:00:00.200Z') },
  ]);
  const newestFirst = [7, 6, 5, 4, 3, 2, 1, 0].map((number) => `line ${number}`);

  const { data, meta } = await list('/penalties');
  expect(data.map(({ reason }) => reason)).toEqual(newestFirst);
  expect(new Set(data.map(({ created }) => created))).toEqual(new Set(['2026-11-21T09:00:00+00:00']));
  expect(meta.total).toBe(8);
  const walked: string[] = [];
  for (let page = 1; page <= 4; page++) {
    const { data } = await list(`/bans?steamid=${aSteamId(1)}&per_page=2&page=${page}`);
    walked.push(...data.map(({ reason }) => reason));
  }
  expect(walked).toEqual(newestFirst);
  const record = await loadPlayerRecord(database.db, aSteamId(1), { page: 1, perPage: 8, now: NOW });
  expect(record.rows.map(({ reason }) => reason)).toEqual(newestFirst);

  expect(await importNdjson(importDeps(database), { chunks: chunks() })).toMatchObject({
    added: 0,
    changed: 0,
    unchanged: 6,
  });
  expect(await tallyDifferences(database.connection)).toEqual([]);
});
