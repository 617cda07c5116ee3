import { describe, expect, test } from 'bun:test';
import { aSteamId, insertPenalties } from '../../../support/database/builders.ts';
import { createTestDatabase } from '../../../support/database/database.ts';
import { aToken, bearer, headersOf, NOW, startTestService } from '../../../support/service/service.ts';

type Body = { data: Record<string, unknown>[]; meta: Record<string, unknown> };

const database = await createTestDatabase();
const { db } = database;

const minutes = (count: number) => new Date(NOW.getTime() + count * 60_000);
const [player, other, third] = [aSteamId(1), aSteamId(2), aSteamId(3)];
const [admin, otherAdmin] = [aSteamId(900), aSteamId(901)];

// Oldest first: the lists give them the other way round.
const rows = await insertPenalties(db, [
  {
    type: 'ban',
    createdAt: minutes(-9000),
    durationMinutes: 60,
    endsAt: minutes(-8940),
    status: 'EXPIRED',
  },
  { type: 'ban', createdAt: minutes(-8000), status: 'UNBANNED', playerSteamId: other, serverId: 2 },
  // The status stored lags behind the clock.
  { type: 'ban', createdAt: minutes(-100), durationMinutes: 100, endsAt: minutes(0), playerSteamId: other },
  {
    type: 'mute',
    createdAt: minutes(-50),
    durationMinutes: 60,
    endsAt: minutes(10),
    adminSteamId: otherAdmin,
  },
  { type: 'gag', createdAt: minutes(-50), durationMinutes: 0, serverId: 2_147_483_647 },
  { type: 'silence', createdAt: minutes(-40), playerSteamId: third, adminSteamId: otherAdmin },
  { type: 'warn', createdAt: minutes(-30), status: 'EXPIRED', serverId: 0 },
  {
    type: 'ban',
    createdAt: new Date('2026-11-21T09:59:59.999Z'),
    playerSteamId: '0',
    playerName: '',
    adminName: 'Console',
    adminSteamId: '0',
    serverId: 0,
    reason: '<i>"x"</i> \\ 🎧 \u202Ertl \u200B @everyone',
  } as object,
]);
const [expired, unbanned, lagging, mute, gag, silence, warn, console_] = rows.map(({ id }) => id);

const service = await startTestService({ databaseUrl: database.url });
const { token } = await aToken(db);
const get = (path: string) => service.get(path, bearer(token));

async function list(path: string): Promise<Body & { ids: unknown[] }> {
  const { status, body } = await get(path);
  expect([path, status]).toEqual([path, 200]);
  const { data, meta } = body as Body;
  return { data, meta, ids: data.map(({ id }) => id) };
}

const BASE_RECORD = {
  player_name: 'Rzeźnik',
  player_steamid: player,
  admin_name: 'Ala',
  admin_steamid: admin,
  reason: 'Wallhack',
  duration: 0,
  status: 'ACTIVE',
  server_id: 1,
  ends: null,
};
const CONSOLE_BAN = {
  ...BASE_RECORD,
  id: console_,
  player_name: '',
  player_steamid: '0',
  admin_name: 'Console',
  admin_steamid: '0',
  server_id: 0,
  reason: '<i>"x"</i> \\ 🎧 \u202Ertl \u200B @everyone',
  created: '2026-11-21T09:59:59+00:00',
};
const LAGGING_BAN = {
  ...BASE_RECORD,
  id: lagging,
  player_steamid: other,
  duration: 100,
  status: 'EXPIRED',
  created: '2026-11-21T08:20:00+00:00',
  ends: '2026-11-21T10:00:00+00:00',
};
const UNBANNED_BAN = {
  ...BASE_RECORD,
  id: unbanned,
  player_steamid: other,
  status: 'UNBANNED',
  server_id: 2,
  created: '2026-11-15T20:40:00+00:00',
};
const EXPIRED_BAN = {
  ...BASE_RECORD,
  id: expired,
  duration: 60,
  status: 'EXPIRED',
  created: '2026-11-15T04:00:00+00:00',
  ends: '2026-11-15T05:00:00+00:00',
};
const MUTE = {
  ...BASE_RECORD,
  id: mute,
  admin_steamid: otherAdmin,
  duration: 60,
  created: '2026-11-21T09:10:00+00:00',
  ends: '2026-11-21T10:10:00+00:00',
};
const GAG = { ...BASE_RECORD, id: gag, server_id: 2_147_483_647, created: '2026-11-21T09:10:00+00:00' };
const SILENCE = {
  ...BASE_RECORD,
  id: silence,
  player_steamid: third,
  admin_steamid: otherAdmin,
  created: '2026-11-21T09:20:00+00:00',
};
const WARN = {
  ...BASE_RECORD,
  id: warn,
  status: 'EXPIRED',
  server_id: 0,
  created: '2026-11-21T09:30:00+00:00',
};
const CACHED_AT = '2026-11-21T10:00:00+00:00';
const NEWEST_FIRST = [console_, warn, silence, gag, mute, lagging, unbanned, expired];

