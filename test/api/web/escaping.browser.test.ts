import { afterAll, beforeAll, expect, test } from 'bun:test';
import type { Page } from 'playwright-core';
import { createTestDatabase } from '../../support/database/database.ts';
import { type BrowserSite, startBrowserSite } from '../../support/web/browser-site.ts';
import { describeInChromium } from '../../support/web/chromium.ts';
import { OWNER, PLAYER, seedEveryPage } from '../../support/web/every-page.ts';

const { db, url } = await createTestDatabase();

/** Sets a global variable wherever a page takes it for markup. */
const HOSTILE = `"><svg onload=injected=1></textarea><img src=x onerror=injected=1>'onfocus='`;

describeInChromium('hostile names in Chromium, without the content security policy', () => {
  let site: BrowserSite;
  let page: Page;
  beforeAll(async () => {
    await seedEveryPage(db, HOSTILE);
    site = await startBrowserSite(url, { APPEALS: '1' });
    page = await site.signIn(OWNER, { bypassCSP: true });
  });
  afterAll(async () => {
    await site?.stop();
  });

  const isInjected = () => page.evaluate<boolean>(`'injected' in globalThis`);

  test('hostile names run where a page takes them for markup (control)', async () => {
    await page.goto(`${site.origin}/account`);
    await page.evaluate(`document.body.insertAdjacentHTML('beforeend', ${JSON.stringify(HOSTILE)})`);
    await page.waitForFunction(`'injected' in globalThis`);
  });

  test.each([
    '/account',
    '/account/moderation',
    `/account/moderation/users/${PLAYER}`,
    '/account/moderation/appeals/2',
    '/account/moderation/audit',
    '/account/moderation/sounds',
  ])('hostile names run nothing at %s, nor in its dialogs', async (path) => {
    await page.goto(site.origin + path);
    expect(await page.textContent('body')).toContain(HOSTILE.slice(0, 64));
    const actions = page.locator('[aria-haspopup="dialog"]');
    for (let index = 0; index < Math.min(3, await actions.count()); index++) {
      await actions.nth(index).click();
      await page.locator('dialog[open]').waitFor();
      expect(await page.textContent('dialog[open]')).toContain(HOSTILE.slice(0, 64));
      await page.keyboard.press('Escape');
    }
    expect(await isInjected()).toBe(false);
  });
});
