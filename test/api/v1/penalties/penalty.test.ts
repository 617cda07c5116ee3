import { expect, test } from 'bun:test';
import { eq } from 'drizzle-orm';
import { penalties } from '../../../../src/db/schema/penalties.ts';
import { aSteamId, insertPenalties, insertServer } from '../../../support/database/builders.ts';
import { createTestDatabase } from '../../../support/database/database.ts';
import { aToken, bearer, NOW, startTestService } from '../../../support/service/service.ts';

const { db, url } = await createTestDatabase();
const service = await startTestService({ databaseUrl: url });
const { token } = await aToken(db, 950);
const get = (id: unknown, headers = {}) =>
  service.get(`/penalties/${id}`, { headers: { ...bearer(token).headers, ...headers } });

const shown = await insertServer(db, { slug: 'only-mirage-1', name: 'Only Mirage #1' });
const hidden = await insertServer(db, { slug: 'hidden', name: 'Hidden', isHidden: true });
const [lifted, removed, plain] = (
  await insertPenalties(db, [
    {
      status: 'UNBANNED',
      serverId: shown.id,
      source: 'simpleadmin',
      sourceTable: 'sa_bans',
      sourceId: '1',
      liftedAt: new Date('2026-11-21T09:00:00Z'),
      liftedByName: 'Basia',
      liftedBySteamId: aSteamId(8),
      liftReason: 'Appeal',
    },
    // The status stored lags behind the clock.
    { type: 'mute', serverId: hidden.id, durationMinutes: 60, endsAt: NOW, goneAt: NOW },
    { serverId: 4211 },
  ])
).map(({ id }) => id);

test('GET /penalties/{id} shows one penalty, whole', async () => {
  const { status, body, headers } = await get(lifted);
  const { body: list } = await service.get('/penalties', bearer(token));
  const record = (list as { data: { id: number }[] }).data.find(({ id }) => id === lifted);
  expect([status, body]).toStrictEqual([
    200,
    {
      success: true,
      data: {
        ...record,
        lifted: {
          at: '2026-11-21T09:00:00+00:00',
          admin_name: 'Basia',
          admin_steamid: aSteamId(8),
          reason: 'Appeal',
        },
        server: { id: shown.id, name: 'Only Mirage #1', slug: 'only-mirage-1' },
        source: 'simpleadmin',
        is_removed: false,
      },
    },
  ]);
  expect(headers.get('cache-control')).toBe('private, no-cache');
});

test('GET /penalties/{id} shows no slug of a hidden server, and no server that is not known here', async () => {
  expect((await get(removed)).body).toMatchObject({
    data: {
      penalty_type: 'mute',
      status: 'EXPIRED',
      lifted: null,
      server: { id: hidden.id, name: 'Hidden', slug: null },
      source: null,
      is_removed: true,
    },
  });
  expect((await get(plain)).body).toMatchObject({
    data: { server_id: 4211, server: null, is_removed: false },
  });
});

test('GET /penalties/{id} is 304 while the penalty is unchanged', async () => {
  const { headers } = await get(plain);
  const etag = headers.get('etag') ?? '';
  const unchanged = await get(plain, { 'If-None-Match': etag });
  expect([unchanged.status, unchanged.text, unchanged.headers.get('etag')]).toEqual([304, '', etag]);
  expect(unchanged.headers.get('cache-control')).toBe('private, no-cache');
  await db
    .update(penalties)
    .set({ reason: 'Aimbot' })
    .where(eq(penalties.id, plain ?? 0));
  expect((await get(plain, { 'If-None-Match': etag })).status).toBe(200);
});

test('GET /penalties/{id} is 404 for an unknown id and for a text that is no id', async () => {
  for (const id of ['999999', '0', '-1', '1.5', 'nope', '99999999999999999999', '%00', `${lifted}x`]) {
    const { status, body } = await get(id);
    expect([id, status, body]).toEqual([id, 404, { success: false, message: 'Penalty not found' }]);
  }
  expect((await service.get(`/penalties/${lifted}`)).status).toBe(401);
});
