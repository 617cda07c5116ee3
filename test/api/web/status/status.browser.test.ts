import { beforeAll, expect, test } from 'bun:test';
import { eq } from 'drizzle-orm';
import type { BrowserContextOptions, Page } from 'playwright-core';
import { en } from '../../../../api/web/locales/en.ts';
import { pl } from '../../../../api/web/locales/pl.ts';
import { servers } from '../../../../src/db/schema/servers.ts';
import { aServerState, aSteamId, insertUser, saveServerPoll } from '../../../support/database/builders.ts';
import { createTestDatabase } from '../../../support/database/database.ts';
import { insertServerWithHistory } from '../../../support/database/server-history.ts';
import { waitFor } from '../../../support/wait.ts';
import {
  type BrowserSite,
  collectComplaints,
  listBarriers,
  measureSpill,
  savePicture,
  startBrowserSite,
} from '../../../support/web/browser-site.ts';
import { describeInChromium } from '../../../support/web/chromium.ts';

const MAX_BYTES = 100_000;
/** The files that Chromium waits for before it paints: each is a round trip more on a phone. */
const LIST_BLOCKING = `performance.getEntriesByType('resource')
  .filter(({ renderBlockingStatus }) => renderBlockingStatus === 'blocking')
  .map(({ name }) => name)`;
/** The visible labels of each chart: text, edges and middle in percent of the chart's width. */
const MEASURE = `[...document.querySelectorAll('.plot')].map((plot) => {
  const chart = plot.querySelector('svg').getBoundingClientRect();
  const shareOf = (x) => ((x - chart.left) / chart.width) * 100;
  return [...plot.querySelectorAll('.plot-times > span')]
    .filter((label) => label.textContent !== '' && getComputedStyle(label).visibility === 'visible')
    .map((label) => {
      const range = document.createRange();
      range.selectNodeContents(label);
      const { left, right, height } = range.getBoundingClientRect();
      return { text: label.textContent, left: shareOf(left), right: shareOf(right), height };
    });
})`;
type Label = { text: string; left: number; right: number; height: number };

const NAMES = [
  'Mirage 24/7',
  'Retake',
  'W'.repeat(128),
  'خادم الموت السريع للمحترفين فقط',
  'שרת הקהילה',
  'Surf — początkujący',
  'Jailbreak „Cela” z nazwą, która jest tak długa, że musi się gdzieś złamać',
  'AWP Lego 2 ♥ Только снайперы',
];
const PLAYERS = ['kox_99', 'אלוף העולם', 'W'.repeat(32), '~*~Ala~*~', 'Rzeźnik'].map((name, index) => ({
  name,
  score: 40 - index,
}));

const { db, url } = await createTestDatabase();

