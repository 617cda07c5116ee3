import { describe, expect, test } from 'bun:test';
import { eq } from 'drizzle-orm';
import { serverSamples, serverSnapshots, servers } from '../../../../src/db/schema/servers.ts';
import { addServer } from '../../../../src/queries/servers/servers.ts';
import { aServerState, insertServer, saveServerPoll } from '../../../support/database/builders.ts';
import { createTestDatabase } from '../../../support/database/database.ts';
import { NOW, startTestService } from '../../../support/service/service.ts';
import { waitFor } from '../../../support/wait.ts';

const { db, url: databaseUrl } = await createTestDatabase();

const POLLED_AT = new Date('2026-11-21T09:59:57.400Z');
const add = (name: string, address: string, values: Partial<Parameters<typeof addServer>[1]> = {}) =>
  addServer(db, { name, address, actor: 'operator', ...values });
// Polled in the network of the machine; players use the public address.
const online = await add('Only Mirage #1', '10.0.0.7:27015', {
  publicAddress: '203.0.113.7:27015',
  mode: 'Competitive',
  region: 'EU',
});
const twin = await add('Only Mirage 1', '[2001:db8::1]:27015');
const offline = await add('Zażółć gęślą', 'play.example.org:27016');
// A slug that is a number, the id of another server even.
const numeric = await add('Arena', '203.0.113.7:27017', { slug: String(online.id) });
const unseen = await insertServer(db, { name: '\u3164\u200b', slug: 'unseen' });
await insertServer(db, { name: 'Hidden', slug: 'hidden', isHidden: true });

const state = aServerState({
  hostname: 'Only Mirage | 128 tick | 🎯',
  map: 'de_mirage',
  playersCount: 3,
  maxPlayers: 10,
  pingMs: 12,
  players: [
    { name: 'Rzeźnik', score: 17 },
    { name: '<b>Ala</b> "quote" \u202E', score: 0 },
    { name: '玩家', score: -2 },
  ],
});
await saveServerPoll(db, online.id, { state, polledAt: POLLED_AT });
await saveServerPoll(db, offline.id, { state, polledAt: new Date('2026-11-21T09:00:00Z') });
for (const polledAt of [new Date('2026-11-21T09:00:15Z'), new Date('2026-11-21T09:00:30Z')]) {
  await saveServerPoll(db, offline.id, { state: undefined, polledAt });
}
// What was never polled shows when it was added.
await db.update(servers).set({ createdAt: new Date('2026-11-20T08:00:00Z') });

const service = await startTestService({ databaseUrl });

const ONLINE = {
  id: online.id,
  name: 'Only Mirage #1',
  slug: 'only-mirage-1',
  hostname: 'Only Mirage | 128 tick | 🎯',
  ip: '203.0.113.7:27015',
  map: 'de_mirage',
  mode: 'Competitive',
  region: 'EU',
  players_count: 3,
  max_players: 10,
  is_online: true,
  ping_ms: 12,
  updated_at: '2026-11-21T09:59:57+00:00',
};
const NEVER_POLLED = {
  hostname: '',
  map: '',
  mode: '',
  region: '',
  players_count: 0,
  max_players: 0,
  is_online: false,
  ping_ms: 0,
  updated_at: '2026-11-20T08:00:00+00:00',
};
const TWIN = {
  ...NEVER_POLLED,
  id: twin.id,
  name: 'Only Mirage 1',
  slug: 'only-mirage-1-2',
  ip: '[2001:db8::1]:27015',
};
const NUMERIC = {
  ...NEVER_POLLED,
  id: numeric.id,
  name: 'Arena',
  slug: String(online.id),
  ip: '203.0.113.7:27017',
};
const UNSEEN = {
  ...NEVER_POLLED,
  id: unseen.id,
  name: 'unseen',
  slug: 'unseen',
  ip: unseen.address,
  mode: 'Competitive',
  region: 'EU',
};
const OFFLINE = {
  ...ONLINE,
  id: offline.id,
  name: 'Zażółć gęślą',
  slug: 'zazolc-gesla',
  ip: 'play.example.org:27016',
  mode: '',
  region: '',
  players_count: 0,
  is_online: false,
  ping_ms: 0,
  updated_at: '2026-11-21T09:00:30+00:00',
};
const NOT_FOUND = { success: false, message: 'Server not found' };

