import { afterAll, beforeAll, expect, test } from 'bun:test';
import type { BrowserContextOptions, Page } from 'playwright-core';
import { PAGE_TEXTS } from '../../../../api/web/locales/texts.ts';
import { createApiToken } from '../../../../src/queries/users/api-tokens.ts';
import { aSteamId, insertUser } from '../../../support/database/builders.ts';
import { createTestDatabase } from '../../../support/database/database.ts';
import { PATIENCE_MS } from '../../../support/wait.ts';
import {
  type BrowserSite,
  listBarriers,
  measureSpill,
  savePicture,
  startBrowserSite,
} from '../../../support/web/browser-site.ts';
import { describeInChromium } from '../../../support/web/chromium.ts';

const { en } = PAGE_TEXTS;

const { url, db } = await createTestDatabase();

describeInChromium('the account page in Chromium', () => {
  let site: BrowserSite;
  let origin: string;
  beforeAll(async () => {
    site = await startBrowserSite(url);
    ({ origin } = site);
    site.steam.approvesAtOnce = false;
    site.discord.consent = 'ask';
    const owner = await insertUser(db, 901, { isOwner: true, isAdmin: true });
    await createApiToken(db, owner.id, { name: 'Stats website', now: new Date(), actor: 'operator' });
  });
  afterAll(async () => {
    await site?.stop();
  });

  /** Opens a new page; `complaints` collects the browser's errors and warnings. */
  async function open(steamId: string, options: BrowserContextOptions = {}) {
    site.steam.steamId = steamId;
    const context = await site.openContext(options);
    const page = await context.newPage();
    page.setDefaultTimeout(PATIENCE_MS);
    const complaints: string[] = [];
    page.on('console', (message) => {
      const isOurs = message.location().url.startsWith(origin);
      if (isOurs && ['error', 'warning'].includes(message.type())) complaints.push(message.text());
    });
    page.on('pageerror', (error) => complaints.push(error.message));
    return { context, page, complaints };
  }

  async function signIn(page: Page): Promise<void> {
    await page.goto(`${origin}/account`);
    await page.click('a[href="/account/sign-in"]');
    await page.click('#imageLogin');
    await page.waitForURL(`${origin}/account`);
  }

  async function callApi(token: string): Promise<number> {
    const answer = await fetch(`${origin}/api/v1/penalties?per_page=5`, {
      headers: { authorization: `Bearer ${token}` },
    });
    return answer.status;
  }

  test('leads from sign-in to a token that works, and from its revocation to 401', async () => {
    const { context, page, complaints } = await open(aSteamId(501));
    await context.grantPermissions(['clipboard-read', 'clipboard-write'], { origin });
    await signIn(page);
    expect(await page.textContent('#steam-id')).toBe(aSteamId(501));

    await page.fill('#token-name', 'My website');
    await page.selectOption('#token-expiry', '30');
    await page.click('form.create button');
    const token = (await page.textContent('#new-token')) ?? '';
    expect(token).toMatch(/^[a-z]+_[0-9A-Za-z]{36}$/);
    await page.click('[data-copy="new-token"]');
    await page.waitForSelector('[data-copy="new-token"][data-done]');
    expect(await page.evaluate('navigator.clipboard.readText()')).toBe(token);
    expect(await page.textContent('#new-token-curl')).toContain(`Bearer ${token}`);
    expect(await callApi(token)).toBe(200);

    await page.click('a[href="/account#tokens"]');
    await page.click('#tokens [aria-haspopup="dialog"]');
    await page.waitForSelector('dialog[open]');
    expect(await page.textContent('dialog[open]')).toContain('My website');
    await page.keyboard.press('Escape');
    await page.waitForSelector('dialog[open]', { state: 'detached' });
    expect(await page.evaluate('document.activeElement.textContent')).toBe(en.tokens.revoke);
    expect(await callApi(token)).toBe(200);

    await page.keyboard.press('Enter');
    await page.click('dialog[open] button[type="submit"]');
    await page.waitForSelector('.notice');
    expect(await page.textContent('.notice')).toContain(en.notices['token-revoked']);
    expect(await callApi(token)).toBe(401);

    await page.click('#sessions form[action="/account/sign-out"] button');
    await page.waitForSelector(`text=${en.signIn.button}`);
    expect(complaints).toEqual([]);
    await context.close();
  });

  test('closes a dialog that was opened before the script had loaded', async () => {
    const { context, page, complaints } = await open(aSteamId(505));
    await signIn(page);
    const { promise: clicked, resolve: load } = Promise.withResolvers<void>();
    await page.route('**/pages.*.js', async (route) => {
      await clicked;
      await route.continue();
    });
    await page.goto(`${origin}/account`, { waitUntil: 'commit' });
    await page.click('#data [aria-haspopup="dialog"]');
    const cancel = page.locator('dialog:popover-open button[type="button"]');
    await cancel.waitFor();
    load();
    await page.waitForSelector('[data-copy]:not([hidden])');
    await cancel.click();
    await page.waitForSelector('dialog:popover-open', { state: 'detached' });
    expect(complaints).toEqual([]);
    await context.close();
  });

  test('shows a refused form where it was, with what was entered', async () => {
    const { context, page } = await open(aSteamId(504), { viewport: { width: 390, height: 800 } });
    await signIn(page);
    await page.fill('#token-name', 'Stats');
    for (const box of await page.locator('form.create [type="checkbox"]').all()) await box.uncheck();
    await page.click('form.create button');
    const problem = page.locator('form.create [role="alert"]');
    await problem.waitFor();
    expect(await problem.textContent()).toContain(en.errors['token-scopes']);
    expect(await page.inputValue('#token-name')).toBe('Stats');
    const box = await problem.boundingBox();
    expect(box?.y).toBeWithin(0, 800);
    await savePicture(page, 'account-refused');
    await context.close();
  });

  test('links Discord on its consent page, to which the content security policy lets the form redirect', async () => {
    const { context, page, complaints } = await open(aSteamId(503));
    await page.route('https://cdn.discordapp.com/**', (route) => route.abort());
    await signIn(page);
    await page.click('form[action="/account/discord/link"] button');
    await page.click('button[value="allow"]');
    await page.waitForSelector('.notice');
    expect(await page.textContent('.notice')).toContain('linked');
    expect(await page.textContent('#discord')).toContain('nelly');
    // The letter stays where the picture did not load.
    expect(await page.textContent('#discord .avatar')).toBe('N');
    expect(complaints.filter((text) => !text.includes('net::ERR'))).toEqual([]);
    await context.close();
  });

  test('the keyboard reaches sign-in and account, starting at the link that skips the bar', async () => {
    const { context, page } = await open(aSteamId(504));
    await page.goto(`${origin}/account`);
    await page.keyboard.press('Tab');
    expect(await page.evaluate('document.activeElement.className')).toBe('skip');
    await page.keyboard.press('Enter');
    await page.keyboard.press('Tab');
    expect(await page.evaluate('document.activeElement.getAttribute("href")')).toBe('/account/sign-in');
    await page.keyboard.press('Enter');
    await page.waitForSelector('#imageLogin');
    await context.close();
  });

  test.each([
    ['dark', 360],
    ['light', 1400],
  ] as const)(
    'the question of a dialog fits without a barrier, in %s at %d px',
    async (colorScheme, width) => {
      const { context, page, complaints } = await open(aSteamId(901), {
        colorScheme,
        viewport: { width, height: 740 },
      });
      await page.goto(`${origin}/account`);
      await signIn(page);
      await page.click('[aria-haspopup="dialog"]');
      await page.waitForSelector('dialog[open]');
      expect([await measureSpill(page), await listBarriers(page), complaints]).toEqual([0, [], []]);
      await context.close();
    },
  );
});
