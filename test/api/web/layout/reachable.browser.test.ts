import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test';
import type { Page } from 'playwright-core';
import { servers } from '../../../../src/db/schema/servers.ts';
import { aSteamId } from '../../../support/database/builders.ts';
import { createTestDatabase } from '../../../support/database/database.ts';
import { PATIENCE_MS } from '../../../support/wait.ts';
import { type BrowserSite, startBrowserSite } from '../../../support/web/browser-site.ts';
import { describeInChromium } from '../../../support/web/chromium.ts';
import { OWNER, PLAYER, seedEveryPage } from '../../../support/web/every-page.ts';

setDefaultTimeout(600_000);

const { db, url } = await createTestDatabase();
const VIEWPORT = { width: 390, height: 844 };

/** Every visible button and link, and those whose centre is covered by another element. */
async function findCovered(page: Page): Promise<{ shown: number; covered: string[] }> {
  return page.evaluate(`(() => {
    const shown = [...document.querySelectorAll('a[href], button, summary, input[type=submit]')].filter((element) => {
      const { width, height } = element.getBoundingClientRect();
      return element.checkVisibility({ visibilityProperty: true }) && width > 1 && height > 1 && !element.matches('.skip');
    });
    const covered = shown.filter((element) => {
      element.scrollIntoView({ block: 'center', inline: 'center', behavior: 'instant' });
      // A link that wraps is clicked on its first line.
      const { left, top, width, height } = element.getClientRects()[0];
      const met = document.elementFromPoint(left + width / 2, top + height / 2);
      return !element.contains(met);
    });
    return { shown: shown.length, covered: covered.map((element) => element.outerHTML.slice(0, 160)) };
  })()`);
}

describeInChromium('every button and link can be clicked in Chromium', () => {
  let site: BrowserSite;
  let slug = '';
  beforeAll(async () => {
    await seedEveryPage(db, 'Ala');
    slug = (await db.select().from(servers))[0]?.slug ?? '';
    const demoPeople = { owner: OWNER, admin: PLAYER, moderator: aSteamId(4), member: aSteamId(10) };
    site = await startBrowserSite(url, { PUBLIC_PENALTIES: '1', APPEALS: '1' }, { demoPeople });
  });
  afterAll(async () => {
    await site?.stop();
  });

  async function visit(page: Page, paths: readonly string[]): Promise<void> {
    for (const path of paths) {
      await page.goto(site.origin + path);
      const { shown, covered } = await findCovered(page);
      expect({ path, covered }).toEqual({ path, covered: [] });
      expect(shown).toBeGreaterThan(0);
    }
  }

  for (const locale of ['en-GB', 'pl-PL']) {
    test(`every button and link of public pages can be clicked at 390 px, in ${locale}`, async () => {
      const context = await site.openContext({ locale, viewport: VIEWPORT, reducedMotion: 'reduce' });
      const page = await context.newPage();
      page.setDefaultTimeout(PATIENCE_MS);
      await visit(page, ['/account', '/', `/servers/${slug}`, `/connect/${slug}`, '/penalties', '/missing']);
      await context.close();
    });

    test(`every button and link of members' and admins' pages can be clicked at 390 px, in ${locale}`, async () => {
      const page = await site.signIn(OWNER, { locale, viewport: VIEWPORT, reducedMotion: 'reduce' });
      await visit(page, [
        '/account',
        '/account/appeals/1',
        '/account/moderation',
        '/account/moderation/appeals',
        '/account/moderation/appeals/2',
        '/account/moderation/guide',
        `/account/moderation/users/${PLAYER}`,
        '/account/moderation/audit',
        '/account/moderation/sounds',
        '/account/moderation/webhooks',
        '/account/moderation/webhooks/1',
      ]);
      await page.context().close();
    });
  }

  test('the list of cards stays in a low window, wherever the page is scrolled to', async () => {
    const viewport = { width: 1280, height: 560 };
    const page = await site.signIn(OWNER, { viewport, reducedMotion: 'reduce' });
    await visit(page, ['/account']);
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
