import { beforeEach, describe, expect, test } from 'bun:test';
import { BASES } from '../../../api/app.ts';
import { commonHeaders } from '../../../api/http/responses.ts';
import { createTestDatabase } from '../../support/database/database.ts';
import { countStatuses } from '../../support/http/steady-load.ts';
import { aToken, bearer, headersOf, NOW, startTestService } from '../../support/service/service.ts';

const { db, url: databaseUrl } = await createTestDatabase();
// No limit is set, so those of the specification apply.
const service = await startTestService({
  databaseUrl,
  env: { RATE_LIMIT_PUBLIC: '', RATE_LIMIT_PROTECTED: '', TRUSTED_PROXIES: '127.0.0.1, 10.0.0.0/8' },
});
const first = await aToken(db, 1);
const second = await aToken(db, 1);
const others = await aToken(db, 2);

/** Each test has its full limit, since ten minutes pass between tests; only the monotonic clock counts. */
beforeEach(() => {
  service.clock.now = NOW;
  service.clock.monotonicMs += 600_000;
});
const passSeconds = (seconds: number) => {
  service.clock.monotonicMs += seconds * 1000;
};

const publicly = (headers: Record<string, string> = {}, base = '/api/v1') =>
  service.ask(`${base}/servers`, { headers });
const withToken = (token: string, path = '/bans') => service.ask(`/api/v1${path}`, bearer(token));
const times = <T>(count: number, ask: (i: number) => Promise<T>) =>
  Promise.all(Array.from({ length: count }, (_, i) => ask(i)));

test('the seconds until a high limit is reset are those of its window at most', () => {
  // Above 64 the times of requests are rounded up.
  const decision = { isAllowed: true, limit: 100, remaining: 99, resetSeconds: 62 };
  expect(commonHeaders('public', decision, '')).toMatchObject({ RateLimit: '"public";r=99;t=60' });
});

describe('public requests', () => {
  test('public requests pass 30 times a minute, exactly, however many come at once and under whichever base', async () => {
    const responses = await times(200, (i) => publicly({}, BASES[i % 2]));
    expect(countStatuses(responses)).toEqual({ 200: 30, 429: 170 });
    const left = responses
      .filter(({ status }) => status === 200)
      .map(({ headers }) => Number(headers.get('x-ratelimit-remaining')));
    expect(left.sort((a, b) => a - b)).toEqual(Array.from({ length: 30 }, (_, i) => i));
  });

  test('public responses state the limit, the remaining requests and the time of reset in both sets of headers', async () => {
    const one = headersOf(await publicly());
    expect(one).toMatchObject({
      'x-ratelimit-limit': '30',
      'x-ratelimit-remaining': '29',
      'ratelimit-policy': '"public";q=30;w=60',
      ratelimit: '"public";r=29;t=60',
    });
    expect(one).not.toHaveProperty('retry-after');
    expect(one).not.toHaveProperty('x-ratelimit-reset');
    passSeconds(18);
    expect(headersOf(await publicly())).toMatchObject({
      'x-ratelimit-remaining': '28',
      ratelimit: '"public";r=28;t=42',
    });
  });

  test('public requests past the limit get 429 with Retry-After and X-RateLimit-Reset, which no cache keeps', async () => {
    await times(30, () => publicly());
    passSeconds(17.5);
    service.clock.now = new Date(NOW.getTime() + 17_500);
    const response = await publicly();
    expect([response.status, response.body]).toEqual([429, { success: false, message: 'Too many requests' }]);
    expect(headersOf(response)).toEqual({
      'access-control-allow-origin': '*',
      'access-control-expose-headers':
        'ETag, Link, RateLimit, RateLimit-Policy, Retry-After, X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset, X-Request-Id',
      'cache-control': 'no-store',
      'content-type': 'application/json; charset=utf-8',
      ratelimit: '"public";r=0;t=43',
      'ratelimit-policy': '"public";q=30;w=60',
      'retry-after': '43',
      'x-ratelimit-limit': '30',
      'x-ratelimit-remaining': '0',
      'x-ratelimit-reset': String(Math.ceil(service.clock.now.getTime() / 1000) + 43),
    });
    passSeconds(43);
    expect((await publicly()).status).toBe(200);
  });

  test('public requests count whatever their response is: 304, 404, 405, HEAD', async () => {
    for (const [path, init] of [
      ['/servers', { headers: { 'If-None-Match': '*' } }],
      ['/servers/nope', {}],
      ['/nope', {}],
      ['/servers', { method: 'POST' }],
      ['/servers', { method: 'HEAD' }],
    ] as const) {
      await service.ask(`/api/v1${path}`, init);
    }
    expect(headersOf(await publicly())).toMatchObject({ 'x-ratelimit-remaining': '24' });
  });

  test('preflights, /healthz, /readyz, /swagger and /storage do not count as public requests', async () => {
    const headers = { Origin: 'https://website.example', 'Access-Control-Request-Method': 'GET' };
    await times(40, () => service.ask('/api/v1/servers', { method: 'OPTIONS' }));
    await times(40, () => service.ask('/api/v1/nowhere', { method: 'OPTIONS', headers }));
    const others = '/healthz /readyz /swagger /swagger/json /storage/roundsound/76561198000000001.mp3';
    for (const path of others.split(' ')) {
      const responses = await times(35, () => service.ask(path));
      expect([path, countStatuses(responses)[429]]).toEqual([path, undefined]);
      expect(responses[0]?.headers.has('x-ratelimit-limit')).toBe(false);
    }
    expect(headersOf(await publicly())).toMatchObject({ 'x-ratelimit-remaining': '29' });
  });

  test('public requests do not count against a token, nor the other way round', async () => {
    await times(30, () => publicly());
    expect((await withToken(first.token)).headers.get('x-ratelimit-remaining')).toBe('59');
    expect((await withToken(others.token, '/servers')).status).toBe(429);
  });
});