describeInChromium('the pages about servers in Chromium', () => {
  let site: BrowserSite;
  let first: { id: number };
  beforeAll(async () => {
    site = await startBrowserSite(url);
    await insertUser(db, 1, { nickname: 'Ω'.repeat(128), isAdmin: true });
    for (let index = 0; index < 40; index++) {
      const name = NAMES[index % NAMES.length] ?? '';
      const server = await insertServerWithHistory(db, {
        now: new Date(),
        days: index < NAMES.length ? 30 : 1,
        name: index < NAMES.length ? name : `${name.slice(0, 100)} #${index}`,
        slug: `s${index}`,
        players: PLAYERS,
        playersCount: index === 1 ? 10 : 7,
        maxPlayers: index === 1 ? 10 : 24,
        isOnline: index !== 5,
        ...(index === 2 && {
          address: `${'w'.repeat(60)}.${'w'.repeat(60)}.example.org:27015`,
          map: `workshop/3070284539/${'m'.repeat(60)}`,
          mode: 'M'.repeat(40),
        }),
      });
      if (index === 0) first = server;
    }
    await waitFor(async () => (await (await fetch(site.origin)).text()).includes('server-s39'));
  });

  /** A page for a visitor who is not signed in, with its requests to other hosts and the browser's errors and warnings. */
  async function open(options: BrowserContextOptions = {}) {
    // Without animations, since axe would judge a button before it has its colour.
    const context = await site.openContext({ reducedMotion: 'reduce', ...options });
    const page = await context.newPage();
    const foreign: string[] = [];
    const complaints = collectComplaints(page);
    page.on('request', (request) => {
      if (!request.url().startsWith(site.origin)) foreign.push(request.url());
    });
    return { page, foreign, complaints };
  }

  async function look(page: Page, name: string): Promise<void> {
    await savePicture(page, `status-${name}`, { fullPage: true });
    expect([name, await measureSpill(page)]).toEqual([name, 0]);
    expect([name, await listBarriers(page)]).toEqual([name, []]);
  }

  test.each([
    [320, 'pl-PL'],
    [390, 'en-GB'],
    [768, 'en-GB'],
    [1280, 'pl-PL'],
  ] as const)(
    'times at %i px in %s are written where the chart shows them, on one line',
    async (width, locale) => {
      const { page } = await open({ viewport: { width, height: 900 }, locale });
      await page.goto(`${site.origin}/servers/s0`);
      const charts = await page.evaluate<Label[][]>(MEASURE);
      expect(charts.map((labels) => labels.length >= 3)).toEqual([true, true, true]);
      for (const [index, most] of [24, 7, 30].entries()) {
        const labels = charts[index] ?? [];
        for (const { text, left, right, height } of labels.slice(1, -1)) {
          const share = (1 - Number.parseInt(text, 10) / most) * 100;
          expect([text, Math.abs((left + right) / 2 - share) < 1.5, height < 25]).toEqual([text, true, true]);
        }
        expect(Math.abs(labels[0]?.left ?? 99)).toBeLessThan(1.5);
        expect(Math.abs((labels.at(-1)?.right ?? 0) - 100)).toBeLessThan(1.5);
        for (const [at, { text, left }] of labels.entries()) {
          expect([text, left > (labels[at - 1]?.right ?? -99)]).toEqual([text, true]);
        }
      }
      await page.context().close();
    },
  );

  /** Changes the state of the first server, and waits until its page shows it. */
  async function playOn(map: string, playersCount: number): Promise<void> {
    const state = aServerState({ map, playersCount, maxPlayers: 24 });
    await saveServerPoll(db, first.id, { state, polledAt: new Date() });
    const shown = new RegExp(`${map.replace('de_', '')}</bdi>`);
    await waitFor(async () => shown.test(await (await fetch(site.origin)).text()));
  }

  test('the status page updates without reloading, and the focus stays', async () => {
    const { page } = await open({ viewport: { width: 1280, height: 900 } });
    await page.clock.install();
    await page.goto(site.origin);
    await page.evaluate('window.isSamePage = true');
    const focused = '(({ dataset, href }) => dataset.copy ?? dataset.steam ?? href)(document.activeElement)';
    const copy = page.locator('#server-s0 [data-copy]');
    const connect = page.locator('#server-s0 .button-primary');
    for (const [element, map, expected] of [
      [page.locator('#server-s0 h3 a'), 'de_train', /\/servers\/s0$/],
      [copy, 'de_nuke', 'address-s0'],
      [connect, 'de_dust2', /^steam:/],
    ] as const) {
      await element.focus();
      const handle = await element.evaluateHandle((node) => node);
      await playOn(map, 4);
      await page.clock.fastForward(15_000);
      await page.locator('#server-s0', { hasText: map }).waitFor();
      expect(await page.evaluate<string>(focused)).toMatch(expected);
      expect(await handle.evaluate((node) => node.isConnected)).toBe(true);
    }
    // One more server: the whole list is replaced, and its elements work like those before them.
    await copy.focus();
    await insertServerWithHistory(db, { now: new Date(), days: 0, name: '0', slug: 'added' });
    await waitFor(async () => (await (await fetch(site.origin)).text()).includes('server-added'));
    await page.clock.fastForward(15_000);
    await page.locator('#server-added').waitFor();
    expect(await page.evaluate(`[isSamePage, ${focused}]`)).toEqual([true, 'address-s0']);
    expect(await copy.isVisible()).toBe(true);
    expect(await connect.getAttribute('href')).toStartWith('steam://');
    await db.delete(servers).where(eq(servers.slug, 'added'));
    await waitFor(async () => !(await (await fetch(site.origin)).text()).includes('server-added'));

    await page.route('**/*', (route) => route.abort());
    await page.clock.fastForward(15_000);
    await page.locator('.live-lost', { hasText: en.status.lostConnection }).waitFor();
    await page.unroute('**/*');
    await page.clock.fastForward(15_000);
    await page.locator('.live-lost').waitFor({ state: 'detached' });
    await page.context().close();
  });

  test('an open table, the focus on it and the local time stay when a refresh changes the page', async () => {
    const { page } = await open({ viewport: { width: 1280, height: 900 }, timezoneId: 'America/New_York' });
    await page.clock.install();
    await page.goto(`${site.origin}/servers/s0`);
    const summary = page.locator('summary').nth(1);
    await summary.click();
    const row = page.locator('.chart-table').nth(1).locator('tbody th').first();
    const timeBefore = await row.textContent();
    expect(timeBefore).not.toContain('UTC');
    await playOn('de_anubis', 9);
    await page.clock.fastForward(15_000);
    await page.locator('.server-facts', { hasText: 'de_anubis' }).waitFor();
    expect(
      await page.evaluate<unknown>(
        '[[...document.querySelectorAll(".chart-table")].map(({ open }) => open), document.activeElement.tagName]',
      ),
    ).toEqual([[false, true, false], 'SUMMARY']);
    expect(await row.textContent()).toBe(timeBefore);
    expect(await page.locator('.live-line time').textContent()).not.toContain('UTC');
    expect(await page.locator('.connect-row .button-primary').getAttribute('href')).toStartWith('steam://');
    await page.context().close();
  });

  test('a page shows wholly the language that was chosen in another tab', async () => {
    const { page } = await open({ viewport: { width: 1280, height: 900 } });
    await page.clock.install();
    await page.goto(site.origin);
    const other = await page.context().newPage();
    await other.goto(`${site.origin}/?lang=pl`);
    await page.clock.fastForward(15_000);
    await page.getByText('1 serwer jest offline').waitFor();
    expect(await page.locator('html').getAttribute('lang')).toBe('pl');
    expect(await page.locator('.sign-in').textContent()).toBe(pl.shell.nav.signIn);
    await page.context().close();
  });

  test('the page says that a server is no longer listed, and not that the connection is lost', async () => {
    const gone = await insertServerWithHistory(db, { now: new Date(), days: 0, slug: 'gone' });
    const address = `${site.origin}/servers/gone`;
    await waitFor(async () => (await fetch(address)).ok);
    const { page } = await open({ viewport: { width: 1280, height: 900 } });
    await page.clock.install();
    await page.goto(address);
    await db.update(servers).set({ isHidden: true }).where(eq(servers.id, gone.id));
    await waitFor(async () => (await fetch(address)).status === 404);
    await page.clock.fastForward(15_000);
    await page.getByRole('heading', { name: en.errors.titles.noServer }).waitFor();
    await page.context().close();
  });

  test('the menu shows who is signed in, by keyboard only, and signs out', async () => {
    for (const width of [390, 1280]) {
      const page = await site.signIn(aSteamId(1), { viewport: { width, height: 900 } });
      await page.goto(site.origin);
      await look(page, `signed-in-${width}`);
      await page.locator('.menu summary').focus();
      await page.keyboard.press('Enter');
      await look(page, `menu-${width}`);
      await page.keyboard.press('Escape');
      expect(await page.evaluate('document.querySelector(".menu").open')).toBe(false);
      await page.keyboard.press('Enter');
      // On phones, the language switch is in the menu, before the button.
      for (let tab = 0; tab < (width < 480 ? 3 : 2); tab++) await page.keyboard.press('Tab');
      await page.keyboard.press('Enter');
      await page.waitForURL(/\/account/);
      await page.locator('.notice').waitFor();
      await page.goto(site.origin);
      expect(await page.locator('.menu').count()).toBe(0);
      await page.context().close();
    }
  });

  test.each([
    [320, 'light', 'pl-PL'],
    [1280, 'dark', 'en-GB'],
  ] as const)(
    'forty servers fit %d px in %s and %s without a barrier, and each first view weighs less than 100 kB and waits for nothing but the page',
    async (width, colorScheme, locale) => {
      for (const [name, path] of [
        ['all', '/'],
        ['one', '/servers/s0'],
        ['long', '/servers/s2'],
        ['offline', '/servers/s5'],
        ['connect', '/connect/s3'],
        ['connect-long', '/connect/s2'],
        ['sign-in', '/account'],
        ['missing', '/servers/nope'],
      ] as const) {
        // Its cache is empty.
        const { page, foreign, complaints } = await open({
          colorScheme,
          locale,
          viewport: { width, height: 900 },
        });
        const devtools = await page.context().newCDPSession(page);
        await devtools.send('Network.enable');
        let bytes = 0;
        devtools.on('Network.loadingFinished', ({ encodedDataLength }) => {
          bytes += encodedDataLength;
        });
        await page.goto(site.origin + path);
        await page.waitForLoadState('networkidle');
        expect([path, bytes > 5000, bytes < MAX_BYTES, bytes]).toEqual([path, true, true, bytes]);
        expect([path, await page.evaluate(LIST_BLOCKING)]).toEqual([path, []]);
        if (name === 'one') await page.locator('summary', { hasText: /tab/i }).first().click();
        await look(page, `${name}-${width}-${colorScheme}`);
        expect([foreign, complaints.filter((text) => !text.includes('404'))]).toEqual([[], []]);
        await page.context().close();
      }
    },
  );
});
