import { expect, test } from 'bun:test';
import { BASES } from '../../../../api/app.ts';
import { aSteamId, insertPenalties } from '../../../support/database/builders.ts';
import { createTestDatabase } from '../../../support/database/database.ts';
import { aToken, bearer, startTestService } from '../../../support/service/service.ts';

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

test('past the end prev is the last page; an empty list has one page', async () => {
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
    `/penalties?api_token=secret&type=BAN&status=aktywny&server_id=001&steamid=%5BU:1:39734273%5D&admin_steamid=STEAM_0:0:19867586&per_page=500&_=7`,
  );
  const query = `type=ban&status=ACTIVE&server_id=1&steamid=${aSteamId(1)}&admin_steamid=${aSteamId(900)}&per_page=100&page=1`;
  expect(first).toBe(`https://play.example.org/api/v1/penalties?${query}`);
  expect((await linksOf('/mutes?type=Gag')).first).toEndWith('/mutes?type=gag&per_page=50&page=1');
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
