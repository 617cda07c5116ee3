import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { eq } from 'drizzle-orm';
import type { Browser, Page } from 'playwright-core';
import { auditLog } from '../../../../src/db/schema/accounts.ts';
import { createTestDatabase } from '../../../support/database/database.ts';
import { startSteamOpenIdProvider } from '../../../support/providers/steam-openid-provider.ts';
import { startAccountSite } from '../../../support/web/account.ts';
import { openBrowser } from '../../../support/web/browser.ts';
import { listBarriers, listCovered, measureSpill, savePicture } from '../../../support/web/browser-site.ts';
import { describeInChromium, launchChromium } from '../../../support/web/chromium.ts';
import { openEveryPage, seedEveryPage } from '../../../support/web/every-page.ts';

/** Elements that overflow the window or their card. */
const LIST_SPILLS = `[...document.querySelectorAll('body *')].filter((element) => {
  const { right, left, width } = element.getBoundingClientRect();
  const card = element.closest('.card, dialog')?.getBoundingClientRect();
  const isHidden = width <= 1 || element.closest('.sr-only, thead, .skip') !== null && innerWidth < 768;
  return !isHidden && (right > innerWidth + 1 || left < -1 || (card && right > card.right + 1));
}).slice(0, 3).map((element) => element.outerHTML.slice(0, 120))`;

/** The words in buttons, labels, tables of charts and the profile of a player that are broken across lines. */
const LIST_BROKEN_WORDS = `[...document.querySelectorAll('.button, label, legend, dt, .chart-table table, .person-card')].flatMap((element) => {
  const nodes = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
  const broken = [];
  while (nodes.nextNode()) {
    if (nodes.currentNode.parentElement.closest('.sr-only')) continue;
    for (const { 0: word, index } of nodes.currentNode.data.matchAll(/\\S+/g)) {
      const range = document.createRange();
      range.setStart(nodes.currentNode, index);
      range.setEnd(nodes.currentNode, index + word.length);
      if (range.getClientRects().length > 1) broken.push(word);
    }
  }
  return broken;
})`;

/** Ordinary names, by which words are judged, and the widest and longest that are allowed. */
const [ORDINARY, WIDEST, ORNATE] = ['Żółw Ninja', 'W'.repeat(128), 'ﷺ'.repeat(64)];

const LOOKS = [
  { width: 320, colorScheme: 'light' },
  { width: 1280, colorScheme: 'dark' },
] as const;

const steam = startSteamOpenIdProvider();
const label = 'w'.repeat(63);
/** Gives the styles; its own name is as long as may be. */
const site = startAccountSite({
  db: (await createTestDatabase({ max: 3 })).db,
  steam,
  settings: { publicUrl: `http://${label}.${label}.${label}.example.org` },
});

describeInChromium('on every page in Chromium', () => {
  let browser: Browser;
  beforeAll(async () => {
    browser = await launchChromium();
  });
  afterAll(async () => {
    await browser?.close();
    await site.stop();
    await steam.stop();
  });

  /** A window, and what shows a page in it as it was sent, with its styles, without pictures and scripts, which load later. */
  async function openWindow() {
    const context = await browser.newContext();
    const window = await context.newPage();
    let html = '';
    await window.route('**', (route) => {
      const { pathname } = new URL(route.request().url());
      if (pathname === '/shown')
        return route.fulfill({ body: html, contentType: 'text/html; charset=utf-8' });
      return pathname.endsWith('.css') ? route.continue() : route.abort();
    });
    const show = async (text: string) => {
      html = text;
      await window.goto(`${site.origin}/shown`);
    };
    return { window, show, close: () => context.close() };
  }

  /** Judges the page of a window when it is narrow and light, and when it is wide and dark. */
  async function inEachLook(window: Page, judge: (width: number) => Promise<void>): Promise<void> {
    for (const { width, colorScheme } of LOOKS) {
      await window.setViewportSize({ width, height: 900 });
      await window.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
      await judge(width);
    }
  }

  describe.each(['en', 'pl'])('in %s', (language) => {
    test.each([ORDINARY, WIDEST, ORNATE])(
      'nothing spills with names like %s; with ordinary ones no word breaks, axe finds nothing, and all can be clicked',
      async (text) => {
        const { db } = await createTestDatabase({ max: 3 });
        await seedEveryPage(db, text);
        // No action has a name of somebody's choice.
        await db.delete(auditLog).where(eq(auditLog.action, text));
        const pages = await openEveryPage(db, text, { language });
        const { window, show, close } = await openWindow();
        for (const { name, page } of pages) {
          await show(page.text);
          await window.evaluate(
            "for (const table of document.querySelectorAll('details.chart-table')) table.open = true",
          );
          await inEachLook(window, async (width) => {
            await savePicture(window, `${name}-${language}-${width}-${text.slice(0, 1)}`, { fullPage: true });
            const ordinary = text === ORDINARY && {
              broken: await window.evaluate(LIST_BROKEN_WORDS),
              barriers: await listBarriers(window),
              covered: await listCovered(window),
            };
            expect({
              name,
              width,
              spill: await measureSpill(window),
              spills: await window.evaluate(LIST_SPILLS),
              ...ordinary,
            }).toEqual({
              name,
              width,
              spill: 0,
              spills: [],
              ...(ordinary && { broken: [], barriers: [], covered: [] }),
            });
          });
        }
        await close();
      },
    );
  });

  test('nothing spills where the site itself has a long name', async () => {
    const { text } = await openBrowser(site.origin).get('/account');
    const { window, show, close } = await openWindow();
    await show(text);
    await inEachLook(window, async () => {
      expect([await measureSpill(window), await window.evaluate(LIST_SPILLS)]).toEqual([0, []]);
    });
    await close();
  });
});