describe('GET /servers', () => {
  test('lists every shown server with exactly the fields of 2.1, and total and online', async () => {
    const { status, body } = await service.get('/servers');
    expect(status).toBe(200);
    expect(body).toStrictEqual({
      success: true,
      data: [NUMERIC, ONLINE, TWIN, OFFLINE, UNSEEN],
      meta: { total: 5, online: 1, cached_at: '2026-11-21T10:00:00+00:00' },
    });
  });

  test('ignores parameters that it does not know', async () => {
    const plain = await service.get('/servers');
    expect((await service.get('/servers?page=9&api_token=x&%00=%00')).text).toBe(plain.text);
  });
});

describe('GET /servers/{slug}', () => {
  test('gives the server with its players, highest score first, and meta with only cached_at', async () => {
    const { status, body } = await service.get('/servers/only-mirage-1');
    expect(status).toBe(200);
    expect(body).toStrictEqual({
      success: true,
      data: { ...ONLINE, players: state.players },
      meta: { cached_at: '2026-11-21T10:00:00+00:00' },
    });
  });

  test.each([
    ['gives an offline server without players, with its last known state', 'zazolc-gesla', OFFLINE],
    ['calls a server by its slug if nobody can see its name', 'unseen', UNSEEN],
    ['tells servers apart whose names make the same slug', 'only-mirage-1-2', TWIN],
    ['reads a slug that looks like an id as a slug', String(online.id), NUMERIC],
    ['reads percent signs in a slug', '%6Fnly%2Dmirage-1-2', TWIN],
  ])('%s', async (_, slug, server) => {
    expect((await service.get(`/servers/${slug}`)).body).toStrictEqual({
      success: true,
      data: { ...server, players: [] },
      meta: { cached_at: '2026-11-21T10:00:00+00:00' },
    });
  });

  test('finds no server by its id, by another letter case, or by a text that is nearly its slug', async () => {
    const misspelled = 'Only-Mirage-1 only-mirage-1%20 only-mirage-1%00 only-mirage-1%2Fplayers';
    const others = 'hidden null __proto__ %00 %ED%A0%80 1e0 100000000000000000000';
    for (const slug of [String(twin.id), 'a'.repeat(5000), ...`${misspelled} ${others}`.split(' ')]) {
      for (const path of [`/servers/${slug}`, `/servers/${slug}/history`]) {
        const { status, body } = await service.get(path);
        expect([path, status, body]).toEqual([path, 404, NOT_FOUND]);
      }
    }
  });
});

describe('GET /servers/{id}/players', () => {
  test('gives only the players, of the server with the id even where a slug is the same number', async () => {
    const { status, body } = await service.get(`/servers/${numeric.slug}/players`);
    expect(status).toBe(200);
    expect(body).toStrictEqual({ success: true, players: state.players });
  });

  test('gives no players of a server that is offline or was never polled', async () => {
    for (const { id } of [offline, twin, numeric]) {
      expect((await service.get(`/servers/${id}/players`)).body).toStrictEqual({
        success: true,
        players: [],
      });
    }
  });

  test('finds no server by its slug, or by an id that is written otherwise', async () => {
    const { id: known } = online;
    const otherwise = `0${known} +${known} -${known} ${known}.0 ${known}e0 ${known}%00 %20${known}`;
    const others = 'only-mirage-1 0x1 0 4294967297 9007199254740993 100000000000000000000 %D9%A1';
    for (const id of ['1'.repeat(5000), ...`${otherwise} ${others}`.split(' ')]) {
      const { status, body } = await service.get(`/servers/${id}/players`);
      expect([id, status, body]).toEqual([id, 404, NOT_FOUND]);
    }
  });
});

