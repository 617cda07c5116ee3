import { expect, test } from 'bun:test';
import { BASES } from '../../../../api/app.ts';
import { importNdjson } from '../../../../src/import/ndjson/ndjson.ts';
import { loadPlayerRecord } from '../../../../src/queries/penalties/player-record.ts';
import { aSteamId, insertPenalties } from '../../../support/database/builders.ts';
import { createTestDatabase } from '../../../support/database/database.ts';
import { tallyDifferences } from '../../../support/database/tallies.ts';
import { importDeps } from '../../../support/import/penalty-rows.ts';
import { aToken, bearer, NOW, startTestService } from '../../../support/service/service.ts';

const database = await createTestDatabase();
const { db } = database;
const { token } = await aToken(db, 900);
await insertPenalties(
  db,
  (['ban', 'mute', 'gag', 'warn'] as const).flatMap((type) => Array.from({ length: 5 }, () => ({ type }))),
);
const service = await startTestService({ databaseUrl: database.url });

type Links = Partial<Record<'first' | 'prev' | 'next' | 'last', string>>;

function parseLinks(header: string | null): Links {
  const links: Record<string, string> = {};
  for (const link of (header ?? '').split(', ')) {
    const [, address = '', rel = ''] = /^<([^>]*)>; rel="([a-z]+)"$/.exec(link) ?? [];
    links[rel] = address;
  }
  return links;
}

async function linksOf(path: string): Promise<Links> {
  const { status, headers } = await service.get(path, bearer(token));
  expect([path, status]).toEqual([path, 200]);
  return parseLinks(headers.get('link'));
}

test('links are absolute by PUBLIC_URL, and lead to the base that was asked', async () => {
  for (const base of BASES) {
    const { headers } = await service.ask(`${base}/bans?per_page=2&page=2`, bearer(token));
    const page = (number: number) => `https://play.example.org${base}/bans?per_page=2&page=${number}`;
    expect(headers.get('link')).toBe(
      `<${page(1)}>; rel="first", <${page(1)}>; rel="prev", <${page(3)}>; rel="next", <${page(3)}>; rel="last"`,
    );
    expect(headers.get('access-control-expose-headers')?.split(', ')).toContain('Link');
  }
});

test('every list has them; there is no prev on the first page and no next on the last', async () => {
  for (const [path, lastPage] of [
    ['/penalties', 10],
    ['/bans', 3],
    ['/mutes', 5],
    ['/warns', 3],
  ] as const) {
    const page = (number: number) => `https://play.example.org/api/v1${path}?per_page=2&page=${number}`;
    const ends = { first: page(1), last: page(lastPage) };
    expect(await linksOf(`${path}?per_page=2`)).toEqual({ ...ends, next: page(2) });
    expect(await linksOf(`${path}?per_page=2&page=${lastPage}`)).toEqual({
      ...ends,
      prev: page(lastPage - 1),
    });
    expect(await linksOf(`${path}?page=2&per_page=2`)).toEqual({ ...ends, prev: page(1), next: page(3) });
  }
});

