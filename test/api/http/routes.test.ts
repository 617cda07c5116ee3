import { describe, expect, test } from 'bun:test';
import { BASES } from '../../../api/app.ts';
import { aSteamId, insertPenalties, insertServer } from '../../support/database/builders.ts';
import { createTestDatabase } from '../../support/database/database.ts';
import { sendRaw } from '../../support/http/raw-http.ts';
import { aToken, bearer, headersOf, startTestService } from '../../support/service/service.ts';

const { db, url } = await createTestDatabase();
await insertServer(db, { slug: 'one', name: 'One' });
await insertPenalties(db, [{ type: 'ban' }]);
const { token } = await aToken(db, 1);
const service = await startTestService({ databaseUrl: url });

/** Paths below a base that are 200. */
const PUBLIC_PATHS = [
  '/servers',
  '/servers/one',
  '/servers/1/players',
  '/servers/one/history',
  `/players/${aSteamId(1)}/roundsound`,
  `/players/roundsounds?steamids=${aSteamId(1)}`,
];
/** Takes no parameter, and reads no query. */
const STEAM_BANS = `/players/${aSteamId(1)}/steam-bans`;
/** The same with a token. */
const PROTECTED_PATHS = [
  '/penalties',
  '/bans',
  '/mutes',
  '/warns',
  '/penalties/changes',
  `/penalties/active?steamids=${aSteamId(1)}`,
  `/users/lookup?steamid64=${aSteamId(1)}`,
  `/users/lookup/batch?steamids=${aSteamId(1)},${aSteamId(2)}`,
  '/players/search?name=player',
  STEAM_BANS,
];
const PATHS = [...PUBLIC_PATHS, ...PROTECTED_PATHS];
const NOT_FOUND = { success: false, message: 'Not found' };
const NOT_ALLOWED = { success: false, message: 'Method not allowed: use GET, HEAD, OPTIONS' };

describe('both bases', () => {
  test('answer the same bytes and headers, on every path, with a trailing slash or without', async () => {
    for (const path of PATHS) {
      // `get` fails where they differ.
      const plain = await service.get(path, bearer(token));
      const slashed = await service.get(path.replace(/(\?|$)/, '/$1'), bearer(token));
      expect([path, plain.status, slashed.status]).toEqual([path, 200, 200]);
      expect(slashed.text).toBe(plain.text);
    }
  });
});

describe('HEAD', () => {
  test('gives the headers of GET and not one byte after them, on every path', async () => {
    for (const base of BASES) {
      for (const path of PATHS) {
        // Not by fetch, which reads no body of a response to HEAD.
        const get = await sendRaw(service.origin, `${base}${path}`, bearer(token));
        const head = await sendRaw(service.origin, `${base}${path}`, { ...bearer(token), method: 'HEAD' });
        expect([path, head.status, head.text]).toEqual([path, get.status, '']);
        expect([path, head.headers.get('date')]).toEqual([path, expect.stringMatching(/^[^,]+, [^,]+ GMT$/)]);
        const changing = { 'x-ratelimit-remaining': '', ratelimit: '' };
        expect({ path, ...headersOf(head), ...changing }).toEqual({ path, ...headersOf(get), ...changing });
        expect(Number(head.headers.get('content-length'))).toBeGreaterThan(0);
      }
    }
  });

  test('HEAD of a stream has no length, since nobody knows it', async () => {
    for (const path of ['/penalties/export', '/events']) {
      const { headers } = bearer(token);
      const target = `/api/v1${path}`;
      const head = await sendRaw(service.origin, target, { method: 'HEAD', headers });
      expect([path, head.status, head.text]).toEqual([path, 200, '']);
      expect(head.headers.get('content-length')).toBeNull();
      expect(head.headers.get('transfer-encoding')).toBe('chunked');
    }
  });

  test('gives errors their status, without a body', async () => {
    for (const [path, status] of [
      ['/servers/nope', 404],
      ['/nope', 404],
      ['/players/roundsounds', 400],
      ...[...PROTECTED_PATHS, '/penalties/export'].map((path) => [path, 401] as const),
    ] as const) {
      const response = await service.get(path, { method: 'HEAD' });
      expect([path, response.status, response.text]).toEqual([path, status, '']);
    }
    const wrong = await service.get('/bans?status=x', { ...bearer(token), method: 'HEAD' });
    expect([wrong.status, wrong.text]).toEqual([400, '']);
  });
});