describe('GET /penalties', () => {
  test('lists every type, newest first, with exactly the fields of 2.3 and 2.4', async () => {
    const { status, body } = await get('/penalties');
    expect(status).toBe(200);
    expect(body).toStrictEqual({
      success: true,
      data: [
        { penalty_type: 'ban', ...CONSOLE_BAN },
        { penalty_type: 'warn', ...WARN },
        { penalty_type: 'silence', ...SILENCE },
        // Created in the same second: the higher id first.
        { penalty_type: 'gag', ...GAG },
        { penalty_type: 'mute', ...MUTE },
        { penalty_type: 'ban', ...LAGGING_BAN },
        { penalty_type: 'ban', ...UNBANNED_BAN },
        { penalty_type: 'ban', ...EXPIRED_BAN },
      ],
      meta: {
        current_page: 1,
        total: 8,
        per_page: 50,
        last_page: 1,
        counts: { ban: 4, mute: 1, gag: 1, silence: 1, warn: 1 },
        cached_at: CACHED_AT,
      },
    });
  });

  test('/penalties says that its responses are private', async () => {
    const headers = headersOf(await service.ask('/api/v1/penalties', bearer(token)));
    expect(headers).toEqual({
      'access-control-allow-origin': '*',
      'access-control-expose-headers':
        'ETag, Link, RateLimit, RateLimit-Policy, Retry-After, X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset, X-Request-Id',
      'cache-control': 'private, no-cache',
      'content-type': 'application/json; charset=utf-8',
      link: expect.stringContaining('rel="first"'),
      ratelimit: expect.stringMatching(/^"protected";r=[0-9]+;t=[0-9]+$/),
      'ratelimit-policy': '"protected";q=1000000;w=60',
      vary: 'Authorization',
      'x-ratelimit-limit': '1000000',
      'x-ratelimit-remaining': expect.stringMatching(/^[0-9]+$/),
    });
  });

  test('filters by type in any letter case; counts stay those of every type', async () => {
    for (const [type, ids] of [
      ['ban', [console_, lagging, unbanned, expired]],
      ['MUTE', [mute]],
      ['Gag', [gag]],
      ['silence', [silence]],
      ['wArN', [warn]],
      ['warn,BAN', [console_, warn, lagging, unbanned, expired]],
      [',gag, gag,', [gag]],
    ] satisfies [string, unknown[]][]) {
      const { ids: found, meta } = await list(`/penalties?type=${type}`);
      expect([type, found]).toEqual([type, ids]);
      expect(meta).toMatchObject({
        total: ids.length,
        counts: { ban: 4, mute: 1, gag: 1, silence: 1, warn: 1 },
      });
    }
  });

  test('filters by the admin, in every notation of a SteamID', async () => {
    const account = BigInt(otherAdmin) - 76561197960265728n;
    for (const id of [
      otherAdmin,
      `STEAM_0:${account % 2n}:${account / 2n}`,
      `STEAM_1:${account % 2n}:${account / 2n}`,
      `%5BU:1:${account}%5D`,
      `[U:1:${account}]`,
    ]) {
      expect((await list(`/penalties?admin_steamid=${id}`)).ids).toEqual([silence, mute]);
    }
  });

  test('counts are in the order of the specification', async () => {
    const { text } = await get('/penalties');
    expect(text).toMatch(/"counts":\{"ban":\d+,"gag":\d+,"mute":\d+,"silence":\d+,"warn":\d+\}/);
  });

  test('counts honour every filter but type; total honours all', async () => {
    const { ids, meta } = await list(`/penalties?type=mute&admin_steamid=${otherAdmin}&status=ACTIVE`);
    expect(ids).toEqual([mute]);
    expect(meta).toMatchObject({ total: 1, counts: { ban: 0, mute: 1, gag: 0, silence: 1, warn: 0 } });
    const none = await list(`/penalties?type=ban&admin_steamid=${otherAdmin}`);
    expect(none.meta).toMatchObject({ total: 0, last_page: 1, counts: { mute: 1, silence: 1 } });
  });
});

