import { describe, expect, test } from 'bun:test';
import { aSteamId, insertPenalties, insertUser } from '../../../support/database/builders.ts';
import { NOW, openTestApi } from '../../../support/service/service.ts';

const { db, service, get } = await openTestApi();
const createdAt = new Date('2026-01-02T03:04:05.678Z');
/** Beyond 2^53, where numbers lose digits. */
const DISCORD_ID = '1152921504606846977';
await insertUser(db, 1, {
  nickname: 'Rzeźnik 🎧',
  discordId: DISCORD_ID,
  discordUsername: 'rzeznik',
  discordAvatar: '8342729096ea3675442027381ff50dfe',
  isAdmin: true,
  hasSvip: true,
  createdAt,
});
await insertUser(db, 2, { nickname: 'Ala', isOwner: true, isServiceplus: true, createdAt });
const ending = (seconds: number) => ({
  durationMinutes: 60,
  endsAt: new Date(NOW.getTime() + seconds * 1000),
});
await insertPenalties(db, [
  { type: 'ban', playerSteamId: aSteamId(1), status: 'UNBANNED' },
  { type: 'mute', playerSteamId: aSteamId(1) },
  // The row's own status lags behind the clock.
  { type: 'ban', playerSteamId: aSteamId(1), ...ending(-1) },
  { type: 'ban', playerSteamId: aSteamId(2), ...ending(60) },
]);
const lookUp = (query: string) => get(`/users/lookup?${query}`);
const lookUpAll = (query: string) => get(`/users/lookup/batch?${query}`);
const dataOf = (body: unknown) =>
  (body as { data: { query: string; user: { nickname: string } | null }[] }).data;

const RZEZNIK = {
  nickname: 'Rzeźnik 🎧',
  steamid64: aSteamId(1),
  account_id: 39_734_273,
  discord_id: DISCORD_ID,
  discord_username: 'rzeznik',
  discord_avatar: '8342729096ea3675442027381ff50dfe',
  is_admin: true,
  is_owner: false,
  has_svip: true,
  is_serviceplus: false,
  is_banned: false,
  created_at: '2026-01-02T03:04:05Z',
};
const ALA = {
  nickname: 'Ala',
  steamid64: aSteamId(2),
  account_id: 39_734_274,
  discord_id: '',
  discord_username: '',
  discord_avatar: '',
  is_admin: false,
  is_owner: true,
  has_svip: false,
  is_serviceplus: true,
  is_banned: true,
  created_at: '2026-01-02T03:04:05Z',
};

describe('GET /users/lookup', () => {
  test('finds a user by Discord id, with exactly the fields of 2.7', async () => {
    const { status, body } = await lookUp(`discord_id=${DISCORD_ID}`);
    expect([status, body]).toStrictEqual([200, { success: true, user: RZEZNIK }]);
  });

  test('finds a user by SteamID in every notation; unlinked Discord fields are empty', async () => {
    for (const id of [aSteamId(2), 'STEAM_0:0:19867137', '[U:1:39734274]', '%5BU:1:39734274%5D']) {
      const { status, body } = await lookUp(`steamid64=${id}`);
      expect([id, status, body]).toStrictEqual([id, 200, { success: true, user: ALA }]);
    }
  });

  test('discord_id takes priority over steamid64, which is not even read then', async () => {
    for (const steamId of [aSteamId(2), 'nonsense']) {
      const { body } = await lookUp(`steamid64=${steamId}&discord_id=${DISCORD_ID}`);
      expect(body).toStrictEqual({ success: true, user: RZEZNIK });
    }
    expect((await lookUp(`discord_id=404&steamid64=${aSteamId(2)}`)).status).toBe(404);
    expect((await lookUp(`discord_id=&steamid64=${aSteamId(2)}`)).body).toMatchObject({ user: ALA });
  });

  test('/users/lookup is 404 when nobody matches, with ids beyond 2^53 and 2^63 too', async () => {
    for (const query of [
      `discord_id=${BigInt(DISCORD_ID) - 1n}`,
      'discord_id=9223372036854775808',
      'discord_id=99999999999999999999',
      'discord_id=0',
      `discord_id=0${DISCORD_ID}`,
      `steamid64=${aSteamId(404)}`,
    ]) {
      const { status, body } = await lookUp(query);
      expect([query, status, body]).toEqual([query, 404, { success: false, message: 'User not found' }]);
    }
  });

  test('is_banned is the truth now: an active ban, and no other penalty', async () => {
    await insertUser(db, 3);
    const isBanned = async () => Object((await lookUp(`steamid64=${aSteamId(3)}`)).body).user.is_banned;
    const insert = (values: Parameters<typeof insertPenalties>[1][number]) =>
      insertPenalties(db, [{ playerSteamId: aSteamId(3), ...values }]);
    await insert({ type: 'mute' });
    await insert({ type: 'ban', status: 'UNBANNED' });
    await insert({ type: 'ban', status: 'EXPIRED' });
    expect(await isBanned()).toBe(false);
    await insert({ type: 'ban', ...ending(60) });
    expect(await isBanned()).toBe(true);
    service.clock.now = ending(60).endsAt;
    expect(await isBanned()).toBe(false);
    service.clock.now = NOW;
    await insert({ type: 'ban' });
    expect(await isBanned()).toBe(true);
  });
});

