import { describe, expect, test } from 'bun:test';
import { BASES } from '../../../api/app.ts';
import { aSteamId, insertPenalties, insertServer } from '../../support/database/builders.ts';
import { createTestDatabase } from '../../support/database/database.ts';
import { sendRaw } from '../../support/http/raw-http.ts';
import { aToken, bearer, headersOf, startTestService } from '../../support/service/service.ts';

const database = await createTestDatabase();
const { db } = database;
const server = await insertServer(db, { slug: 'one', name: 'One' });
await insertPenalties(db, [{ type: 'ban' }]);
const { token } = await aToken(db, 1);
const service = await startTestService({ databaseUrl: database.url });

const PUBLIC_PATHS = [
  '/servers',
  '/servers/one',
  `/servers/${server.id}/players`,
  '/servers/one/history',
  `/players/${aSteamId(1)}/roundsound`,
  `/players/roundsounds?steamids=${aSteamId(1)}`,
];
/** Takes no parameter, and reads no query. */
const STEAM_BANS = `/players/${aSteamId(1)}/steam-bans`;
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
const EXPOSED =
  'ETag, Link, RateLimit, RateLimit-Policy, Retry-After, X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset';

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

  test('a timestamp has an explicit offset, and no Z but in created_at of a user', async () => {
    for (const path of PATHS) {
      const { text } = await service.get(path, bearer(token));
      for (const [stamp] of text.matchAll(/"[a-z_]+":"2026-[^"]+"/g)) {
        const pattern = stamp.startsWith('"created_at"')
          ? /:"2026-\d\d-\d\dT\d\d:\d\d:\d\dZ"$/
          : /:"2026-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00"$/;
        expect(stamp).toMatch(pattern);
      }
    }
  });
});

describe('HEAD', () => {
  test('gives the headers of GET and no body, on every path', async () => {
    for (const base of BASES) {
      for (const path of PATHS) {
        const get = await service.ask(`${base}${path}`, bearer(token));
        const head = await service.ask(`${base}${path}`, { ...bearer(token), method: 'HEAD' });
        expect([path, head.status, head.text]).toEqual([path, get.status, '']);
        const changing = { 'x-ratelimit-remaining': '', ratelimit: '' };
        expect({ path, ...headersOf(head), ...changing }).toEqual({ path, ...headersOf(get), ...changing });
        expect(Number(head.headers.get('content-length'))).toBeGreaterThan(0);
      }
    }
  });

  test('of an export gives its type and begins none, with a trailing slash or without', async () => {
    for (const base of BASES) {
      for (const path of ['/penalties/export', '/penalties/export/', '/penalties/export/?type=ban']) {
        const head = await service.ask(`${base}${path}`, { ...bearer(token), method: 'HEAD' });
        expect([path, head.status, head.headers.get('content-type'), head.text]).toEqual([
          path,
          200,
          'application/x-ndjson',
          '',
        ]);
      }
      const { status, text } = await service.ask(`${base}/penalties/export/`, bearer(token));
      expect([status, text.split('\n').length, text.includes('"end":true,"count":1')]).toEqual([
        200,
        3,
        true,
      ]);
    }
  });

  test('gives errors their status, without a body', async () => {
    for (const [path, status] of [
      ['/servers/nope', 404],
      ['/nope', 404],
      ['/bans', 401],
      ['/users/lookup', 401],
      ['/users/lookup/batch', 401],
      ['/penalties/active', 401],
      ['/penalties/export', 401],
      ['/players/search', 401],
      [STEAM_BANS, 401],
      ['/players/roundsounds', 400],
    ] as const) {
      const response = await service.get(path, { method: 'HEAD' });
      expect([path, response.status, response.text]).toEqual([path, status, '']);
    }
    const wrong = await service.get('/bans?status=x', { ...bearer(token), method: 'HEAD' });
    expect([wrong.status, wrong.text]).toEqual([400, '']);
  });

  test('writes not one byte after the headers', async () => {
    const { status, text, headers } = await sendRaw(service.origin, '/api/v1/servers', { method: 'HEAD' });
    expect([status, text]).toEqual([200, '']);
    expect(Number(headers.get('content-length'))).toBeGreaterThan(0);
  });
});

