import { describe, expect, test } from 'bun:test';
import { PATHS, serveEveryPath } from '../../support/http/every-path.ts';
import { bearer, headersOf } from '../../support/service/service.ts';

const { service, token } = await serveEveryPath();
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
        'access-control-allow-headers':
          'Authorization, Content-Type, If-None-Match, Last-Event-ID, X-Request-Id',
        'access-control-max-age': '86400',
      });
    }
  });
});
