import { describe, expect, test } from 'bun:test';
import { PUBLIC_PATHS, serveEveryPath } from '../../support/http/every-path.ts';
import { sendRaw } from '../../support/http/raw-http.ts';
import { bearer } from '../../support/service/service.ts';

const { service, token } = await serveEveryPath();

describe('If-None-Match', () => {
  const ask = (path: string, tag: string) => service.get(path, { headers: { 'If-None-Match': tag } });

  test('If-None-Match gives 304 without a body for the tag, weak or strong, in a list, or *', async () => {
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
    }
  });

  test('If-None-Match gives 304 for HEAD as well, without a length', async () => {
    for (const path of PUBLIC_PATHS) {
      const response = await service.get(path, { method: 'HEAD', headers: { 'If-None-Match': '*' } });
      expect([path, response.status, response.headers.get('content-length')]).toEqual([path, 304, null]);
    }
  });

  test('gives no 304 for an error or a protected response', async () => {
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

  test('compresses with gzip if the client accepts it, under the same weak tag', async () => {
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