describe('another method', () => {
  test('is 405 with Allow, on every path, with a token or without, whatever the body', async () => {
    for (const path of PATHS) {
      for (const method of ['POST', 'PUT', 'PATCH', 'DELETE', 'PROPFIND']) {
        for (const init of [bearer(token), {}]) {
          const response = await service.get(path, { ...init, method });
          expect([path, method, response.status]).toEqual([path, method, 405]);
          expect(response.body).toEqual({
            success: false,
            message: 'Method not allowed: use GET, HEAD, OPTIONS',
          });
          expect(response.headers.get('allow')).toBe('GET, HEAD, OPTIONS');
          expect(response.headers.get('cache-control')).toBe('no-store');
        }
      }
    }
  });

  test('is 405 before its body is looked at', async () => {
    for (const [type, body] of [
      ['application/json', '{"broken'],
      ['multipart/form-data; boundary=x', '--y'],
      ['application/x-www-form-urlencoded', '%'],
    ] as const) {
      const response = await service.get('/servers', {
        method: 'POST',
        body,
        headers: { 'Content-Type': type },
      });
      expect([type, response.status]).toEqual([type, 405]);
    }
  });

  test('is 405 with a trailing slash too, and for TRACE', async () => {
    expect((await service.get('/bans/', { method: 'POST' })).status).toBe(405);
    const trace = await sendRaw(service.origin, '/api/v1/bans', { method: 'TRACE' });
    expect([trace.status, trace.headers.get('allow')]).toEqual([405, 'GET, HEAD, OPTIONS']);
  });
});

describe('an unknown path', () => {
  test('is 404 in JSON, whatever the method', async () => {
    for (const path of [
      '',
      '/',
      '/nope',
      '/servers/one/nope',
      '/servers/one/players/1',
      '/bans/1',
      '/users',
      '/users/lookup/1',
      '/players',
      `/players/${aSteamId(1)}`,
      '/Servers',
      '/api/v1/servers',
      '/%',
      '/%00',
      '/%E0%A4%A',
      `/${'x'.repeat(5000)}`,
    ]) {
      for (const method of ['GET', 'POST', 'DELETE']) {
        const { status, body, headers } = await service.get(path, { method });
        expect([path, method, status, body]).toEqual([
          path,
          method,
          404,
          { success: false, message: 'Not found' },
        ]);
        expect(headers.get('cache-control')).toBe('no-store');
        expect(headers.get('x-ratelimit-limit')).toBe('1000000');
      }
    }
  });

  test('outside both bases is 404 in JSON too', async () => {
    for (const path of [
      '/api',
      '/api/',
      '/api/v2/servers',
      '/api/v1x/servers',
      '/index.php',
      '/index.php/api',
    ]) {
      const { status, body } = await service.ask(path);
      expect([path, status, body]).toEqual([path, 404, { success: false, message: 'Not found' }]);
    }
  });
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

  test('bytes that are no UTF-8 do no harm', async () => {
    const target = Buffer.concat([
      Buffer.from(`/api/v1/bans?api_token=${token}&status=`),
      Buffer.from([0xff, 0xed, 0xa0, 0x80]),
    ]);
    const { status, text } = await sendRaw(service.origin, target);
    expect(status).toBe(400);
    expect(JSON.parse(text)).toMatchObject({
      success: false,
      message: expect.stringContaining('is not known'),
    });
  });

  test('a query of more than 8,192 characters is 400 that says so, once token and limit have been judged', async () => {
    const refusal = {
      success: false,
      message: 'The query is too long: give at most 8192 characters',
    };
    for (const path of [...PROTECTED_PATHS, '/servers/one/history'].filter((path) => path !== STEAM_BANS)) {
      const long = `${path}${path.includes('?') ? '&' : '?'}x=${'%C5%82'.repeat(10_000)}`;
      const { status, body, headers } = await service.get(long, bearer(token));
      expect([path, status, body]).toEqual([path, 400, refusal]);
      expect(headers.has('x-ratelimit-limit')).toBe(true);
    }
    const pairs = 'a&'.repeat(30_000);
    expect((await service.get(`/bans?${pairs}`)).status).toBe(401);
    expect((await service.get(`/bans?api_token=${token}&${pairs}`)).body).toEqual(refusal);
    // Nobody reads the query of these.
    expect((await service.get(`/servers?${pairs}`)).status).toBe(200);
    expect((await service.get(`/bans?${'a'.repeat(8192)}`, bearer(token))).status).toBe(200);
    expect((await service.get(`/bans?${'a'.repeat(8193)}`, bearer(token))).status).toBe(400);
  });

  test('headers beyond every measure end in a 4xx, and the service lives on', async () => {
    const huge = await sendRaw(service.origin, `/api/v1/servers?x=${'a'.repeat(200_000)}`).catch(
      () => undefined,
    );
    if (huge) expect(huge.status).toBeWithin(400, 500);
    expect((await service.get('/servers')).status).toBe(200);
  });
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

  test('a preflight is answered on every path, without a token', async () => {
    for (const path of PATHS) {
      const response = await service.get(path, {
        method: 'OPTIONS',
        headers: {
          ...origin,
          'Access-Control-Request-Method': 'GET',
          'Access-Control-Request-Headers': 'authorization',
        },
      });
      expect([path, response.status, response.text]).toEqual([path, 204, '']);
      expect(headersOf(response)).toEqual({
        'access-control-allow-origin': '*',
        'access-control-expose-headers': EXPOSED,
        'access-control-allow-methods': 'GET, HEAD, OPTIONS',
        'access-control-allow-headers': 'Authorization, Content-Type, If-None-Match',
        'access-control-max-age': '86400',
      });
    }
  });
});