test('public requests count for the rightmost hop behind a trusted proxy, whatever was forged left of it, and a /64 of IPv6 as one', async () => {
  const ask = (i: number) => publicly({ 'X-Forwarded-For': `198.51.100.${i}, 203.0.113.7, 10.0.0.${i % 5}` });
  expect(countStatuses(await times(40, ask))).toEqual({ 200: 30, 429: 10 });
  expect((await publicly({ 'X-Forwarded-For': '203.0.113.8' })).status).toBe(200);
  const inside = (i: number) => publicly({ 'X-Forwarded-For': `2001:db8:0:1:${i.toString(16)}::${i}` });
  expect(countStatuses(await times(40, inside))).toEqual({ 200: 30, 429: 10 });
});

describe('protected requests', () => {
  test("an owner's requests pass 60 times a minute, exactly, over all their tokens, addresses and both ways to send them", async () => {
    const responses = await times(200, (i) => {
      const { token } = i % 2 ? first : second;
      const headers = { 'X-Forwarded-For': `198.51.100.${i}` };
      return i % 3
        ? service.ask('/api/v1/bans', { headers: { ...bearer(token).headers, ...headers } })
        : service.ask(`${BASES[1]}/bans?api_token=${token}`, { headers });
    });
    expect(countStatuses(responses)).toEqual({ 200: 60, 429: 140 });
    expect((await withToken(others.token)).status).toBe(200);
  });

  test('protected responses state the limit in their headers, and are private when refused', async () => {
    expect(headersOf(await withToken(first.token))).toMatchObject({
      'x-ratelimit-limit': '60',
      'x-ratelimit-remaining': '59',
      'ratelimit-policy': '"protected";q=60;w=60',
      ratelimit: '"protected";r=59;t=60',
    });
    await times(59, () => withToken(first.token));
    const refused = await withToken(first.token);
    expect([refused.status, refused.body]).toEqual([429, { success: false, message: 'Too many requests' }]);
    expect(headersOf(refused)).toMatchObject({
      'cache-control': 'private, no-store',
      vary: 'Authorization',
      'retry-after': '60',
      'x-ratelimit-remaining': '0',
      'x-ratelimit-reset': String(service.clock.now.getTime() / 1000 + 60),
    });
  });

  test('requests without a token, or with a bad one, count by address, not against token owners', async () => {
    const responses = await times(80, (i) =>
      i % 2 ? service.ask('/api/v1/bans') : withToken('capi_000000000000000000000000000000000000'),
    );
    expect(countStatuses(responses)).toEqual({ 401: 60, 429: 20 });
    expect((await withToken(first.token)).headers.get('x-ratelimit-remaining')).toBe('59');
    const elsewhere = await service.ask('/api/v1/bans', { headers: { 'X-Forwarded-For': '203.0.113.10' } });
    expect(elsewhere.status).toBe(401);
  });

  test('a live token never seen before passes from an address that used up its limit without one', async () => {
    await times(80, () => service.ask('/api/v1/bans'));
    const fresh = await aToken(db, 3);
    expect((await withToken(fresh.token)).headers.get('x-ratelimit-remaining')).toBe('59');
  });

  test('judges the limit before token and parameters', async () => {
    await times(60, () => service.ask('/api/v1/bans'));
    expect((await service.ask('/api/v1/bans?status=x')).status).toBe(429);
    await times(60, () => withToken(first.token, '/bans?status=x'));
    expect((await withToken(first.token, '/bans?status=x')).status).toBe(429);
  });
});