describe('another method', () => {
  test('another method is 405 with Allow, on every path, with a token or without, whatever the body', async () => {
    for (const path of PATHS) {
      for (const method of ['POST', 'PUT', 'PATCH', 'DELETE', 'PROPFIND']) {
        for (const init of [bearer(token), {}]) {
          const response = await service.get(path, { ...init, method });
          expect([path, method, response.status, response.body]).toEqual([path, method, 405, NOT_ALLOWED]);
          expect(response.headers.get('allow')).toBe('GET, HEAD, OPTIONS');
          expect(response.headers.get('cache-control')).toBe('no-store');
        }
      }
    }
  });

  test('another method is 405 before its body is read', async () => {
    for (const [type, body] of [
      ['application/json', '{"broken'],
      ['multipart/form-data; boundary=x', '--y'],
      ['application/x-www-form-urlencoded', '%'],
    ] as const) {
      const headers = { 'Content-Type': type };
      const { status } = await service.get('/servers', { method: 'POST', body, headers });
      expect([type, status]).toEqual([type, 405]);
    }
  });

  test('another method is 405 with a trailing slash too, and for TRACE', async () => {
    expect((await service.get('/bans/', { method: 'POST' })).status).toBe(405);
    const trace = await sendRaw(service.origin, '/api/v1/bans', { method: 'TRACE' });
    expect([trace.status, trace.headers.get('allow')]).toEqual([405, 'GET, HEAD, OPTIONS']);
  });
});

describe('an unknown path', () => {
  test('an unknown path is 404 in JSON, whatever the method', async () => {
    const below = '/ /nope /servers/one/nope /servers/one/players/1 /bans/1 /users /users/lookup/1 /players';
    const others = `/players/${aSteamId(1)} /Servers /api/v1/servers /% /%00 /%E0%A4%A /${'x'.repeat(5000)}`;
    for (const path of ['', ...`${below} ${others}`.split(' ')]) {
      for (const method of ['GET', 'POST', 'DELETE']) {
        const { status, body, headers } = await service.get(path, { method });
        expect([path, method, status, body]).toEqual([path, method, 404, NOT_FOUND]);
        expect(headers.get('cache-control')).toBe('no-store');
        expect(headers.get('x-ratelimit-limit')).toBe('1000000');
      }
    }
  });

  test('outside both bases is 404 in JSON too', async () => {
    for (const path of '/api /api/ /api/v2/servers /api/v1x/servers /index.php /index.php/api'.split(' ')) {
      const { status, body } = await service.ask(path);
      expect([path, status, body]).toEqual([path, 404, NOT_FOUND]);
    }
  });
});

const EXPOSED =
  'ETag, Link, RateLimit, RateLimit-Policy, Retry-After, X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset, X-Request-Id';

test.each([
  ['abc.DEF_0-9', true],
  ['x'.repeat(64), true],
  ['x'.repeat(65), false],
  ['a b', false],
  ['', false],
])('X-Request-Id %p of the client is kept: %p', async (sent, isKept) => {
  for (const path of ['/servers', '/nope', '/bans']) {
    const { headers } = await service.get(path, { headers: { 'X-Request-Id': sent } });
    const id = headers.get('x-request-id') ?? '';
    if (isKept) expect(id).toBe(sent);
    else expect(id).toMatch(/^[0-9a-f-]{36}$/);
  }
});