describe('GET /users/lookup/batch', () => {
  test('gives users by SteamIDs as the lookup does, nobody as null, in the order asked', async () => {
    const { status, body, headers } = await lookUpAll(
      `steamids=${aSteamId(2)},${aSteamId(404)},${aSteamId(1)}`,
    );
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
      const single = await lookUp(`steamid64=${query}`);
      expect((single.body as { user?: unknown }).user).toEqual(user ?? undefined);
    }
  });

  test('gives users by Discord ids; ids that nobody can have give null', async () => {
    const asked = ['404', DISCORD_ID, '99999999999999999999', `0${DISCORD_ID}`];
    const { status, body } = await lookUpAll(`discord_ids=${asked.join(',')}`);
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
    const { body } = await lookUpAll(`steamids=${encodeURIComponent(list)}`);
    expect(dataOf(body).map(({ query, user }) => [query, user?.nickname])).toEqual([
      ['[U:1:39734274]', 'Ala'],
      ['STEAM_0:1:19867136', RZEZNIK.nickname],
    ]);
    expect(dataOf((await lookUpAll(`steamids=${aSteamId(2)}+,%09${aSteamId(1)}`)).body)).toHaveLength(2);
    expect(dataOf((await lookUpAll(`discord_ids=${DISCORD_ID},,+${DISCORD_ID}`)).body)).toHaveLength(1);
  });

  test('takes 100 different ids and no more, however often they are repeated', async () => {
    const hundred = Array.from({ length: 100 }, (_, index) => aSteamId(1 + index));
    const { status, body } = await lookUpAll(`steamids=${[...hundred, ...hundred].join(',')}`);
    expect([status, dataOf(body).map(({ query }) => query)]).toEqual([200, hundred]);
    const more = await lookUpAll(`steamids=${[...hundred, aSteamId(500)].join(',')}`);
    const tooMany = (name: string) => ({ success: false, message: `${name} has 101 ids: use 1 to 100` });
    expect([more.status, more.body]).toEqual([400, tooMany('steamids')]);
    const discordIds = Array.from({ length: 101 }, (_, index) => String(index + 1));
    expect((await lookUpAll(`discord_ids=${discordIds}`)).body).toEqual(tooMany('discord_ids'));
  });

  test('/users/lookup/batch takes one list beside another that is empty', async () => {
    expect((await lookUpAll(`steamids=${aSteamId(1)}&discord_ids=`)).status).toBe(200);
  });
});

const LOOKUP = '/users/lookup';
const BATCH = '/users/lookup/batch';
test.each([
  ...['', '?', '?discord_id=', '?discord_id=&steamid64=', '?steamid=1', '?DISCORD_ID=1'].map(
    (query) => [LOOKUP + query, /^Give discord_id or steamid64$/] as const,
  ),
  ...['x', '-1', '1e3', '%00', `${DISCORD_ID}%00`, '%201', '100000000000000000000', '١'].map(
    (id) => [`${LOOKUP}?discord_id=${id}`, /^discord_id ".*" isn't valid: use 1 to 20 digits$/s] as const,
  ),
  ...['x', '0', '%00', '%ED%A0%80', `${aSteamId(2)}%20`].map(
    (id) => [`${LOOKUP}?steamid64=${id}`, /^steamid64 ".*" is not a SteamID/s] as const,
  ),
  ...[
    '',
    '?steamids=',
    '?steamids=&discord_ids=',
    '?ids=1',
    `?steamids=${aSteamId(1)}&discord_ids=${DISCORD_ID}`,
  ].map((query) => [BATCH + query, /^Give either steamids or discord_ids$/] as const),
  [`${BATCH}?steamids=,+,`, /^steamids has no ids: use 1 to 100, separated by commas$/],
  [`${BATCH}?discord_ids=,`, /^discord_ids has no ids: use 1 to 100, separated by commas$/],
  [`${BATCH}?steamids=${aSteamId(1)},abc,x`, /^steamids "abc" is not a SteamID/],
  [`${BATCH}?steamids=${aSteamId(1)};${aSteamId(2)}`, /^steamids "\d+;\d+" is not a SteamID/],
  [`${BATCH}?steamids=0`, /^steamids "0" is not a SteamID/],
  [`${BATCH}?steamids=%00`, /^steamids "\\u0000" is not a SteamID/],
  [`${BATCH}?discord_ids=${DISCORD_ID},1e3`, /^discord_ids "1e3" isn't valid: use 1 to 20 digits$/],
  [`${BATCH}?discord_ids=1${'0'.repeat(20)}`, /^discord_ids "10{20}" isn't valid/],
])('%s is 400 that says why', async (path, message) => {
  const { status, body } = await get(path);
  expect([status, body]).toEqual([400, { success: false, message: expect.stringMatching(message) }]);
});
