import { afterAll, afterEach, beforeAll, describe, expect, test } from 'bun:test';
import { en } from '../../../api/web/locales/en.ts';
import { pl } from '../../../api/web/locales/pl.ts';
import { createTestDatabase } from '../../support/database/database.ts';
import { startDatabaseProxy } from '../../support/database/database-proxy.ts';
import { insertServerWithHistory } from '../../support/database/server-history.ts';
import { findFreePort } from '../../support/machine/free-port.ts';
import { startSteamOpenIdProvider } from '../../support/providers/steam-openid-provider.ts';
import { startTestService } from '../../support/service/service.ts';
import { waitFor } from '../../support/wait.ts';
import { type Browser, openBrowser, type Page, signIn } from '../../support/web/browser.ts';

const database = await createTestDatabase();
const proxy = await startDatabaseProxy(database.url);
const steam = startSteamOpenIdProvider();
const port = findFreePort();
await insertServerWithHistory(database.db, { now: new Date(), slug: 'one', name: 'Only Mirage', days: 1 });
const service = await startTestService({
  databaseUrl: proxy.url,
  env: { PORT: String(port), PUBLIC_URL: `http://127.0.0.1:${port}`, STEAM_OPENID_URL: steam.url },
  hasRealClock: true,
});
const browser: Browser = openBrowser(service.origin);
await signIn(browser);
afterAll(async () => {
  await steam.stop();
});

const session = () => ({ cookie: `session=${browser.cookies.get('session')}` });

const buttons = ({ text }: Page) =>
  [...text.matchAll(/<a class="button[^"]*" href="([^"]*)"[^>]*>\s*([^<]*?)\s*</g)].map(([, href, words]) => [
    href,
    words,
  ]);

describe('while the database hangs', () => {
  const openAll = (by: Browser, paths: readonly string[]) => Promise.all(paths.map((path) => by.get(path)));
  const OF_SERVERS = [
    ['/', en.server.unavailable],
    ['/servers/one', en.server.unavailable],
    ['/connect/one', 'Only Mirage'],
  ] as const;
  let hung: { pages: Page[]; ofServers: Page[]; status: Page; form: Page; returned: Page };
  beforeAll(async () => {
    const pole = openBrowser(service.origin, { language: 'pl' });
    const visitor = openBrowser(service.origin);
    const atSteam = await visitor.follow(await visitor.get('/account/sign-in'));
    proxy.freeze();
    // All at once, since each waits for its deadline.
    const [own, polish, ofServers, status, form, returned] = await Promise.all([
      openAll(browser, ['/account', '/account/moderation?q=a%26b']),
      pole.get('/account/moderation', session()),
      openAll(
        openBrowser(service.origin),
        OF_SERVERS.map(([path]) => path),
      ),
      browser.get('/'),
      browser.post('/account/tokens', { name: 'x' }),
      visitor.follow(atSteam),
    ]);
    hung = { pages: [...own, polish], ofServers, status, form, returned };
    proxy.restore();
    await waitFor(async () => (await browser.get('/account')).status === 200);
  });

  test('a page is 503, and leads back to itself', () => {
    for (const page of hung.pages) {
      expect([page.url, page.status]).toEqual([page.url, 503]);
      expect(page.headers.get('retry-after')).toBe('30');
    }
    expect(hung.pages.map(buttons)).toEqual([
      [
        ['/account', en.errors.retry],
        ['/account', en.errors.home],
      ],
      [
        ['/account/moderation?q=a%26b', en.errors.retry],
        ['/account', en.errors.home],
      ],
      [
        ['/account/moderation', pl.errors.retry],
        ['/account', pl.errors.home],
      ],
    ]);
  });

  test('pages about servers are shown from memory, to those who are signed in as well', () => {
    for (const [index, [path, words]] of OF_SERVERS.entries()) {
      const page = hung.ofServers[index];
      const shown = ['Only Mirage', words].every((text) => page?.text.includes(text));
      expect([path, page?.status, shown]).toEqual([path, 200, true]);
    }
    const { status, headers, text } = hung.status;
    expect([status, headers.get('cache-control')]).toEqual([200, 'private, no-cache']);
    expect(text).toContain('Only Mirage');
  });

  test('a form is 503, and is not offered again as a page', () => {
    expect(hung.form.status).toBe(503);
    expect(buttons(hung.form)).toEqual([['/account', en.errors.home]]);
  });

  test('a sign-in is 503, and starts again', () => {
    expect(hung.returned.status).toBe(503);
    expect(buttons(hung.returned)).toEqual([
      ['/account/sign-in', en.errors.retry],
      ['/account', en.errors.home],
    ]);
  });
});

describe('while the database only reads', () => {
  afterEach(async () => {
    await change('reset default_transaction_read_only');
    await waitFor(async () => (await browser.get('/account')).status === 200);
  });

  const change = async (what: string) => {
    const name = new URL(database.url).pathname.slice(1);
    await database.connection.unsafe(`alter database ${name} ${what}`);
    await database.connection`
      select pg_terminate_backend(pid) from pg_stat_activity where datname = ${name} and pid <> pg_backend_pid()`;
  };

  test('pages are shown, whatever they would have written, and forms are 503', async () => {
    // A session in use is extended once an hour.
    await database.connection`update sessions set seen_at = now() - interval '2 hours'`;
    await change('set default_transaction_read_only = on');
    await waitFor(async () => (await service.ask('/readyz')).status === 200);
    // A request on a connection that was just ended gets a 503.
    const page = await waitFor(async () => {
      const shown = await browser.get('/account');
      return shown.status === 200 && shown;
    });
    expect(page.text).toContain('name="csrf_token"');
    const refused = await browser.post('/account/tokens', { name: 'x' });
    expect(refused.status).toBe(503);
    expect(refused.text).toContain(en.errors.unavailable);
  });
});
