import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { eq } from 'drizzle-orm';
import type { BrowserContextOptions, Page } from 'playwright-core';
import { servers } from '../../../../src/db/schema/servers.ts';
import { saveServerPoll } from '../../../support/database/builders.ts';
import { createTestDatabase } from '../../../support/database/database.ts';
import { insertServerWithHistory } from '../../../support/database/server-history.ts';
import { waitFor } from '../../../support/wait.ts';
import { type BrowserSite, startBrowserSite } from '../../../support/web/browser-site.ts';
import { CHROMIUM_PATH } from '../../../support/web/chromium.ts';

const isPossible = CHROMIUM_PATH !== undefined || process.env.CI === 'true';
if (!isPossible)
  console.warn('SKIPPED: the refresh of pages in a real browser, since there is no Chromium here');

const PLAYERS = ['kox_99', 'Ala', 'Rzeźnik'].map((name, index) => ({ name, score: 40 - index }));
const { db, url } = await createTestDatabase();

describe.skipIf(!isPossible)('the refresh of a page about servers', () => {
  let site: BrowserSite;
  let first: { id: number };
  beforeAll(async () => {
    site = await startBrowserSite(url);
    first = await insertServerWithHistory(db, {
      now: new Date(),
      name: 'Mirage',
      slug: 's0',
      players: PLAYERS,
    });
    await insertServerWithHistory(db, { now: new Date(), days: 1, name: 'Retake', slug: 's1' });
    await waitFor(async () => (await (await fetch(site.origin)).text()).includes('server-s1'));
  });
  afterAll(async () => {
    await site?.stop();
  });

  async function openPage(options: BrowserContextOptions): Promise<Page> {
    const context = await site.openContext({ reducedMotion: 'reduce', ...options });
    return context.newPage();
  }

  /** Changes what is known of the first server, and waits until its page shows it. */
  async function playOn(map: string, playersCount: number): Promise<void> {
    const state = {
      hostname: 'x',
      map,
      playersCount,
      maxPlayers: 24,
      pingMs: 9,
      players: PLAYERS.slice(2),
    };
    await saveServerPoll(db, first.id, { state, polledAt: new Date() });
    const shown = new RegExp(`${map.replace('de_', '')}</bdi>`);
    await waitFor(async () => shown.test(await (await fetch(site.origin)).text()));
  }

  test('keeps the focus on a button when a refresh changes the content around it', async () => {
    const page = await openPage({ viewport: { width: 1280, height: 900 }, timezoneId: 'America/New_York' });
    await page.clock.install();
    await page.goto(site.origin);
    const focused = 'document.activeElement.dataset.copy ?? document.activeElement.dataset.steam';
    const copy = page.locator('#server-s0 [data-copy]');
    const connect = page.locator('#server-s0 .button-primary');
    for (const [button, map, expected] of [
      [copy, 'de_nuke', 'address-s0'],
      [connect, 'de_dust2', /^steam:/],
    ] as const) {
      await button.focus();
      const isKept = await button.evaluateHandle((element) => element);
      await playOn(map, 4);
      await page.clock.fastForward(15_000);
      await page.locator('#server-s0', { hasText: map }).waitFor();
      expect(await page.evaluate<string>(focused)).toMatch(expected);
      expect(await isKept.evaluate((element) => element.isConnected)).toBe(true);
    }
    // One more server: the whole list is replaced.
    await copy.focus();
    await insertServerWithHistory(db, { now: new Date(), days: 0, name: '0', slug: 'added' });
    await waitFor(async () => (await (await fetch(site.origin)).text()).includes('server-added'));
    await page.clock.fastForward(15_000);
    await page.locator('#server-added').waitFor();
    expect(await page.evaluate<string>(focused)).toBe('address-s0');
    expect(await copy.isVisible()).toBe(true);
    await db.delete(servers).where(eq(servers.slug, 'added'));
    await waitFor(async () => !(await (await fetch(site.origin)).text()).includes('server-added'));
    await page.context().close();
  });

  test('keeps an open table, the focus on it and the local time when a refresh changes the page', async () => {
    const page = await openPage({ viewport: { width: 1280, height: 900 }, timezoneId: 'America/New_York' });
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

  test('shows the whole page in the language that was chosen in another tab', async () => {
    const page = await openPage({ viewport: { width: 1280, height: 900 } });
    await page.clock.install();
    await page.goto(site.origin);
    const other = await page.context().newPage();
    await other.goto(`${site.origin}/?lang=pl`);
    await page.clock.fastForward(15_000);
    await page.getByText('Wszystkie serwery są online').waitFor();
    expect(await page.locator('html').getAttribute('lang')).toBe('pl');
    expect(await page.locator('.sign-in').textContent()).toBe('Zaloguj się');
    await page.context().close();
  });

  test('says that a server is no longer listed, and not that the connection is lost', async () => {
    const gone = await insertServerWithHistory(db, { now: new Date(), days: 0, name: 'Gone', slug: 'gone' });
    const address = `${site.origin}/servers/gone`;
    await waitFor(async () => (await fetch(address)).ok);
    const page = await openPage({ viewport: { width: 1280, height: 900 } });
    await page.clock.install();
    await page.goto(address);
    await db.update(servers).set({ isHidden: true }).where(eq(servers.id, gone.id));
    await waitFor(async () => (await fetch(address)).status === 404);
    await page.clock.fastForward(15_000);
    await page.getByRole('heading', { name: 'Server not found' }).waitFor();
    await page.context().close();
  });
});
