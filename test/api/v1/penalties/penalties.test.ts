import { describe, expect, test } from 'bun:test';
import { BASES } from '../../../../api/app.ts';
import { type SteamId64, UNKNOWN_STEAM_ID } from '../../../../src/domain/steam-id.ts';
import { aSteamId, insertPenalties } from '../../../support/database/builders.ts';
import { bearer, NOW, openTestApi } from '../../../support/service/service.ts';

type Body = { data: Record<string, unknown>[]; meta: Record<string, unknown> };

const { db, service, token, get } = await openTestApi();

const minutes = (count: number) => new Date(NOW.getTime() + count * 60_000);
/** The last one has the largest SteamID there is: beyond 2^53, where numbers lose digits. */
const [player, other, third] = [aSteamId(1), aSteamId(2), '76561202255233023' as SteamId64];
const [admin, otherAdmin] = [aSteamId(900), aSteamId(901)];

const STRANGE_REASON = '<i>"x"</i> \\ 🎧 \u202Ertl \u200B @everyone';
// Oldest first: the lists give them the other way round.
const rows = await insertPenalties(db, [
  { createdAt: minutes(-9000), durationMinutes: 60, endsAt: minutes(-8940), status: 'EXPIRED' },
  { createdAt: minutes(-8000), status: 'UNBANNED', playerSteamId: other, serverId: 2 },
  // The status stored lags behind the clock.
  { createdAt: minutes(-100), durationMinutes: 100, endsAt: minutes(0), playerSteamId: other },
  {
    type: 'mute',
    createdAt: minutes(-50),
    endsAt: minutes(10),
    durationMinutes: 60,
    adminSteamId: otherAdmin,
  },
  { type: 'gag', createdAt: minutes(-50), serverId: 2_147_483_647 },
  { type: 'silence', createdAt: minutes(-40), playerSteamId: third, adminSteamId: otherAdmin },
  { type: 'warn', createdAt: minutes(-30), status: 'EXPIRED', serverId: 0 },
  {
    createdAt: new Date('2026-11-21T09:59:59.999Z'),
    playerSteamId: UNKNOWN_STEAM_ID,
    playerName: '',
    adminName: 'Console',
    adminSteamId: UNKNOWN_STEAM_ID,
    serverId: 0,
    reason: STRANGE_REASON,
  },
]);
const [expired, unbanned, lagging, mute, gag, silence, warn, console_] = rows.map(({ id }) => id);

async function list(path: string): Promise<Body & { ids: unknown[] }> {
  const { status, body } = await get(path);
  expect([path, status]).toEqual([path, 200]);
  const { data, meta } = body as Body;
  return { data, meta, ids: data.map(({ id }) => id) };
}

type Links = Partial<Record<'first' | 'prev' | 'next' | 'last', string>>;

async function linksOf(path: string): Promise<Links> {
  const { status, headers } = await get(path);
  expect([path, status]).toEqual([path, 200]);
  const links = headers.get('link')?.matchAll(/(?:^|, )<([^>]*)>; rel="([a-z]+)"(?=, |$)/g) ?? [];
  return Object.fromEntries([...links].map(([, address, rel]) => [rel, address]));
}

