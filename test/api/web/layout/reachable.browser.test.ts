import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test';
import { createTestDatabase } from '../../../support/database/database.ts';
import { type BrowserSite, listCovered, startBrowserSite } from '../../../support/web/browser-site.ts';
import { describeInChromium } from '../../../support/web/chromium.ts';
import { OWNER, seedEveryPage } from '../../../support/web/every-page.ts';

setDefaultTimeout(600_000);

const { db, url } = await createTestDatabase();

describeInChromium('what stays in view covers nothing in Chromium', () => {
  let site: BrowserSite;
  beforeAll(async () => {
    await seedEveryPage(db, 'Ala');
    site = await startBrowserSite(url, { PUBLIC_PENALTIES: '1', APPEALS: '1' });
  });
  afterAll(async () => {
    await site?.stop();
  });

  test('the list of cards stays in a low window, wherever the page is scrolled to', async () => {
    const viewport = { width: 1280, height: 560 };
    const page = await site.signIn(OWNER, { viewport, reducedMotion: 'reduce' });
    await page.goto(`${site.origin}/account`);
    expect(await listCovered(page)).toEqual([]);
    for (const id of ['sound', 'tokens', 'sessions']) {
      await page.goto(`${site.origin}/account#${id}`);
      const boxes = await Promise.all(
        (await page.locator('.contents a').all()).map((link) => link.boundingBox()),
      );
      expect(boxes).toHaveLength(6);
      for (const box of boxes) {
        expect(box?.y).toBeGreaterThan(50);
        expect((box?.y ?? 0) + (box?.height ?? 0)).toBeLessThan(viewport.height);
      }
    }
    await page.context().close();
  });

  test('the menu closes when the Tab key leaves it, so that it covers nothing that has the focus', async () => {
    const page = await site.signIn(OWNER, {
      viewport: { width: 1280, height: 700 },
      reducedMotion: 'reduce',
    });
    await page.goto(`${site.origin}/account/moderation`);
    await page.locator('.menu summary').press('Enter');
    const isOpen = () => page.evaluate('document.querySelector(".menu").open');
    for (const isInMenu of [true, true, false, false, false, false]) {
      await page.keyboard.press('Tab');
      const isCovered = await page.evaluate(`(() => {
        const { left, top, width, height } = document.activeElement.getBoundingClientRect();
        return !document.activeElement.contains(document.elementFromPoint(left + width / 2, top + height / 2));
      })()`);
      expect([await isOpen(), isCovered]).toEqual([isInMenu, false]);
    }
    await page.locator('.menu summary').press('Enter');
    await page.keyboard.press('Tab');
    await page.keyboard.press('Shift+Tab');
    expect(await isOpen()).toBe(true);
    await page.keyboard.press('Shift+Tab');
    expect(await isOpen()).toBe(false);
    await page.context().close();
  });
});