describe('GET /servers/{slug}/history', () => {
  test('gives averages and maxima by steps of five minutes, oldest first', async () => {
    const today = (time: string) => `2026-11-21T${time}:00+00:00`;
    const at = (time: string) => new Date(today(time));
    const sample = { serverId: twin.id, maxPlayers: 10, playersMaximum: 0, onlineShare: 1 };
    await db.insert(serverSamples).values([
      { ...sample, sampledAt: at('09:50'), playersAverage: 4, playersMaximum: 4 },
      { ...sample, sampledAt: at('09:52'), playersAverage: 7, playersMaximum: 9 },
      { ...sample, sampledAt: at('09:55'), playersAverage: 0, onlineShare: 0 },
      { ...sample, sampledAt: new Date('2026-11-20T09:59:59Z'), playersAverage: 5, playersMaximum: 5 },
    ]);
    const { status, body, headers } = await service.get('/servers/only-mirage-1-2/history');
    expect(status).toBe(200);
    expect(body).toStrictEqual({
      success: true,
      data: [
        { at: today('09:50'), players_average: 5.5, players_max: 9, max_players: 10, online_share: 1 },
        { at: today('09:55'), players_average: 0, players_max: 0, max_players: 10, online_share: 0 },
      ],
      meta: { hours: 24, step_seconds: 300, cached_at: '2026-11-21T10:00:00+00:00' },
    });
    expect(headers.get('cache-control')).toBe('public, max-age=60, stale-while-revalidate=60');
  });

  test('weighs each five minutes alike, however many polls are kept of them', async () => {
    const sample = { serverId: twin.id, maxPlayers: 64 };
    const thinned = { ...sample, periodSeconds: 300, playersAverage: 0, playersMaximum: 1, onlineShare: 0 };
    const polled = { ...sample, playersAverage: 60, playersMaximum: 60, onlineShare: 1 };
    const after = (ms: number) => new Date(Date.parse('2026-11-20T10:00:00Z') + ms);
    await db
      .insert(serverSamples)
      .values([
        ...Array.from({ length: 6 }, (_, n) => ({ ...thinned, sampledAt: after(n * 300_000) })),
        ...Array.from({ length: 120 }, (_, n) => ({ ...polled, sampledAt: after(1_800_000 + n * 15_000) })),
      ]);
    const { body } = await service.get('/servers/only-mirage-1-2/history?hours=168');
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
      const { body } = await service.get(`/servers/zazolc-gesla/history?hours=${hours}`);
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
      const { status, body } = await service.get(`/servers/only-mirage-1-2/history?hours=${hours}`);
      const message = expect.stringContaining('use a whole number from 1 to 8760');
      expect([hours, status, body]).toEqual([hours, 400, { success: false, message }]);
    }
  });
});

test('every process sends the same tag for the same data, whenever it built the body', async () => {
  const other = await startTestService({ databaseUrl });
  other.clock.now = new Date(NOW.getTime() + 60_000);
  for (const path of ['/servers', '/servers/only-mirage-1']) {
    const { text, headers } = await service.get(path);
    const etag = headers.get('etag') ?? '';
    const built = await other.get(path);
    expect(built.body).toMatchObject({ meta: { cached_at: '2026-11-21T10:01:00+00:00' } });
    expect(built.text).not.toBe(text);
    expect(built.headers.get('etag')).toBe(etag);
    expect((await other.get(path, { headers: { 'If-None-Match': etag } })).status).toBe(304);
  }
});

describe('a change', () => {
  test('a change is seen within seconds, under both bases at once, with a new tag and cached_at', async () => {
    const before = await service.get('/servers');
    service.clock.now = new Date(NOW.getTime() + 60_000);
    // Nothing changed: the cached bytes are sent again, with the time at which they were built.
    expect((await service.get('/servers')).text).toBe(before.text);

    await db.update(serverSnapshots).set({ map: 'de_nuke' }).where(eq(serverSnapshots.serverId, online.id));
    const after = await waitFor(async () => {
      const now = await service.ask('/api/v1/servers');
      return now.text === before.text ? undefined : now;
    });
    expect(after.headers.get('etag')).not.toBe(before.headers.get('etag'));
    expect(after.body).toMatchObject({ meta: { cached_at: '2026-11-21T10:01:00+00:00' } });
    expect((await service.get('/servers/only-mirage-1')).body).toMatchObject({ data: { map: 'de_nuke' } });
  });

  test('a change is built once for both bases, however far apart they are asked', async () => {
    await db.update(serverSnapshots).set({ pingMs: 99 }).where(eq(serverSnapshots.serverId, online.id));
    const first = await waitFor(async () => {
      const answered = await service.ask('/api/v1/servers/only-mirage-1');
      return answered.text.includes('"ping_ms":99') && answered;
    });
    service.clock.now = new Date(service.clock.now.getTime() + 60_000);
    const second = await service.ask('/index.php/api/v1/servers/only-mirage-1');
    expect(second.text).toBe(first.text);
    expect(second.headers.get('etag')).toBe(first.headers.get('etag') ?? '');
  });

  test('a server added is listed, one removed is gone', async () => {
    const added = await insertServer(db, { slug: 'new', name: 'New' });
    await waitFor(async () => (await service.ask('/api/v1/servers/new')).status === 200);
    await db.delete(servers).where(eq(servers.id, added.id));
    await waitFor(async () => (await service.ask('/api/v1/servers/new')).status === 404);
    expect((await service.get(`/servers/${added.id}/players`)).status).toBe(404);
  });
});