const BAN = {
  player_name: 'Rzeźnik',
  player_steamid: player,
  admin_name: 'Ala',
  admin_steamid: admin,
  reason: 'Wallhack',
  duration: 0,
  status: 'ACTIVE',
  server_id: 1,
  ends: null as string | null,
};
/** A record as /penalties shows it. */
const aRecord = (id: unknown, penalty_type: string, created: string, values: Partial<typeof BAN> = {}) => ({
  ...BAN,
  id,
  penalty_type,
  created,
  ...values,
});
const RECORDS = [
  aRecord(console_, 'ban', '2026-11-21T09:59:59+00:00', {
    player_name: '',
    player_steamid: UNKNOWN_STEAM_ID,
    admin_name: 'Console',
    admin_steamid: UNKNOWN_STEAM_ID,
    server_id: 0,
    reason: STRANGE_REASON,
  }),
  aRecord(warn, 'warn', '2026-11-21T09:30:00+00:00', { status: 'EXPIRED', server_id: 0 }),
  aRecord(silence, 'silence', '2026-11-21T09:20:00+00:00', {
    player_steamid: third,
    admin_steamid: otherAdmin,
  }),
  // Created in the same second: the higher id first.
  aRecord(gag, 'gag', '2026-11-21T09:10:00+00:00', { server_id: 2_147_483_647 }),
  aRecord(mute, 'mute', '2026-11-21T09:10:00+00:00', {
    admin_steamid: otherAdmin,
    duration: 60,
    ends: '2026-11-21T10:10:00+00:00',
  }),
  aRecord(lagging, 'ban', '2026-11-21T08:20:00+00:00', {
    player_steamid: other,
    duration: 100,
    status: 'EXPIRED',
    ends: '2026-11-21T10:00:00+00:00',
  }),
  aRecord(unbanned, 'ban', '2026-11-15T20:40:00+00:00', {
    player_steamid: other,
    status: 'UNBANNED',
    server_id: 2,
  }),
  aRecord(expired, 'ban', '2026-11-15T04:00:00+00:00', {
    duration: 60,
    status: 'EXPIRED',
    ends: '2026-11-15T05:00:00+00:00',
  }),
];
const NEWEST_FIRST = RECORDS.map(({ id }) => id);
const withoutType = ({ penalty_type: _, ...record }: (typeof RECORDS)[number]) => record;
const recordsOf = (...types: string[]) => RECORDS.filter(({ penalty_type }) => types.includes(penalty_type));
/** Every list, with its records as it shows them. */
const LISTS = {
  '/penalties': RECORDS,
  '/bans': recordsOf('ban').map(withoutType),
  '/mutes': recordsOf('mute', 'gag', 'silence').map(({ penalty_type: type, ...record }) => ({
    type,
    ...record,
  })),
  '/warns': recordsOf('warn').map(withoutType),
};
const ALL_COUNTS = { ban: 4, mute: 1, gag: 1, silence: 1, warn: 1 };
const CACHED_AT = '2026-11-21T10:00:00+00:00';

test.each([
  ['/penalties lists every type, newest first, with exactly the fields of 2.3 and 2.4', '/penalties'],
  ['/bans lists bans without penalty_type, and meta without counts', '/bans'],
  ['/mutes lists mutes, gags and silences, each with its type', '/mutes'],
  ['/warns lists warnings with the fields of a ban', '/warns'],
] as const)('%s', async (_, path) => {
  const { status, body } = await get(path);
  const total = LISTS[path].length;
  const pages = { current_page: 1, total, per_page: 50, last_page: 1, cached_at: CACHED_AT };
  const meta = path === '/penalties' ? { ...pages, counts: ALL_COUNTS } : pages;
  expect([status, body]).toStrictEqual([200, { success: true, data: LISTS[path], meta }]);
});

