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
    const { pathname } = new URL(address);
    asked.push(pathname);
    if (pathname === '/logo.png') return new Response(PNG, { headers: { 'content-type': 'image/png' } });
    if (pathname === '/large.png') {
      return new Response(new Uint8Array(100_000), { headers: { 'content-type': 'image/png' } });
    }
    if (pathname === '/page') return new Response('<p>', { headers: { 'content-type': 'text/html' } });
    return new Response('gone', { status: 404 });
  },
});
afterAll(() => elsewhere.stop(true));

const open = (env: Record<string, string>) => startTestService({ databaseUrl: url, env });
const logoOf = ({ text }: Page) => /<img class="brand-logo" src="([^"]+)"/.exec(text)?.[1];

const service = await open({
  SITE_NAME: 'שרת "הקהילה" & spółka',
  SITE_LOGO_URL: `${elsewhere.url}logo.png`,
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

for (const path of ['large.png', 'page', 'gone']) {
  const other = await open({ SITE_LOGO_URL: `${elsewhere.url}${path}` });
  test(`a logo that is not a small image (${path}) leaves the default`, async () => {
    await waitFor(async () => asked.includes(`/${path}`));
    const page = await openBrowser(other.origin).get('/account');
    expect([page.status, logoOf(page)]).toEqual([200, undefined]);
  });
}

test.each([
  ['image/svg+xml; charset=utf-8', '.svg'],
  ['image/jpeg', '.jpeg'],
  // Browsers show no pictures of these types.
  ['image/svg', undefined],
  ['image/png+xml', undefined],
])('a logo of type %s', async (type, end) => {
  const fetch = async () => new Response('picture', { headers: { 'content-type': type } });
  const logo = createLogo('https://example.org/logo', { fetch, log: { warn: () => {} } });
  await logo.load();
  expect(/\.\w+$/.exec(logo.url() ?? '')?.[0]).toBe(end);
});