describe('GET /bans', () => {
  test('lists bans without penalty_type, and meta without counts', async () => {
    expect((await get('/bans')).body).toStrictEqual({
      success: true,
      data: [CONSOLE_BAN, LAGGING_BAN, UNBANNED_BAN, EXPIRED_BAN],
      meta: { current_page: 1, total: 4, per_page: 50, last_page: 1, cached_at: CACHED_AT },
    });
  });

  test('ignores type and admin_steamid', async () => {
    expect((await list('/bans?type=mute&admin_steamid=x')).ids).toHaveLength(4);
  });
});

describe('GET /mutes', () => {
  test('lists mutes, gags and silences, each with its type', async () => {
    expect((await get('/mutes')).body).toStrictEqual({
      success: true,
      data: [
        { type: 'silence', ...SILENCE },
        { type: 'gag', ...GAG },
        { type: 'mute', ...MUTE },
      ],
      meta: { current_page: 1, total: 3, per_page: 50, last_page: 1, cached_at: CACHED_AT },
    });
  });

  test('filters by type in upper and lower case', async () => {
    for (const [type, id] of [
      ['gag', gag],
      ['GAG', gag],
      ['mute', mute],
      ['MUTE', mute],
      ['silence', silence],
      ['SILENCE', silence],
    ] as const) {
      const { ids, meta } = await list(`/mutes?type=${type}`);
      expect([type, ids, meta.total]).toEqual([type, [id], 1]);
    }
  });
});

describe('GET /warns', () => {
  test('lists warnings with the fields of a ban', async () => {
    expect((await get('/warns')).body).toStrictEqual({
      success: true,
      data: [WARN],
      meta: { current_page: 1, total: 1, per_page: 50, last_page: 1, cached_at: CACHED_AT },
    });
  });
});

describe('time', () => {
  test('a penalty that ends between two requests is ACTIVE in the first, EXPIRED in the second', async () => {
    const of = async (status: string) => {
      const { ids, meta } = await list(`/penalties?status=${status}&type=mute`);
      return { ids, total: meta.total, counts: meta.counts };
    };
    service.clock.now = new Date(minutes(10).getTime() - 1);
    expect((await list('/mutes?type=mute')).data).toMatchObject([{ status: 'ACTIVE' }]);
    expect(await of('ACTIVE')).toEqual({
      ids: [mute],
      total: 1,
      counts: { ban: 1, mute: 1, gag: 1, silence: 1, warn: 0 },
    });
    expect((await of('EXPIRED')).ids).toEqual([]);

    // To the millisecond: a penalty that ends now has ended.
    service.clock.now = minutes(10);
    expect((await list('/mutes?type=mute')).data).toMatchObject([{ status: 'EXPIRED' }]);
    expect((await of('ACTIVE')).ids).toEqual([]);
    expect(await of('EXPIRED')).toEqual({
      ids: [mute],
      total: 1,
      counts: { ban: 2, mute: 1, gag: 0, silence: 0, warn: 1 },
    });
    expect((await list(`/penalties?steamid=${player}&status=EXPIRED`)).ids).toEqual([warn, mute, expired]);
    service.clock.now = NOW;
  });
});

