import { describe, expect, test } from 'bun:test';
import { createTestDatabase } from '../../../support/database/database.ts';
import { sendRaw } from '../../../support/http/raw-http.ts';
import { startTestService } from '../../../support/service/service.ts';

const database = await createTestDatabase();
const service = await startTestService({ databaseUrl: database.url });

describe('the page', () => {
  test('loads everything from our own host, and may load from no other', async () => {
    for (const path of ['/swagger', '/swagger/', '/swagger/pl']) {
      const page = await service.ask(path);
      expect(page.status).toBe(200);
      expect(page.headers.get('content-type')).toBe('text/html; charset=utf-8');
      expect(page.headers.get('content-security-policy')).toStartWith("default-src 'self';");
      const loaded = /<(?:script|link)[^>]* (?:src|href)="([^"]+)"|@import url\(([^)]+)\)/g;
      const addresses = [...page.text.matchAll(loaded)].map(([, link, style]) => link ?? style ?? '');
      expect(addresses).toHaveLength(7);
      for (const address of addresses) {
        expect(address).toMatch(/^\/(swagger|account)\/assets\//);
        const asset = await service.ask(address);
        expect([address, asset.status, asset.text.length > 50]).toEqual([address, 200, true]);
      }
    }
  });

  test('is compressed for clients that accept gzip, as are its files, and 304 for clients that have it', async () => {
    for (const path of [
      '/swagger',
      '/swagger/pl',
      '/swagger/json',
      '/swagger/assets/guide.css',
      '/swagger/assets/swagger-ui-bundle.js',
    ]) {
      const ask = async (headers: Record<string, string>) => {
        const { status, headers: sent, text } = await sendRaw(service.origin, path, { headers });
        return {
          status,
          encoding: sent.get('content-encoding'),
          vary: sent.get('vary'),
          etag: sent.get('etag'),
          text,
        };
      };
      const plain = await ask({});
      expect(plain).toMatchObject({ status: 200, encoding: null, vary: 'Accept-Encoding' });
      expect(await ask({ 'Accept-Encoding': 'gzip' })).toEqual({ ...plain, encoding: 'gzip' });
      expect(await ask({ 'If-None-Match': plain.etag ?? '' })).toEqual({ ...plain, status: 304, text: '' });
    }
  });

  test('has the header of the site, whose pages lead to the guide in their language', async () => {
    for (const [language, path] of [
      ['en', '/swagger'],
      ['pl', '/swagger/pl'],
    ] as const) {
      const page = await service.ask(path);
      expect(page.text).toMatch(/<title>[^<]+ · play\.example\.org</);
      expect(page.text).toContain('<a class="brand" href="/">');
      expect(page.text).toContain(`href="${path}" aria-current="page"`);
      const home = await fetch(service.origin, { headers: { 'accept-language': language } });
      expect(await home.text()).toContain(`<a href="${path}">`);
    }
  });

  test('starts on our own document', async () => {
    const script = await service.ask('/swagger/assets/start.js');
    expect(script.headers.get('content-type')).toBe('text/javascript; charset=utf-8');
    expect(script.text).toContain("url: '/swagger/json'");
    expect(script.text).toContain('validatorUrl: null');
  });

  test('gives no other file of the package', async () => {
    for (const name of ['package.json', '..%2fpackage.json', 'swagger-ui.js.map', '__proto__']) {
      expect((await service.ask(`/swagger/assets/${name}`)).status).toBe(404);
    }
  });
});