describe('If-None-Match', () => {
  const ask = (path: string, tag: string) => service.get(path, { headers: { 'If-None-Match': tag } });

  test('is 304 without a body for the tag, weak or strong, in a list, or *', async () => {
    for (const path of PUBLIC_PATHS) {
      const { headers } = await service.get(path);
      const etag = headers.get('etag') ?? '';
      expect(etag).toMatch(/^W\/"[0-9a-z]+"$/);
      for (const tag of [
        etag,
        etag.slice(2),
        ` ${etag} `,
        `"x", ${etag}`,
        `W/"x",${etag},"y"`,
        `"x" , ${etag.slice(2)}`,
        '*',
        ' * ',
      ]) {
        const response = await ask(path, tag);
        expect([path, tag, response.status, response.text]).toEqual([path, tag, 304, '']);
        expect(response.headers.get('etag')).toBe(etag);
        expect(response.headers.get('cache-control')).toBe(headers.get('cache-control') ?? '');
        expect(response.headers.has('x-ratelimit-remaining')).toBe(true);
      }
    }
  });

  test('is 200 for any other tag', async () => {
    const { headers } = await service.get('/servers');
    const etag = headers.get('etag') ?? '';
    for (const tag of [
      '"x"',
      '',
      'W/""',
      etag.slice(3, -1),
      etag.toUpperCase(),
      `"${etag}"`,
      '**',
      'w/*',
      ',',
    ]) {
      expect([tag, (await ask('/servers', tag)).status]).toEqual([tag, 200]);
    }
  });

  test('counts as absent when it is longer than 8,192 characters', async () => {
    const { headers } = await service.get('/servers');
    const etag = headers.get('etag') ?? '';
    const list = (length: number) => etag.padStart(length, ',');
    expect((await ask('/servers', list(8192))).status).toBe(304);
    expect((await ask('/servers', list(8193))).status).toBe(200);
    expect((await ask('/servers', '"x",'.repeat(25_000))).status).toBe(200);
  });

  test('is 304 for HEAD as well', async () => {
    const response = await service.get('/servers', { method: 'HEAD', headers: { 'If-None-Match': '*' } });
    expect(response.status).toBe(304);
  });

  test('makes no 304 of an error, nor of a protected response', async () => {
    expect((await ask('/servers/nope', '*')).status).toBe(404);
    const response = await service.get('/bans', {
      headers: { ...bearer(token).headers, 'If-None-Match': '*' },
    });
    expect([response.status, response.headers.has('etag')]).toEqual([200, false]);
  });
});

describe('compression', () => {
  const encoded = async (accept: string) =>
    (await sendRaw(service.origin, '/api/v1/servers', { headers: { 'Accept-Encoding': accept } })).headers;

  test('is by gzip where the client takes it, under one weak tag', async () => {
    const plain = await service.ask('/api/v1/servers', { headers: { 'Accept-Encoding': 'identity' } });
    const zipped = await service.ask('/api/v1/servers', { headers: { 'Accept-Encoding': 'br, gzip' } });
    expect(zipped.text).toBe(plain.text);
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
      expect([accept, (await encoded(accept)).get('content-encoding')]).toEqual([accept, encoding]);
    }
  });
});

describe('the order of checks', () => {
  test('without a token a request is 401 whatever its parameters', async () => {
    for (const path of [
      '/penalties?type=kick&page=x',
      '/bans?status=x',
      '/mutes?type=ban',
      '/warns?server_id=x',
      '/users/lookup',
      '/users/lookup?discord_id=x',
      '/bans?%00=%00',
    ]) {
      const { status, body } = await service.get(path);
      expect([path, status, body]).toEqual([
        path,
        401,
        { success: false, message: 'An API token is required' },
      ]);
    }
  });
});