describe('the filters of all four lists', () => {
  const LISTS = {
    '/penalties': NEWEST_FIRST,
    '/bans': [console_, lagging, unbanned, expired],
    '/mutes': [silence, gag, mute],
    '/warns': [warn],
  };
  const without = (ids: unknown[], wanted: unknown[]) => ids.filter((id) => wanted.includes(id));

  for (const [path, all] of Object.entries(LISTS)) {
    test(`${path} by status, as of now`, async () => {
      for (const [status, ids] of [
        ['ACTIVE', [console_, silence, gag, mute]],
        ['EXPIRED', [warn, lagging, expired]],
        ['UNBANNED', [unbanned]],
      ] as const) {
        const wanted = without(all, [...ids]);
        const { ids: found, meta, data } = await list(`${path}?status=${status}`);
        expect([status, found, meta.total]).toEqual([status, wanted, wanted.length]);
        expect(data.every((record) => record.status === status)).toBe(true);
      }
    });

    test(`${path} by server, 0 being none`, async () => {
      for (const [server, ids] of [
        ['0', [console_, warn]],
        ['1', [silence, mute, lagging, expired]],
        ['2', [unbanned]],
        ['0002', [unbanned]],
        ['2147483647', [gag]],
        ['404', []],
      ] as const) {
        const wanted = without(all, [...ids]);
        const { ids: found, meta } = await list(`${path}?server_id=${server}`);
        expect([server, found, meta.total]).toEqual([server, wanted, wanted.length]);
      }
    });

    test(`${path} by player`, async () => {
      for (const [steamId, ids] of [
        [player, [warn, gag, mute, expired]],
        [other, [lagging, unbanned]],
        [third, [silence]],
        [aSteamId(404), []],
      ] as const) {
        const wanted = without(all, [...ids]);
        const { ids: found, meta } = await list(`${path}?steamid=${steamId}`);
        expect([steamId, found, meta.total]).toEqual([steamId, wanted, wanted.length]);
      }
    });

    test(`${path} by date and part of the reason, in every order, with an exact total`, async () => {
      for (const [query, ids] of [
        ['created_from=2026-11-21', [console_, warn, silence, gag, mute, lagging]],
        ['created_to=2026-11-15', [unbanned, expired]],
        ['created_from=2026-11-15&created_to=2026-11-15', [unbanned, expired]],
        ['created_from=2026-11-21T09:20:00Z', [console_, warn, silence]],
        ['created_from=2026-11-21T10:20:00.000%2B01:00', [console_, warn, silence]],
        ['created_from=2026-11-21T10:20+0100', [console_, warn, silence]],
        ['created_to=2026-11-21t04:20:00-05:00', [gag, mute, lagging, unbanned, expired]],
        ['created_from=2026-11-21T09:20Z&created_to=2026-11-21T09:20Z', []],
        ['created_from=0001-01-01&created_to=9999-12-31', NEWEST_FIRST],
        ['reason=LLHac', NEWEST_FIRST.filter((id) => id !== console_)],
        ['reason=%40EVERYone', [console_]],
        ['reason=%25%25%25', []],
        ['sort=-created', NEWEST_FIRST],
        ['sort=created', NEWEST_FIRST.toReversed()],
        // Of the same `created`, and permanent ones: by id in the same direction.
        ['sort=ends', [expired, lagging, mute, unbanned, gag, silence, warn, console_]],
        ['sort=-ends', [mute, lagging, expired, console_, warn, silence, gag, unbanned]],
        ['sort=ends&status=active&created_from=2026-11-21&reason=wall', [mute, gag, silence]],
        ['sort=-ends&server_id=1&created_to=2026-11-21', [mute, lagging, expired, silence]],
      ] as const) {
        const wanted = ids.filter((id) => all.includes(id));
        const { ids: found, meta } = await list(`${path}?${query}`);
        expect([query, found, meta.total]).toEqual([query, wanted, wanted.length]);
      }
    });

    test(`${path} by several at once`, async () => {
      const { ids } = await list(`${path}?steamid=${other}&server_id=2&status=unbanned`);
      expect(ids).toEqual(without(all, [unbanned]));
      expect((await list(`${path}?steamid=${other}&server_id=2&status=active`)).ids).toEqual([]);
    });
  }
});

test.each([
  ['aktywny', 'ACTIVE'],
  ['wYGASŁY', 'EXPIRED'],
  ['wygasły'.normalize('NFD'), 'EXPIRED'],
  ['wygasly', 'EXPIRED'],
  ['odbanowany', 'UNBANNED'],
])('the status %s means %s, percent-encoded or not', async (word, status) => {
  const { text } = await get(`/bans?status=${status}`);
  const bytes = [...Buffer.from(word)].map((byte) => `%${byte.toString(16).padStart(2, '0')}`);
  for (const written of [word, encodeURIComponent(word).toLowerCase(), bytes.join('')])
    expect([written, (await get(`/bans?status=${written}`)).text]).toEqual([written, text]);
});

