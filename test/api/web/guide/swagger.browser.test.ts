import { beforeAll, expect, test } from 'bun:test';
import type { Browser } from 'playwright-core';
import { ROUTES } from '../../../../api/v1/routes.ts';
import { insertServer } from '../../../support/database/builders.ts';
import { createTestDatabase } from '../../../support/database/database.ts';
import { findFreePort } from '../../../support/machine/free-port.ts';
import { startTestService } from '../../../support/service/service.ts';
import { collectComplaints, listBarriers } from '../../../support/web/browser-site.ts';
import { describeInChromium, launchChromium } from '../../../support/web/chromium.ts';

const database = await createTestDatabase();
await insertServer(database.db, { slug: 'one' });
const port = findFreePort();
const service = await startTestService({
  databaseUrl: database.url,
  env: { PORT: String(port), PUBLIC_URL: `http://127.0.0.1:${port}` },
});

describeInChromium('the page at /swagger in Chromium', () => {
  let browser: Browser;
  beforeAll(async () => {
    browser = await launchChromium();
  });

  test('shows every operation, sends a real request, and asks no other host for anything', async () => {
    const page = await browser.newPage();
    const hosts = new Set<string>();
    const complaints = collectComplaints(page);
    page.on('request', (request) => {
      const { protocol, host } = new URL(request.url());
      if (protocol !== 'data:') hosts.add(host);
    });
    await page.goto(`${service.origin}/swagger`);
    await page.locator('.opblock').first().waitFor();
    expect(await page.locator('.opblock').count()).toBe(ROUTES.length);

    await page.locator('#operations-Servers-listServers .opblock-summary').click();
    await page.getByRole('button', { name: 'Try it out' }).click();
    await page.getByRole('button', { name: 'Execute' }).click();
    await page.getByText('"slug": "one"').first().waitFor();
    expect([...hosts]).toEqual([`127.0.0.1:${port}`]);
    expect(complaints).toEqual([]);
  });

  test.each(['/swagger', '/swagger/pl'])(
    '%s breaks no rule of accessibility outside Swagger UI',
    async (path) => {
      const page = await browser.newPage({ bypassCSP: true });
      await page.goto(`${service.origin}${path}`);
      await page.locator('.opblock').first().waitFor();
      expect(await listBarriers(page, { except: '#swagger-ui' })).toEqual([]);
    },
  );
});
