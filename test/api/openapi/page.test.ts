import { describe, expect, test } from 'bun:test';
import { createTestDatabase } from '../../support/database/database.ts';
import { startTestService } from '../../support/service/service.ts';

const database = await createTestDatabase();
const service = await startTestService({ databaseUrl: database.url });

describe('the page', () => {
  test('loads everything from our own host, and may load from no other', async () => {
    for (const path of ['/swagger', '/swagger/', '/swagger/pl']) {
      const page = await service.ask(path);
      expect(page.status).toBe(200);
      expect(page.headers.get('content-type')).toBe('text/html; charset=utf-8');
      expect(page.headers.get('content-security-policy')).toStartWith("default-src 'self';");
      const loaded = /<(?:script|link)[^>]* (?:src|href)="([^"]+)"/g;
      const addresses = [...page.text.matchAll(loaded)].map((match) => match[1] ?? '');
      expect(addresses).toHaveLength(6);
      for (const address of addresses) {
        expect(address).toStartWith('/swagger/assets/');
        const asset = await service.ask(address);
        expect([address, asset.status, asset.text.length > 50]).toEqual([address, 200, true]);
      }
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