describe('pages', () => {
  test('pages walk the list without a gap or a repetition', async () => {
    for (const perPage of [1, 3, 7, 8, 100]) {
      const seen: unknown[] = [];
      const lastPage = Math.ceil(8 / perPage);
      for (let page = 1; page <= lastPage; page++) {
        const { ids, meta } = await list(`/penalties?per_page=${perPage}&page=${page}`);
        seen.push(...ids);
        expect(meta).toMatchObject({
          current_page: page,
          per_page: perPage,
          total: 8,
          last_page: lastPage,
        });
      }
      expect(seen).toEqual(NEWEST_FIRST);
    }
  });

  test('pages past the end give 200 without records, and the page asked for', async () => {
    for (const page of [9, 1000, 2_147_483_648]) {
      const { ids, meta } = await list(`/penalties?per_page=1&page=${page}`);
      expect(ids).toEqual([]);
      expect(meta).toMatchObject({ current_page: page, total: 8, last_page: 8 });
    }
    const player = await list(`/bans?steamid=${other}&page=77`);
    expect([player.ids, player.meta.current_page, player.meta.total]).toEqual([[], 77, 2]);
    for (const page of ['9007199254740993', '100000000000000000000', '9'.repeat(5000)]) {
      for (const filter of ['', `&steamid=${other}`, '&steamid=', '&server_id=0']) {
        const { status, body } = await get(`/penalties?page=${page}${filter}`);
        expect([page.length, filter, status]).toEqual([page.length, filter, 200]);
        expect(body).toMatchObject({ success: true, data: [] });
      }
    }
  });

  test('page and per_page that are not positive integers mean the first page, of 50 records', async () => {
    for (const bad of ['0', '-1', '1.5', '1e3', '0x10', 'x', '%00', '%20', 'NaN', 'Infinity', '٣', '-0']) {
      const { meta } = await list(`/penalties?page=${bad}&per_page=${bad}`);
      expect([bad, meta.current_page, meta.per_page]).toEqual([bad, 1, 50]);
    }
  });

  test('a page has at most 100 records', async () => {
    for (const perPage of ['101', '1000', '100000000000000000000', '9'.repeat(5000)]) {
      expect((await list(`/penalties?per_page=${perPage}`)).meta.per_page).toBe(100);
    }
    expect((await list('/penalties?per_page=100')).meta.per_page).toBe(100);
    expect((await list('/penalties?per_page=007')).meta.per_page).toBe(7);
  });

  test('a list without records has one page', async () => {
    expect((await list('/bans?server_id=404')).meta).toMatchObject({
      total: 0,
      last_page: 1,
      current_page: 1,
    });
  });
});

