import { describe, expect, test } from 'bun:test';
import { BASES } from '../../../api/app.ts';
import { aSteamId } from '../../support/database/builders.ts';
import { PATHS, STEAM_BANS, serveEveryPath } from '../../support/http/every-path.ts';
import { sendRaw } from '../../support/http/raw-http.ts';
import { bearer, headersOf } from '../../support/service/service.ts';

const { service, token } = await serveEveryPath();

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
        expect([path, head.headers.get('date')]).toEqual([path, expect.stringMatching(/ GMT$/)]);
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
    expect(headers.get('date')).toMatch(/^[^,]+, [^,]+ GMT$/);
    expect(Number(headers.get('content-length'))).toBeGreaterThan(0);
  });
});

describe('another method', () => {
  test('another method is 405 with Allow, on every path, with a token or without, whatever the body', async () => {
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

  test('another method is 405 before its body is read', async () => {
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
    for (const path of '/api /api/ /api/v2/servers /api/v1x/servers /index.php /index.php/api'.split(' ')) {
      const { status, body } = await service.ask(path);
      expect([path, status, body]).toEqual([path, 404, { success: false, message: 'Not found' }]);
    }
  });
});

describe('the order of checks', () => {
  test('a request without a token is 401 whatever its parameters', async () => {
    for (const path of ['/penalties?type=kick&page=x', '/users/lookup?discord_id=x', '/bans?%00=%00']) {
      const { status, body } = await service.get(path);
      expect([path, status, body]).toEqual([
        path,
        401,
        { success: false, message: 'An API token is required' },
      ]);
    }
  });
});
