import { describe, expect, test } from 'bun:test';
import { PROTECTED_PATHS, STEAM_BANS, serveEveryPath } from '../../support/http/every-path.ts';
import { sendRaw } from '../../support/http/raw-http.ts';
import { bearer } from '../../support/service/service.ts';

const { service, token } = await serveEveryPath();

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
    expect(JSON.parse(text)).toMatchObject({
      success: false,
      message: expect.stringContaining('is not known'),
    });
  });

  test('a query of more than 8,192 characters is 400 that says so, once token and limit have been judged', async () => {
    const refusal = {
      success: false,
      message: 'The query is too long: use at most 8192 characters',
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