describe('CORS', () => {
  const origin = { Origin: 'https://website.example' };

  test('any origin may read any response, errors too, and no credentials are asked for', async () => {
    for (const [path, init, status] of [
      ['/servers', {}, 200],
      ['/servers', { headers: { 'If-None-Match': '*' } }, 304],
      ['/servers/nope', {}, 404],
      ['/nope', {}, 404],
      ['/bans', {}, 401],
      ['/bans', bearer(token), 200],
      ['/bans?status=x', bearer(token), 400],
      ['/servers', { method: 'POST' }, 405],
    ] as const) {
      const headers = { ...origin, ...('headers' in init && init.headers) };
      const response = await service.get(path, { ...init, headers });
      expect([path, response.status]).toEqual([path, status]);
      expect(response.headers.get('access-control-allow-origin')).toBe('*');
      expect(response.headers.get('access-control-expose-headers')).toBe(EXPOSED);
      expect(response.headers.has('access-control-allow-credentials')).toBe(false);
      expect(response.headers.get('vary') ?? '').not.toContain('*');
    }
  });

  test('a preflight is answered on every path, known or not, without a token', async () => {
    for (const path of [...PATHS, '/nowhere']) {
      const asked = {
        'Access-Control-Request-Method': 'GET',
        'Access-Control-Request-Headers': 'authorization',
      };
      const response = await service.get(path, { method: 'OPTIONS', headers: { ...origin, ...asked } });
      expect([path, response.status, response.text]).toEqual([path, 204, '']);
      expect(headersOf(response)).toEqual({
        'access-control-allow-origin': '*',
        'access-control-expose-headers': EXPOSED,
        'access-control-allow-methods': 'GET, HEAD, OPTIONS',
        'access-control-allow-headers':
          'Authorization, Content-Type, If-None-Match, Last-Event-ID, X-Request-Id',
        'access-control-max-age': '86400',
      });
    }
  });

  test('OPTIONS of an unknown path is 404 unless it is a preflight', async () => {
    for (const headers of [origin, { 'Access-Control-Request-Method': 'GET' }]) {
      const response = await service.get('/nowhere', { method: 'OPTIONS', headers });
      expect(response.status).toBe(404);
    }
  });
});

describe('If-None-Match', () => {
  const ask = (path: string, tag: string) => service.get(path, { headers: { 'If-None-Match': tag } });

  test('If-None-Match gives 304 without a body for the tag, weak or strong, in a list, or *; for HEAD too', async () => {
    for (const path of PUBLIC_PATHS) {
      const { headers } = await service.get(path);
      const etag = headers.get('etag') ?? '';
      expect(etag).toMatch(/^W\/"[0-9a-z]+"$/);
      for (const tag of [etag, `"x" , ${etag.slice(2)}`, '*']) {
        const response = await ask(path, tag);
        expect([path, tag, response.status, response.text]).toEqual([path, tag, 304, '']);
        expect(response.headers.get('etag')).toBe(etag);
        expect(response.headers.get('cache-control')).toBe(headers.get('cache-control') ?? '');
        expect(response.headers.has('x-ratelimit-remaining')).toBe(true);
      }
      const head = await service.get(path, { method: 'HEAD', headers: { 'If-None-Match': '*' } });
      expect([path, head.status, head.headers.get('content-length')]).toEqual([path, 304, null]);
    }
  });

  test('gives no 304 for an error or a protected response', async () => {
    expect((await ask('/servers/nope', '*')).status).toBe(404);
    const headers = { ...bearer(token).headers, 'If-None-Match': '*' };
    const response = await service.get('/bans', { headers });
    expect([response.status, response.headers.has('etag')]).toEqual([200, false]);
  });
});

