import { describe, expect, test } from 'bun:test';
import { aSteamId, insertPenalties, insertUser } from '../../../support/database/builders.ts';
import { createTestDatabase } from '../../../support/database/database.ts';
import { aToken, bearer, NOW, startTestService } from '../../../support/service/service.ts';

const database = await createTestDatabase();
const { db } = database;
const { token } = await aToken(db, 900);
const createdAt = new Date('2026-01-02T03:04:05.678Z');
/** Beyond 2^53, where numbers lose digits. */
const DISCORD_ID = '1152921504606846977';
await insertUser(db, 1, { nickname: 'Rzeźnik', discordId: DISCORD_ID, isAdmin: true, createdAt });
await insertUser(db, 2, { nickname: 'Ala', createdAt });
const past = new Date(NOW.getTime() - 1000);
await insertPenalties(db, [
  { type: 'ban', playerSteamId: aSteamId(2), durationMinutes: 60, endsAt: new Date(NOW.getTime() + 60_000) },
  { type: 'ban', playerSteamId: aSteamId(1), status: 'UNBANNED' },
  { type: 'mute', playerSteamId: aSteamId(1) },
  // The row's own status lags behind the clock.
  { type: 'ban', playerSteamId: aSteamId(1), durationMinutes: 60, endsAt: past },
]);
const service = await startTestService({ databaseUrl: database.url });
const ask = (query: string) => service.get(`/users/lookup/batch?${query}`, bearer(token));

const RZEZNIK = {
  nickname: 'Rzeźnik',
  steamid64: aSteamId(1),
  account_id: 39_734_273,
  discord_id: DISCORD_ID,
  discord_username: '',
  discord_avatar: '',
  is_admin: true,
  is_owner: false,
  has_svip: false,
  is_serviceplus: false,
  is_banned: false,
  created_at: '2026-01-02T03:04:05Z',
};
const ALA = {
  ...RZEZNIK,
  nickname: 'Ala',
  steamid64: aSteamId(2),
  account_id: 39_734_274,
  discord_id: '',
  is_admin: false,
  is_banned: true,
};
const dataOf = (body: unknown) =>
  (body as { data: { query: string; user: { nickname: string } | null }[] }).data;

describe('GET /users/lookup/batch', () => {
  test('gives users by SteamIDs as the lookup does, nobody as null, in the order asked', async () => {
    const { status, body, headers } = await ask(`steamids=${aSteamId(2)},${aSteamId(404)},${aSteamId(1)}`);
    expect([status, body]).toStrictEqual([
      200,
      {
        success: true,
        data: [
          { query: aSteamId(2), user: ALA },
          { query: aSteamId(404), user: null },
          { query: aSteamId(1), user: RZEZNIK },
        ],
      },
    ]);
    expect(headers.get('cache-control')).toBe('private, no-cache');
    for (const { query, user } of dataOf(body)) {
      const single = await service.get(`/users/lookup?steamid64=${query}`, bearer(token));
      expect((single.body as { user?: unknown }).user).toEqual(user ?? undefined);
    }
  });

  test('gives users by Discord ids; ids that nobody can have give null', async () => {
    const asked = ['404', DISCORD_ID, '99999999999999999999', `0${DISCORD_ID}`];
    const { status, body } = await ask(`discord_ids=${asked.join(',')}`);
    expect([status, body]).toStrictEqual([
      200,
      {
        success: true,
        data: [
          { query: '404', user: null },
          { query: DISCORD_ID, user: RZEZNIK },
          { query: '99999999999999999999', user: null },
          { query: `0${DISCORD_ID}`, user: null },
        ],
      },
    ]);
  });

  test('takes every notation, trims, ignores empty elements, and lists a player once, by the notation that came first', async () => {
    const list = `,, [U:1:39734274] ,${aSteamId(2)},STEAM_0:1:19867136,,STEAM_1:1:19867136, ${aSteamId(1)},`;
    const { body } = await ask(`steamids=${encodeURIComponent(list)}`);
    expect(dataOf(body).map(({ query, user }) => [query, user?.nickname])).toEqual([
      ['[U:1:39734274]', 'Ala'],
      ['STEAM_0:1:19867136', 'Rzeźnik'],
    ]);
    expect(dataOf((await ask(`steamids=${aSteamId(2)}+,%09${aSteamId(1)}`)).body)).toHaveLength(2);
    expect(dataOf((await ask(`discord_ids=${DISCORD_ID},,+${DISCORD_ID}`)).body)).toHaveLength(1);
  });

  test('takes 100 different ids and no more, however often they are repeated', async () => {
    const hundred = Array.from({ length: 100 }, (_, index) => aSteamId(1 + index));
    const { status, body } = await ask(`steamids=${[...hundred, ...hundred].join(',')}`);
    expect([status, dataOf(body).map(({ query }) => query)]).toEqual([200, hundred]);
    const more = await ask(`steamids=${[...hundred, aSteamId(500)].join(',')}`);
    expect([more.status, more.body]).toEqual([
      400,
      { success: false, message: 'steamids has 101 ids: use 1 to 100' },
    ]);
    const discordIds = Array.from({ length: 101 }, (_, index) => String(index + 1));
    expect((await ask(`discord_ids=${discordIds.join(',')}`)).body).toEqual({
      success: false,
      message: 'discord_ids has 101 ids: use 1 to 100',
    });
  });

  test('/users/lookup/batch is 400 for both lists and for none', async () => {
    for (const query of [
      '',
      'steamids=',
      'steamids=&discord_ids=',
      'ids=1',
      `steamids=${aSteamId(1)}&discord_ids=${DISCORD_ID}`,
    ]) {
      const { status, body } = await ask(query);
      expect([query, status, body]).toEqual([
        query,
        400,
        { success: false, message: 'Give either steamids or discord_ids' },
      ]);
    }
    expect((await ask(`steamids=${aSteamId(1)}&discord_ids=`)).status).toBe(200);
  });

  test('/users/lookup/batch is 400 for an empty list, and names an id that cannot be read', async () => {
    for (const [query, message] of [
      ['steamids=,+,', 'steamids has no ids: use 1 to 100, separated by commas'],
      ['discord_ids=,', 'discord_ids has no ids: use 1 to 100, separated by commas'],
      [`steamids=${aSteamId(1)},abc,x`, 'steamids "abc" is not a SteamID'],
      [`steamids=${aSteamId(1)};${aSteamId(2)}`, `steamids "${aSteamId(1)};${aSteamId(2)}" is not a SteamID`],
      ['steamids=0', 'steamids "0" is not a SteamID'],
      ['steamids=%00', 'steamids "\\u0000" is not a SteamID'],
      [`discord_ids=${DISCORD_ID},1e3`, 'discord_ids "1e3" isn\'t valid: use 1 to 20 digits'],
      ['discord_ids=100000000000000000000', 'discord_ids "100000000000000000000" isn\'t valid'],
    ] as const) {
      const { status, body } = await ask(query);
      expect([query, status]).toEqual([query, 400]);
      expect(body).toEqual({ success: false, message: expect.stringContaining(message) });
    }
  });
});
