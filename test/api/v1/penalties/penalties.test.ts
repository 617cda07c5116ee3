import { describe, expect, test } from 'bun:test';
import { insertPenalties } from '../../../support/database/builders.ts';
import { openPenaltyLists } from '../../../support/http/penalty-lists.ts';
import { bearer, headersOf, NOW } from '../../../support/service/service.ts';

const {
  db,
  service,
  token,
  get,
  list,
  player,
  otherAdmin,
  minutes,
  expired,
  unbanned,
  lagging,
  mute,
  gag,
  silence,
  warn,
  console_,
  CONSOLE_BAN,
  LAGGING_BAN,
  UNBANNED_BAN,
  EXPIRED_BAN,
  MUTE,
  GAG,
  SILENCE,
  WARN,
  CACHED_AT,
} = await openPenaltyLists();

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

  test('is private, and says so', async () => {
    const headers = headersOf(await service.ask('/api/v1/penalties', bearer(token)));
    expect(headers).toEqual({
      'access-control-allow-origin': '*',
      'access-control-expose-headers':
        'ETag, Link, RateLimit, RateLimit-Policy, Retry-After, X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset',
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

  test('refuses a type that is not one of mutes, and lists those that are', async () => {
    for (const type of ['ban', 'warn', 'mutes']) {
      const { status, body } = await get(`/mutes?type=${type}`);
      expect([type, status]).toEqual([type, 400]);
      expect(body).toEqual({
        success: false,
        message: `type "${type}" is not known: use gag, mute, silence`,
      });
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
