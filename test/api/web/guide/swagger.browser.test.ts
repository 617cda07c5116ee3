import { describe, expect, test } from 'bun:test';
import { fileURLToPath } from 'node:url';
import { ROUTES } from '../../../../api/v1/routes.ts';
import { insertServer } from '../../../support/database/builders.ts';
import { createTestDatabase } from '../../../support/database/database.ts';
import { findFreePort } from '../../../support/machine/free-port.ts';
import { startTestService } from '../../../support/service/service.ts';
import { CHROMIUM_PATH, launchChromium } from '../../../support/web/chromium.ts';

const AXE = await Bun.file(fileURLToPath(import.meta.resolve('axe-core/axe.min.js'))).text();
// CI installs Chromium, so its absence is a failure there.
const isPossible = CHROMIUM_PATH !== undefined || process.env.CI === 'true';
if (!isPossible) console.warn('SKIPPED: the API page in a real browser, since there is no Chromium here');

const database = await createTestDatabase();
await insertServer(database.db, { slug: 'one' });
const port = findFreePort();
const service = await startTestService({
  databaseUrl: database.url,
  env: { PORT: String(port), PUBLIC_URL: `http://127.0.0.1:${port}` },
});

describe.skipIf(!isPossible)('the page at /swagger in Chromium', () => {
  test('shows every operation, sends a real request, and asks no other host for anything', async () => {
    await using browser = await launchChromium();
    const page = await browser.newPage();
    const hosts = new Set<string>();
    const problems: string[] = [];
    page.on('request', (request) => {
      const { protocol, host } = new URL(request.url());
      if (protocol !== 'data:') hosts.add(host);
    });
    page.on('pageerror', (error) => problems.push(error.message));
    page.on('console', (message) => {
      if (message.type() === 'error') problems.push(message.text());
    });
    await page.goto(`${service.origin}/swagger`);
    await page.locator('.opblock').first().waitFor();
    expect(await page.locator('.opblock').count()).toBe(ROUTES.length);

    await page.locator('#operations-Servers-listServers .opblock-summary').click();
    await page.getByRole('button', { name: 'Try it out' }).click();
    await page.getByRole('button', { name: 'Execute' }).click();
    await page.getByText('"slug": "one"').first().waitFor();
    expect([...hosts]).toEqual([`127.0.0.1:${port}`]);
    expect(problems).toEqual([]);
  });

  test.each(['/swagger', '/swagger/pl'])(
    '%s breaks no rule of accessibility outside Swagger UI',
    async (path) => {
      await using browser = await launchChromium();
      const page = await (await browser.newContext({ bypassCSP: true })).newPage();
      await page.goto(`${service.origin}${path}`);
      await page.locator('.opblock').first().waitFor();
      await page.evaluate(AXE);
      const found = await page.evaluate<[rule: string, ours: string[]][]>(
        `axe.run({ elementRef: true }).then(({ violations }) => violations.map(({ id, nodes }) => [
        id,
        nodes.filter(({ element }) => !element.closest('#swagger-ui')).map(({ html }) => html),
      ]))`,
      );
      expect(found).toEqual([
        ['color-contrast', []],
        ['heading-order', []],
        ['nested-interactive', []],
        ['region', []],
        ['select-name', []],
      ]);
    },
  );
});
