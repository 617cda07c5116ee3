import { afterAll, expect, test } from 'bun:test';
import { createLogo } from '../../../../api/web/layout/logo.ts';
import { createTestDatabase } from '../../../support/database/database.ts';
import { startTestService } from '../../../support/service/service.ts';
import { waitFor } from '../../../support/wait.ts';
import { openBrowser, type Page } from '../../../support/web/browser.ts';

const { url } = await createTestDatabase({ max: 3 });
const PNG = new Uint8Array(
  Buffer.from('iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGNg', 'base64'),
);
const asked: string[] = [];
const elsewhere = Bun.serve({
  hostname: '127.0.0.1',
  port: 0,
  fetch: ({ url: address }) => {
    asked.push(new URL(address).pathname);
    return new Response(PNG, { headers: { 'content-type': 'image/png' } });
  },
});
afterAll(() => elsewhere.stop(true));

const logoOf = ({ text }: Page) => /<img class="brand-logo" src="([^"]+)"/.exec(text)?.[1];

const service = await startTestService({
  databaseUrl: url,
  env: { SITE_NAME: 'שרת "הקהילה" & spółka', SITE_LOGO_URL: `${elsewhere.url}logo.png` },
});

test('the name is on every page, whatever its script', async () => {
  const browser = openBrowser(service.origin);
  for (const path of ['/', '/account', '/servers/nope']) {
    const { text } = await browser.get(path);
    expect([path, text.includes('<span dir="auto">שרת &quot;הקהילה&quot; &amp; spółka</span>')]).toEqual([
      path,
      true,
    ]);
  }
});

test('the logo is read once, and served from here', async () => {
  const browser = openBrowser(service.origin);
  await waitFor(async () => logoOf(await browser.get('/account')) !== undefined);
  const page = await browser.get('/account');
  const address = logoOf(page) ?? '';
  expect(address).toMatch(/^\/account\/assets\/logo\.[0-9a-f]{16}\.png$/);
  expect(page.text).toContain(`<link rel="icon" href="${address}"/>`);
  expect(page.text).not.toContain(String(elsewhere.url));
  const response = await fetch(service.origin + address);
  expect(response.headers.get('content-type')).toBe('image/png');
  expect(response.headers.get('cache-control')).toBe('public, max-age=31536000, immutable');
  expect(response.headers.get('content-security-policy')).toContain("default-src 'none'");
  expect(new Uint8Array(await response.arrayBuffer())).toEqual(PNG);
  expect(asked.filter((path) => path === '/logo.png')).toHaveLength(1);
});

test.each<[what: string, type: string, end: string, options?: { status?: number; body?: string }]>([
  ['an SVG', 'image/svg+xml; charset=utf-8', '.svg'],
  ['a JPEG', 'image/jpeg', '.jpeg'],
  // Browsers show no pictures of these types.
  ['an SVG of the wrong type', 'image/svg', 'none'],
  ['a PNG of the wrong type', 'image/png+xml', 'none'],
  ['a page', 'text/html', 'none'],
  ['a picture larger than 48 KiB', 'image/png', 'none', { body: 'x'.repeat(48 * 1024 + 1) }],
  ['a picture that is gone', 'image/png', 'none', { status: 404 }],
])('a logo that is %s (%s) has an address with this ending: %s', async (_, type, end, options = {}) => {
  const { status = 200, body = 'picture' } = options;
  const fetch = async () => new Response(body, { status, headers: { 'content-type': type } });
  const logo = createLogo('https://example.org/logo', { fetch, log: { warn: () => {} } });
  await logo.load();
  expect(/\.\w+$/.exec(logo.url() ?? '')?.[0] ?? 'none').toBe(end);
});
