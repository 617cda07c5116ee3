import { describe, expect, test } from 'bun:test';
import { serverSamples } from '../../../../src/db/schema/servers.ts';
import { insertServer } from '../../../support/database/builders.ts';
import { createTestDatabase } from '../../../support/database/database.ts';
import { startTestService } from '../../../support/service/service.ts';

const database = await createTestDatabase();
const { db } = database;
const server = await insertServer(db, { slug: 'only-mirage-1' });
await insertServer(db, { slug: 'quiet' });
const service = await startTestService({ databaseUrl: database.url });

describe('GET /servers/{slug}/history', () => {
  test('gives averages and maxima by steps of five minutes, oldest first', async () => {
    const at = (text: string) => new Date(`2026-11-21T${text}Z`);
    const sample = { serverId: server.id, maxPlayers: 10, playersMaximum: 0, onlineShare: 1 };
    await db.insert(serverSamples).values([
      { ...sample, sampledAt: at('09:50:00'), playersAverage: 4, playersMaximum: 4 },
      { ...sample, sampledAt: at('09:52:00'), playersAverage: 7, playersMaximum: 9 },
      { ...sample, sampledAt: at('09:55:00'), playersAverage: 0, onlineShare: 0 },
      { ...sample, sampledAt: new Date('2026-11-20T09:59:59Z'), playersAverage: 5, playersMaximum: 5 },
    ]);
    const { status, body, headers } = await service.get('/servers/only-mirage-1/history');
    expect(status).toBe(200);
    expect(body).toStrictEqual({
      success: true,
      data: [
        {
          at: '2026-11-21T09:50:00+00:00',
          players_average: 5.5,
          players_max: 9,
          max_players: 10,
          online_share: 1,
        },
        {
          at: '2026-11-21T09:55:00+00:00',
          players_average: 0,
          players_max: 0,
          max_players: 10,
          online_share: 0,
        },
      ],
      meta: { hours: 24, step_seconds: 300, cached_at: '2026-11-21T10:00:00+00:00' },
    });
    expect(headers.get('cache-control')).toBe('public, max-age=60, stale-while-revalidate=60');
  });

  test('weighs each five minutes alike, however many polls are kept of them', async () => {
    const start = Date.parse('2026-11-20T10:00:00Z');
    const sample = { serverId: server.id, maxPlayers: 64 };
    const thinned = Array.from({ length: 6 }, (_, index) => ({
      ...sample,
      sampledAt: new Date(start + index * 300_000),
      periodSeconds: 300,
      playersAverage: 0,
      playersMaximum: 1,
      onlineShare: 0,
    }));
    const polls = Array.from({ length: 120 }, (_, index) => ({
      ...sample,
      sampledAt: new Date(start + 1_800_000 + index * 15_000),
      playersAverage: 60,
      playersMaximum: 60,
      onlineShare: 1,
    }));
    await db.insert(serverSamples).values([...thinned, ...polls]);
    const { body } = await service.get('/servers/only-mirage-1/history?hours=168');
    const { data } = body as { data: Record<string, unknown>[] };
    expect(data.find(({ at }) => at === '2026-11-20T10:00:00+00:00')).toEqual({
      at: '2026-11-20T10:00:00+00:00',
      players_average: 30,
      players_max: 60,
      max_players: 64,
      online_share: 0.5,
    });
  });

  test('covers one of five spans: other numbers of hours are rounded up', async () => {
    const read = async (hours: number) => {
      const { body } = await service.get(`/servers/quiet/history?hours=${hours}`);
      const { meta } = body as { meta: { hours: number; step_seconds: number } };
      return [hours, meta.hours, meta.step_seconds];
    };
    expect(await Promise.all([1, 24, 25, 49, 168, 169, 720, 721, 8760].map(read))).toEqual([
      [1, 24, 300],
      [24, 24, 300],
      [25, 48, 300],
      [49, 168, 3600],
      [168, 168, 3600],
      [169, 720, 3600],
      [720, 720, 3600],
      [721, 8760, 21_600],
      [8760, 8760, 21_600],
    ]);
  });

  test('refuses hours that are not a whole number from 1 to 8760', async () => {
    for (const hours of ['0', '8761', '-1', '1e1', '0x10', '2.5', 'x', '%00', '9'.repeat(5000)]) {
      const { status, body } = await service.get(`/servers/only-mirage-1/history?hours=${hours}`);
      expect([hours, status]).toEqual([hours, 400]);
      expect(body).toEqual({
        success: false,
        message: expect.stringContaining('use a whole number from 1 to 8760'),
      });
    }
  });

  test('a server’s history is 404 for an unknown slug, or an id', async () => {
    for (const slug of ['nope', String(server.id)]) {
      expect((await service.get(`/servers/${slug}/history`)).body).toEqual({
        success: false,
        message: 'Server not found',
      });
    }
  });
});