describe('parameters', () => {
  const STATUSES = 'ACTIVE, EXPIRED, UNBANNED (or aktywny, wygasły, odbanowany)';
  test.each([
    ...['kick', 'ban,kick', ',', '%00', '__proto__'].map(
      (type) => [`/penalties?type=${type}`, 'is not known: use ban, mute, gag, silence, warn'] as const,
    ),
    ...['ban', 'mutes', 'gag,mute'].map(
      (type) => [`/mutes?type=${type}`, 'is not known: use gag, mute, silence'] as const,
    ),
    ...['x', '%00', 'ACTIVE%00', 'wygas%C5', 'wygas%ED%A0%80y', '+'].map(
      (status) => [`/bans?status=${status}`, `is not known: use ${STATUSES}`] as const,
    ),
    ...['-1', '2147483648', '100000000000000000000', '1e3', '1.0', '%2B1', '%201', '1%00', '١'].map(
      (id) => [`/bans?server_id=${id}`, "isn't valid: use a whole number from 0 to 2147483647"] as const,
    ),
    ...['0', 'BOT', '%00', `${player}%00`, `+${player}`, `${player}%0a`, '%ED%A0%80'].flatMap((id) =>
      ['steamid', 'admin_steamid'].map(
        (name) => [`/penalties?${name}=${id}`, 'is not a SteamID: use a SteamID64'] as const,
      ),
    ),
  ])('%s is 400 that says what is allowed', async (address, allowed) => {
    const { status, body } = await get(address);
    const [, name = ''] = /\?(.*?)=/.exec(address) ?? [];
    expect(status).toBe(400);
    expect(body).toEqual({ success: false, message: expect.stringContaining(allowed) });
    expect((body as { message: string }).message).toStartWith(`${name} "`);
  });

  const TIME = 'a date (2026-11-21) or a timestamp with offset (2026-11-21T10:00:00+00:00)';
  test.each([
    ...['yesterday', '2026-02-30', '2026-13-01', '20261121', '1763719200', '%00', '0000-01-01'].flatMap(
      (time) => [['created_from', time, TIME] as const, ['created_to', time, TIME] as const],
    ),
    ['created_from', '2026-11-21T10:00:00', TIME],
    ['created_from', '2026-11-21T10:00:00%2B25:00', TIME],
    ['created_to', '9999-12-31T23:59:59-01:00', TIME],
    ['created_to', '0001-01-01T00:00:00%2B01:00', TIME],
    ...['wh', '🎧🎧', 'wall%00hack', 'x'.repeat(65)].map(
      (reason) => ['reason', reason, '3 to 64 characters, without NUL'] as const,
    ),
    ...['newest', 'ENDS', 'id', '-', 'created,ends'].map(
      (sort) => ['sort', sort, '-created, created, ends, -ends'] as const,
    ),
  ])('%s=%s is 400 that says what is allowed', async (name, value, allowed) => {
    for (const path of ['/penalties', '/bans', '/mutes', '/warns']) {
      const { status, body } = await get(`${path}?${name}=${value}`);
      const quoted = JSON.stringify(decodeURIComponent(value).slice(0, 64));
      expect([path, status, body]).toEqual([
        path,
        400,
        { success: false, message: `${name} ${quoted} isn't valid: use ${allowed}` },
      ]);
    }
  });

  test('a period that begins after its end is 400', async () => {
    for (const period of [
      'created_from=2026-11-22&created_to=2026-11-21',
      'created_from=2026-11-22T00:00:00Z&created_to=2026-11-21',
      'created_from=2026-11-21T10:00:00Z&created_to=2026-11-21T10:00:00%2B01:00',
    ]) {
      const { status, body } = await get(`/warns?${period}`);
      expect([period, status]).toEqual([period, 400]);
      expect(body).toEqual({
        success: false,
        message: 'created_from is after created_to: use an earlier created_from',
      });
    }
  });

  test('an empty one counts as absent', async () => {
    const { ids, meta } = await list(
      '/penalties?type=&status=&server_id=&steamid=&admin_steamid=&page=&per_page=',
    );
    expect(ids).toEqual(NEWEST_FIRST);
    expect(meta).toMatchObject({ current_page: 1, per_page: 50 });
    expect((await list('/penalties?type&status&page')).ids).toEqual(NEWEST_FIRST);
  });

  test('the last of a repeated parameter counts; if that is empty, it counts as absent', async () => {
    expect((await list('/penalties?type=kick&type=warn')).ids).toEqual([warn]);
    expect((await list('/penalties?type=warn&type=')).ids).toEqual(NEWEST_FIRST);
    expect((await get('/penalties?type=warn&type=kick')).status).toBe(400);
    expect((await list('/bans?page=7&page=1&per_page=2&per_page=1')).ids).toEqual([console_]);
    expect((await list('/bans?server_id=x&server_id=2')).ids).toEqual([unbanned]);
  });

  test('malformed percent signs and unknown names harm nobody', async () => {
    for (const query of ['%', '%E0%A4%A', 'x=%', '%=%', '&&&=', 'page[]=2', '__proto__=1', 'filter=%00']) {
      expect((await list(`/penalties?${query}`)).ids).toEqual(NEWEST_FIRST);
    }
  });

  test('percent-encoded names are decoded', async () => {
    expect((await list('/penalties?t%79pe=warn')).ids).toEqual([warn]);
  });
});

describe('ids beyond 2^53', () => {
  test('SteamIDs keep every digit', async () => {
    const largest = '76561202255233023';
    await insertPenalties(db, [
      { playerSteamId: largest as typeof player, createdAt: minutes(-20_000), serverId: 77 },
    ]);
    const { data } = await list(`/bans?steamid=${largest}`);
    expect(data).toMatchObject([{ player_steamid: largest }]);
    expect((await list(`/bans?steamid=${BigInt(largest) - 1n}`)).data).toEqual([]);
  });
});