test('compresses with gzip if the client accepts it, under the same weak tag', async () => {
  const plain = await service.ask('/api/v1/servers', { headers: { 'Accept-Encoding': 'identity' } });
  const zipped = await service.ask('/api/v1/servers', { headers: { 'Accept-Encoding': 'br, gzip' } });
  expect(zipped.text).toBe(plain.text);
  for (const { headers } of [plain, zipped]) expect(headers.get('vary')).toBe('Accept-Encoding');
  expect(zipped.headers.get('etag')).toBe(plain.headers.get('etag') ?? '');
  for (const [accept, encoding] of [
    ['gzip', 'gzip'],
    ['deflate, gzip;q=0.5', 'gzip'],
    ['x-gzip', 'gzip'],
    ['br', null],
    ['identity', null],
    ['gzip;q=0', null],
    ['gzip; q=0.000, br', null],
    ['', null],
  ] as const) {
    const { headers } = await sendRaw(service.origin, '/api/v1/servers', {
      headers: { 'Accept-Encoding': accept },
    });
    expect([accept, headers.get('content-encoding')]).toEqual([accept, encoding]);
  }
});

describe('a request that no browser would write', () => {
  test('malformed percent signs, bare bytes and backslashes are answered in JSON', async () => {
    for (const [target, status] of [
      ['/api/v1/servers/%', 404],
      ['/api/v1/servers/%zz', 404],
      ['/api/v1/servers/%E0%A4%A', 404],
      ['/api/v1/servers/%2e%2e', 404],
      ['/api/v1/servers/one%2fplayers', 404],
      ['/api/v1/servers/..%5c..', 404],
      ['/api/v1/servers/%C0%AF', 404],
      ['/api/v1/players/%/roundsound', 200],
      ['/api/v1/players/%ff%fe/roundsound', 200],
      ['/api/v1/servers?%', 200],
      ['/api/v1/servers?%E0%A4%A=%', 200],
      ['/api/v1/servers?a=%00&%00=b', 200],
    ] as const) {
      const response = await sendRaw(service.origin, target);
      expect([target, response.status]).toEqual([target, status]);
      expect(response.headers.get('content-type')).toBe('application/json; charset=utf-8');
      expect(JSON.parse(response.text)).toHaveProperty('success');
    }
  });

  test('unescaped UTF-8 in a query is read as what it is', async () => {
    const target = Buffer.from(`/api/v1/bans?status=WYGASŁY&api_token=${token}`);
    const { status, text } = await sendRaw(service.origin, target);
    expect([status, JSON.parse(text).meta.total]).toEqual([200, 0]);
  });

  test('bytes that are not UTF-8 do no harm', async () => {
    const target = Buffer.concat([
      Buffer.from(`/api/v1/bans?api_token=${token}&status=`),
      Buffer.from([0xff, 0xed, 0xa0, 0x80]),
    ]);
    const { status, text } = await sendRaw(service.origin, target);
    expect(status).toBe(400);
    expect(JSON.parse(text)).toEqual({ success: false, message: expect.stringContaining('is not known') });
  });

  test('a query of more than 8,192 characters is 400 that says so, once token and limit have been judged', async () => {
    const refusal = { success: false, message: 'The query is too long: use at most 8192 characters' };
    const pairs = 'a&'.repeat(30_000);
    expect((await service.get(`/bans?${pairs}`)).status).toBe(401);
    expect((await service.get(`/bans?api_token=${token}&${pairs}`)).body).toEqual(refusal);
    // These do not read the query.
    expect((await service.get(`/servers?${pairs}`)).status).toBe(200);
    expect((await service.get(`/bans?${'a'.repeat(8192)}`, bearer(token))).status).toBe(200);
    expect((await service.get(`/bans?${'a'.repeat(8193)}`, bearer(token))).status).toBe(400);
  });

  test('huge headers end in a 4xx, and the service keeps running', async () => {
    const huge = await sendRaw(service.origin, `/api/v1/servers?x=${'a'.repeat(200_000)}`).catch(
      () => undefined,
    );
    if (huge) expect(huge.status).toBeWithin(400, 500);
    expect((await service.get('/servers')).status).toBe(200);
  });
});