describe('GET /penalties', () => {
  test.each([
    ['ban', [console_, lagging, unbanned, expired]],
    ['MUTE', [mute]],
    ['Gag', [gag]],
    ['silence', [silence]],
    ['wArN', [warn]],
    ['warn,BAN', [console_, warn, lagging, unbanned, expired]],
    [',gag, gag,', [gag]],
  ])('filters by the type %s in any letter case; counts stay those of every type', async (type, ids) => {
    const { ids: found, meta } = await list(`/penalties?type=${type}`);
    expect(found).toEqual(ids);
    expect(meta).toMatchObject({ total: ids.length, counts: ALL_COUNTS });
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

test('/bans ignores type and admin_steamid', async () => {
  expect((await list('/bans?type=mute&admin_steamid=x')).ids).toHaveLength(4);
});

test.each([
  ['gag', gag],
  ['MUTE', mute],
  ['Silence', silence],
])('/mutes filters by the type %s in any letter case', async (type, id) => {
  const { ids, meta } = await list(`/mutes?type=${type}`);
  expect([ids, meta.total]).toEqual([[id], 1]);
});

test('a penalty that ends between two requests is ACTIVE in the first, EXPIRED in the second', async () => {
  const ACTIVE = '/mutes?type=mute&status=ACTIVE';
  const EXPIRED = `/penalties?steamid=${player}&status=EXPIRED`;
  service.clock.now = new Date(minutes(10).getTime() - 1);
  expect((await list(ACTIVE)).data).toMatchObject([{ id: mute, status: 'ACTIVE' }]);
  expect((await list(EXPIRED)).ids).toEqual([warn, expired]);

  // To the millisecond: a penalty that ends now has ended.
  service.clock.now = minutes(10);
  expect((await list(ACTIVE)).ids).toEqual([]);
  const { data, meta } = await list(EXPIRED);
  expect(data).toMatchObject([{ id: warn }, { id: mute, status: 'EXPIRED' }, { id: expired }]);
  expect(meta).toMatchObject({ total: 3, counts: { ban: 1, mute: 1, gag: 0, silence: 0, warn: 1 } });
  service.clock.now = NOW;
});

test.each([
  ['status=ACTIVE', [console_, silence, gag, mute]],
  ['status=EXPIRED', [warn, lagging, expired]],
  ['status=UNBANNED', [unbanned]],
  ['server_id=0', [console_, warn]],
  ['server_id=1', [silence, mute, lagging, expired]],
  ['server_id=2', [unbanned]],
  ['server_id=0002', [unbanned]],
  ['server_id=2147483647', [gag]],
  ['server_id=404', []],
  [`steamid=${player}`, [warn, gag, mute, expired]],
  [`steamid=${other}`, [lagging, unbanned]],
  [`steamid=${third}`, [silence]],
  [`steamid=${BigInt(third) - 1n}`, []],
  [`steamid=${aSteamId(404)}`, []],
  [`steamid=${other}&server_id=2&status=unbanned`, [unbanned]],
  [`steamid=${other}&server_id=2&status=active`, []],
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
])('all four lists take %s, with an exact total', async (query, ids) => {
  for (const [path, records] of Object.entries(LISTS)) {
    const wanted = ids.flatMap((id) => records.filter((record) => record.id === id));
    const { data, meta } = await list(`${path}?${query}`);
    expect([path, data, meta.total]).toEqual([path, wanted, wanted.length]);
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
        expect(meta).toMatchObject({ current_page: page, per_page: perPage, total: 8, last_page: lastPage });
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
});

describe('links to other pages', () => {
  test('links are absolute by PUBLIC_URL, and lead to the base that was asked', async () => {
    for (const base of BASES) {
      const { headers } = await service.ask(`${base}/bans?per_page=1&page=2`, bearer(token));
      const page = (number: number) => `https://play.example.org${base}/bans?per_page=1&page=${number}`;
      expect(headers.get('link')).toBe(
        `<${page(1)}>; rel="first", <${page(1)}>; rel="prev", <${page(3)}>; rel="next", <${page(4)}>; rel="last"`,
      );
    }
  });

  test('every list has links; there is no prev on the first page and no next on the last', async () => {
    for (const [path, { length }] of Object.entries(LISTS)) {
      const at = (page: number) => `https://play.example.org/api/v1${path}?per_page=1&page=${page}`;
      for (let page = 1; page <= length; page++) {
        expect(await linksOf(`${path}?page=${page}&per_page=1`)).toEqual({
          first: at(1),
          ...(page > 1 && { prev: at(page - 1) }),
          ...(page < length && { next: at(page + 1) }),
          last: at(length),
        });
      }
    }
  });

  test('prev is the last page past the end; an empty list has one page', async () => {
    const last = 'https://play.example.org/api/v1/bans?per_page=2&page=2';
    const { first: _, ...links } = await linksOf('/bans?per_page=2&page=77');
    expect(links).toEqual({ prev: last, last });
    const only = 'https://play.example.org/api/v1/bans?server_id=404&per_page=50&page=1';
    expect(await linksOf('/bans?server_id=404')).toEqual({ first: only, last: only });
    expect(await linksOf('/bans?server_id=404&page=9')).toEqual({ first: only, prev: only, last: only });
  });

  test('filters are kept in canonical form, however they were given; tokens and unknown keys are dropped', async () => {
    const { first } = await linksOf(
      `/penalties?api_token=secret&type=BAN&status=aktywny&server_id=001&steamid=%5BU:1:39734273%5D&admin_steamid=STEAM_0:0:19867586&per_page=500&_=7&sort=ends&reason=a+b%26&created_to=2026-11-21&created_from=2026-11-21T01:00+01:00`,
    );
    const query = `type=ban&status=ACTIVE&server_id=1&steamid=${aSteamId(1)}&admin_steamid=${aSteamId(900)}&created_from=2026-11-21T00%3A00%3A00.000Z&created_to=2026-11-21T23%3A59%3A59.999Z&reason=a+b%26&sort=ends&per_page=100&page=1`;
    expect(first).toBe(`https://play.example.org/api/v1/penalties?${query}`);
    expect((await linksOf('/mutes?type=Gag')).first).toEndWith('/mutes?type=gag&per_page=50&page=1');
    expect((await linksOf('/penalties?type=warn,BAN,warn')).first).toContain('?type=ban%2Cwarn&');
    expect((await linksOf('/mutes')).first).toEndWith('/mutes?per_page=50&page=1');
    const byToken = await service.ask(`/api/v1/bans?api_token=${token}`);
    expect(byToken.status).toBe(200);
    expect(byToken.headers.get('link')).not.toContain(token);
  });
});

describe('parameters', () => {
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