test('prev is the last page past the end; an empty list has one page', async () => {
  const { prev, next, last } = await linksOf('/bans?per_page=2&page=77');
  expect([prev, next, last]).toEqual([
    'https://play.example.org/api/v1/bans?per_page=2&page=3',
    undefined,
    'https://play.example.org/api/v1/bans?per_page=2&page=3',
  ]);
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

test('following next from the first page walks the whole list once', async () => {
  const ids: number[] = [];
  let next: string | undefined = 'https://play.example.org/api/v1/mutes?per_page=3';
  while (next) {
    const { pathname, search } = new URL(next);
    const { body, headers } = await service.ask(`${pathname}${search}`, bearer(token));
    ids.push(...(body as { data: { id: number }[] }).data.map(({ id }) => id));
    next = parseLinks(headers.get('link')).next;
  }
  expect(ids).toEqual(ids.toSorted((one, other) => other - one));
  expect(new Set(ids).size).toBe(10);
});

test('HEAD has them as well, errors have none', async () => {
  const { headers } = await service.get('/bans', { ...bearer(token), method: 'HEAD' });
  expect(parseLinks(headers.get('link')).first).toBeDefined();
  expect((await service.get('/bans?status=open', bearer(token))).headers.get('link')).toBeNull();
  expect((await service.get('/bans')).headers.get('link')).toBeNull();
});

const ask = (path: string) => service.get(path, bearer(token));
const LISTS = ['/penalties', '/bans', '/mutes', '/warns'];
/** Refused exports do not count among an owner's six an hour. */
const EXPORT = '/penalties/export';

async function expectRefused(path: string, [key, meant]: readonly [string, string]): Promise<void> {
  const { status, body } = await ask(`${path}?${key}=1`);
  expect([path, key, status, body]).toEqual([
    path,
    key,
    400,
    {
      success: false,
      message: `unknown parameter "${decodeURIComponent(key)}": did you mean ${meant}?`,
    },
  ]);
}

/** What is meant, and the keys that are nearly its name or its name elsewhere. */
const MISSES = {
  steamid: 'steam_id player_steamid playerSteamId steamid64 steamids staemid SteamID player',
  server_id: 'serverid server-id serverId server sevrer_id',
  status: 'stauts STATUS state status%5B%5D statu%73%20',
  created_from: 'createdFrom create_from from since',
  created_to: 'craeted_to to until',
  reason: 'reasno',
  '/players/search': 'q search name player_name',
};
/** The export has neither, and names the list that does. */
const PAGE_MISSES = { sort: 'order', per_page: 'limit per-page', page: 'offset' };
/** Filters that only some lists have, and the other lists. */
const PARTIAL_MISSES = [
  ['admin_steamid', 'adminsteamid admin_steam_id admin', ['/bans', '/mutes', '/warns']],
  ['type', 'penalty_type types tpye Type', ['/bans', '/warns']],
] as const;

test('every list refuses a near miss of the name of one of its filters, and names the filter', async () => {
  for (const path of [...LISTS, EXPORT]) {
    for (const [meant, keys] of Object.entries(MISSES))
      for (const key of keys.split(' ')) await expectRefused(path, [key, meant]);
    for (const [meant, keys] of Object.entries(PAGE_MISSES))
      for (const key of keys.split(' '))
        await expectRefused(path, [key, path === EXPORT ? `${meant} of /penalties` : meant]);
  }
  for (const path of LISTS) await expectRefused(path, ['srot', 'sort']);
});

test.each(PARTIAL_MISSES)('accepts the filter %s only on lists that have it', async (meant, keys, others) => {
  for (const key of keys.split(' ')) {
    for (const path of [...LISTS, EXPORT]) {
      if (others.some((other) => other === path)) expect((await ask(`${path}?${key}=1`)).status).toBe(200);
      else await expectRefused(path, [key, meant]);
    }
  }
});

test('any other unknown key is ignored, as cache busters are', async () => {
  for (const path of LISTS) {
    const { text } = await ask(path);
    for (const key of [
      ...['_', 't', 'ts', 'v', 'cb', 'rnd', 'nocache', 'time', 'timestamp', 'date', 'utm_source'],
      ...['id', 'per_pag', 'Page', 'steam_account', '__proto__', '%00', '', '🎧'],
    ]) {
      const { status, text: same } = await ask(`${path}?${key}=1`);
      expect([path, key, status, same]).toEqual([path, key, 200, text]);
    }
  }
});

test('an export ignores any other unknown key', async () => {
  const { status } = await service.ask(`/api/v1${EXPORT}?_=1&utm_source=x&id=7`, bearer(token));
  expect(status).toBe(200);
});

test('a near miss is refused beside the filter itself, empty or not; limit and token come first', async () => {
  expect((await ask(`/bans?steamid=${aSteamId(1)}&steam_id=`)).status).toBe(400);
  expect((await service.get('/bans?steam_id=1')).status).toBe(401);
});

test('names of parameters of other routes are ignored', async () => {
  const path = `/penalties/active?steamids=${aSteamId(1)}`;
  expect((await ask(`${path}&status=x&steamid=x`)).status).toBe(200);
});

test('records that share a shown second are ordered by id, whatever milliseconds their source kept', async () => {
  const database = await createTestDatabase();
  const service = await startTestService({ databaseUrl: database.url });
  const { token } = await aToken(database.db);

  type Body = { data: { id: number; reason: string; created: string }[]; meta: { total: number } };
  async function list(path: string): Promise<Body> {
    const { status, body } = await service.get(path, bearer(token));
    expect([path, status]).toEqual([path, 200]);
    return body as Body;
  }

  const fractions = ['.900', '.100', '', '.999', '.000', '.500'];
  const lines = fractions.map((fraction, index) =>
    JSON.stringify({
      penalty_type: 'ban',
      player_steamid: aSteamId(1),
      created: `2026-11-21T09:00:00${fraction}Z`,
      ends: `2026-11-21T13:00:00${fraction}Z`,
      reason: `line ${index}`,
    }),
  );
  const chunks = () => new Blob([lines.join('\n')]).stream();
  await importNdjson(importDeps(database), { chunks: chunks() });
  // A writer other than an importer.
  await insertPenalties(database.db, [
    { reason: 'line 6', createdAt: new Date('2026-11-21T09:00:00.700Z') },
    { reason: 'line 7', createdAt: new Date('2026-11-21T09:00:00.200Z') },
  ]);
  const newestFirst = [7, 6, 5, 4, 3, 2, 1, 0].map((number) => `line ${number}`);

  const { data, meta } = await list('/penalties');
  expect(data.map(({ reason }) => reason)).toEqual(newestFirst);
  expect(new Set(data.map(({ created }) => created))).toEqual(new Set(['2026-11-21T09:00:00+00:00']));
  expect(meta.total).toBe(8);
  const walked: string[] = [];
  for (let page = 1; page <= 4; page++) {
    const { data } = await list(`/bans?steamid=${aSteamId(1)}&per_page=2&page=${page}`);
    walked.push(...data.map(({ reason }) => reason));
  }
  expect(walked).toEqual(newestFirst);
  const record = await loadPlayerRecord(database.db, aSteamId(1), { page: 1, perPage: 8, now: NOW });
  expect(record.rows.map(({ reason }) => reason)).toEqual(newestFirst);

  expect(await importNdjson(importDeps(database), { chunks: chunks() })).toMatchObject({
    added: 0,
    changed: 0,
    unchanged: 6,
  });
  expect(await tallyDifferences(database.connection)).toEqual([]);
});
