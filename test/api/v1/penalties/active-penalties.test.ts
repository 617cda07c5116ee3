import { describe, expect, test } from 'bun:test';
import { aSteamId, insertPenalties } from '../../../support/database/builders.ts';
import { createTestDatabase } from '../../../support/database/database.ts';
import { aToken, bearer, NOW, startTestService } from '../../../support/service/service.ts';

const database = await createTestDatabase();
const { db } = database;
const { token } = await aToken(db, 900);
const minutes = (count: number) => new Date(NOW.getTime() + count * 60_000);
const [banned, silenced, many, clean] = [aSteamId(1), aSteamId(2), aSteamId(3), aSteamId(4)];
const rows = await insertPenalties(db, [
  { type: 'ban', playerSteamId: banned, createdAt: minutes(-90), reason: 'older' },
  { type: 'ban', playerSteamId: banned, createdAt: minutes(-10), durationMinutes: 60, endsAt: minutes(50) },
  { type: 'warn', playerSteamId: banned, createdAt: minutes(-10) },
  { type: 'silence', playerSteamId: silenced, createdAt: minutes(-5) },
  // None of these is in force.
  { type: 'ban', playerSteamId: clean, status: 'UNBANNED' },
  { type: 'gag', playerSteamId: clean, status: 'EXPIRED' },
  { type: 'mute', playerSteamId: clean, createdAt: minutes(-60), durationMinutes: 60, endsAt: NOW },
  { type: 'ban', playerSteamId: aSteamId(77) },
]);
await insertPenalties(
  db,
  // The mute is the oldest penalty, so it is not among the newest twenty.
  Array.from({ length: 25 }, (_, index) => ({
    type: index === 0 ? ('mute' as const) : ('warn' as const),
    playerSteamId: many,
    createdAt: minutes(-100 + index),
  })),
);
const service = await startTestService({ databaseUrl: database.url });
const ask = (query: string) => service.get(`/penalties/active?${query}`, bearer(token));
type Player = { steamid64: string; warnings: number; penalties: { id: number; status: string }[] };
const playersOf = (body: unknown) => (body as { data: Player[] }).data;

const CLEAN = {
  is_banned: false,
  is_muted: false,
  is_gagged: false,
  is_silenced: false,
  warnings: 0,
  penalties: [],
};

describe('GET /penalties/active', () => {
  test('gives everyone who was asked for, in that order, with records as in /penalties, newest first', async () => {
    const { status, body } = await ask(`steamids=${clean},${banned},${aSteamId(404)}`);
    expect([status, body]).toStrictEqual([
      200,
      {
        success: true,
        data: [
          { steamid64: clean, ...CLEAN },
          {
            ...CLEAN,
            steamid64: banned,
            is_banned: true,
            warnings: 1,
            penalties: expect.any(Array),
          },
          { steamid64: aSteamId(404), ...CLEAN },
        ],
      },
    ]);
    const [older, newer, warning] = rows.map(({ id }) => id);
    expect(playersOf(body)[1]?.penalties.map(({ id }) => id)).toEqual([warning, newer, older] as number[]);
    const list = await service.get(`/penalties?steamid=${banned}&status=ACTIVE`, bearer(token));
    expect(playersOf(body)[1]?.penalties).toEqual((list.body as { data: Player['penalties'] }).data);
  });

  test('a silence mutes and gags as well; a mute or a gag does not silence', async () => {
    const { body } = await ask(`steamids=${silenced},${many}`);
    expect(playersOf(body)).toMatchObject([
      {
        ...CLEAN,
        is_muted: true,
        is_gagged: true,
        is_silenced: true,
        penalties: [{ penalty_type: 'silence' }],
      },
      { is_banned: false, is_muted: true, is_gagged: false, is_silenced: false },
    ]);
    await insertPenalties(db, [{ type: 'gag', playerSteamId: aSteamId(5) }]);
    expect(playersOf((await ask(`steamids=${aSteamId(5)}`)).body)).toMatchObject([
      { is_muted: false, is_gagged: true, is_silenced: false },
    ]);
  });

  test('gives the newest twenty of more, and judges by all of them', async () => {
    const newest = await service.get(`/penalties?steamid=${many}&per_page=20`, bearer(token));
    const [player] = playersOf((await ask(`steamids=${many},${clean},${silenced}`)).body);
    expect(player).toMatchObject({ warnings: 24, is_muted: true });
    expect(player?.penalties).toEqual((newest.body as { data: Player['penalties'] }).data);
  });

  test('a penalty is no longer in force from the second in which it ends', async () => {
    const typesNow = async () =>
      playersOf((await ask(`steamids=${banned}`)).body)[0]?.penalties.map(({ status }) => status);
    expect(await typesNow()).toEqual(['ACTIVE', 'ACTIVE', 'ACTIVE']);
    service.clock.now = minutes(50);
    expect(await typesNow()).toEqual(['ACTIVE', 'ACTIVE']);
    service.clock.now = NOW;
  });

  test('takes lists as the other routes do', async () => {
    const list = `[U:1:39734273], ,STEAM_0:1:19867136,${clean},`;
    const { body } = await ask(`steamids=${encodeURIComponent(list)}`);
    expect(playersOf(body).map(({ steamid64 }) => steamid64)).toEqual([banned, clean]);
    const { status, body: refused } = await ask(`steamids=${banned},0`);
    expect([status, refused]).toMatchObject([
      400,
      { message: expect.stringMatching(/^steamids "0" is not a SteamID/) },
    ]);
  });
});
