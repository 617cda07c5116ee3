import { expect, test } from 'bun:test';
import { eq } from 'drizzle-orm';
import { penalties } from '../../../../src/db/schema/penalties.ts';
import { aSteamId, insertPenalties, insertServer } from '../../../support/database/builders.ts';
import { NOW, openTestApi } from '../../../support/service/service.ts';

const { db, service, get } = await openTestApi();
const getOne = (id: unknown, headers = {}) => get(`/penalties/${id}`, headers);
const getActive = (...players: string[]) => get(`/penalties/active?steamids=${players}`);
const minutes = (count: number) => new Date(NOW.getTime() + count * 60_000);

const shown = await insertServer(db, { slug: 'only-mirage-1', name: 'Only Mirage #1' });
const hidden = await insertServer(db, { slug: 'hidden', name: 'Żółć', isHidden: true });
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

const [banned, silenced, many, clean] = [aSteamId(11), aSteamId(12), aSteamId(13), aSteamId(14)];
/** Penalties that name no server. */
const insertWithoutServer = (rows: Parameters<typeof insertPenalties>[1]) =>
  insertPenalties(
    db,
    rows.map((row) => ({ ...row, serverId: 0 })),
  );
const rows = await insertWithoutServer([
  { type: 'ban', playerSteamId: banned, createdAt: minutes(-90), reason: 'older' },
  { type: 'ban', playerSteamId: banned, createdAt: minutes(-10), durationMinutes: 60, endsAt: minutes(50) },
  { type: 'warn', playerSteamId: banned, createdAt: minutes(-10) },
  { type: 'silence', playerSteamId: silenced, createdAt: minutes(-5) },
  // None of these is in force: a penalty that ends now has ended.
  { type: 'ban', playerSteamId: clean, status: 'UNBANNED' },
  { type: 'gag', playerSteamId: clean, status: 'EXPIRED' },
  { type: 'mute', playerSteamId: clean, createdAt: minutes(-60), durationMinutes: 60, endsAt: NOW },
]);
await insertWithoutServer(
  // The mute is the oldest penalty, so it is not among the newest twenty.
  Array.from({ length: 25 }, (_, index) => ({
    type: index === 0 ? ('mute' as const) : ('warn' as const),
    playerSteamId: many,
    createdAt: minutes(-100 + index),
  })),
);

type Player = { steamid64: string; warnings: number; penalties: { id: number; status: string }[] };
const playersOf = (body: unknown) => (body as { data: Player[] }).data;

const FREE = { is_banned: false, is_muted: false, is_gagged: false, is_silenced: false };
const CLEAN = { ...FREE, warnings: 0, penalties: [] };

test('GET /penalties/{id} shows one penalty, whole', async () => {
  const { status, body, headers } = await getOne(lifted);
  const { body: list } = await get(`/penalties?server_id=${shown.id}`);
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
  expect((await getOne(removed)).body).toMatchObject({
    data: {
      penalty_type: 'mute',
      status: 'EXPIRED',
      lifted: null,
      server: { id: hidden.id, name: 'Żółć', slug: null },
      source: null,
      is_removed: true,
    },
  });
  expect((await getOne(plain)).body).toMatchObject({
    data: { server_id: 4211, server: null, is_removed: false },
  });
});

test('GET /penalties/{id} is 304 while the penalty is unchanged', async () => {
  const { headers } = await getOne(plain);
  const etag = headers.get('etag') ?? '';
  const unchanged = await getOne(plain, { 'If-None-Match': etag });
  expect([unchanged.status, unchanged.text, unchanged.headers.get('etag')]).toEqual([304, '', etag]);
  expect(unchanged.headers.get('cache-control')).toBe('private, no-cache');
  await db
    .update(penalties)
    .set({ reason: 'Aimbot' })
    .where(eq(penalties.id, plain ?? 0));
  expect((await getOne(plain, { 'If-None-Match': etag })).status).toBe(200);
});

test('GET /penalties/{id} is 404 for an unknown id and for a text that is no id', async () => {
  for (const id of ['999999', '0', '-1', '1.5', 'nope', '99999999999999999999', '%00', `${lifted}x`]) {
    const { status, body } = await getOne(id);
    expect([id, status, body]).toEqual([id, 404, { success: false, message: 'Penalty not found' }]);
  }
  expect((await service.get(`/penalties/${lifted}`)).status).toBe(401);
});

test('GET /penalties/active gives everyone who was asked for, in that order, with records as in /penalties, newest first', async () => {
  const { status, body } = await getActive(clean, banned, aSteamId(404));
  expect([status, body]).toStrictEqual([
    200,
    {
      success: true,
      data: [
        { steamid64: clean, ...CLEAN },
        { ...CLEAN, steamid64: banned, is_banned: true, warnings: 1, penalties: expect.any(Array) },
        { steamid64: aSteamId(404), ...CLEAN },
      ],
    },
  ]);
  const [older, newer, warning] = rows.map(({ id }) => id);
  expect(playersOf(body)[1]?.penalties.map(({ id }) => id)).toEqual([warning, newer, older] as number[]);
  const list = await get(`/penalties?steamid=${banned}&status=ACTIVE`);
  expect(playersOf(body)[1]?.penalties).toEqual((list.body as { data: Player['penalties'] }).data);
});

test('GET /penalties/active: a silence mutes and gags as well; a mute or a gag does not silence', async () => {
  const { body } = await getActive(silenced, many);
  expect(playersOf(body)[0]?.penalties).toMatchObject([{ penalty_type: 'silence' }]);
  expect(playersOf(body)).toMatchObject([
    { is_banned: false, is_muted: true, is_gagged: true, is_silenced: true, warnings: 0 },
    { ...FREE, is_muted: true },
  ]);
  await insertWithoutServer([{ type: 'gag', playerSteamId: aSteamId(5) }]);
  expect(playersOf((await getActive(aSteamId(5))).body)).toMatchObject([{ ...FREE, is_gagged: true }]);
});

test('GET /penalties/active gives the newest twenty of more, and judges by all of them', async () => {
  const newest = await get(`/penalties?steamid=${many}&per_page=20`);
  const [player] = playersOf((await getActive(many, clean, silenced)).body);
  expect(player).toMatchObject({ warnings: 24, is_muted: true });
  expect(player?.penalties).toEqual((newest.body as { data: Player['penalties'] }).data);
});

test('GET /penalties/servers lists every server that a penalty names, hidden and unknown ones too', async () => {
  const spared = await insertServer(db, { slug: 'spared' });
  await insertPenalties(db, [
    { serverId: shown.id, type: 'warn', status: 'EXPIRED' },
    { serverId: spared.id, reason: 'gone' },
  ]);
  await db.delete(penalties).where(eq(penalties.reason, 'gone'));
  const { status, body } = await get('/penalties/servers');
  expect([status, body]).toStrictEqual([
    200,
    {
      success: true,
      data: [
        { id: shown.id, name: 'Only Mirage #1', slug: 'only-mirage-1', penalties: 2 },
        { id: hidden.id, name: 'Żółć', slug: null, penalties: 1 },
        { id: 4211, name: null, slug: null, penalties: 1 },
      ],
    },
  ]);
});
