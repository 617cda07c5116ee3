import { beforeAll, expect, test } from 'bun:test';
import { eq } from 'drizzle-orm';
import type { Browser, Page } from 'playwright-core';
import { PAGE_TEXTS } from '../../../../api/web/locales/texts.ts';
import { auditLog } from '../../../../src/db/schema/accounts.ts';
import { insertPenalties } from '../../../support/database/builders.ts';
import { createTestDatabase } from '../../../support/database/database.ts';
import { PSEUDO, speakPseudoLanguage } from '../../../support/languages/pseudo-language.ts';
import { openBrowser } from '../../../support/web/browser.ts';
import { listBarriers, listCovered, measureSpill, savePicture } from '../../../support/web/browser-site.ts';
import { describeInChromium, launchChromium } from '../../../support/web/chromium.ts';
import { openEveryPage, seedEveryPage } from '../../../support/web/every-page.ts';
import { openUserSite } from '../../../support/web/user-site.ts';

/** Elements that overflow the window or their card. */
const LIST_SPILLS = `[...document.querySelectorAll('body *')].filter((element) => {
  const { right, left, width } = element.getBoundingClientRect();
  const card = element.closest('.card, dialog')?.getBoundingClientRect();
  const isHidden = width <= 1 || element.closest('.sr-only, thead, .skip') !== null && innerWidth < 768;
  // The links of the bar scroll in their row.
  const scrolls = element.closest('.bar-links') !== null;
  return !isHidden && !scrolls && (right > innerWidth + 1 || left < -1 || (card && right > card.right + 1));
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
/** Sets a global variable wherever a page takes it for markup. */
const HOSTILE = `"><svg onload=injected=1></textarea><img src=x onerror=injected=1>'onfocus='`;

const LOOKS = [
  { width: 320, colorScheme: 'light' },
  { width: 1280, colorScheme: 'dark' },
] as const;

const { db, site, startSite, signedIn } = await openUserSite({ settings: { arePenaltiesPublic: true } });

describeInChromium('pages in Chromium', () => {
  let browser: Browser;
  let window: Page;
  let html = '';
  beforeAll(async () => {
    browser = await launchChromium();
    window = await browser.newPage();
    await window.route('**', (route) => {
      const { pathname } = new URL(route.request().url());
      if (pathname === '/shown')
        return route.fulfill({ body: html, contentType: 'text/html; charset=utf-8' });
      return pathname.endsWith('.css') ? route.continue() : route.abort();
    });
  });

  /** Shows a page as it was sent, with its styles, without pictures and scripts, which load later. */
  async function show(text: string): Promise<void> {
    html = text;
    await window.goto(`${site.origin}/shown`);
  }

  /** Judges the page that is shown when the window is narrow and light, and when it is wide and dark. */
  async function inEachLook(judge: (width: number) => Promise<void>): Promise<void> {
    for (const { width, colorScheme } of LOOKS) {
      await window.setViewportSize({ width, height: 900 });
      await window.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
      await judge(width);
    }
  }

  test.each([
    ['en', ORDINARY],
    ['en', WIDEST],
    ['en', ORNATE],
    ['pl', ORDINARY],
    ['pl', WIDEST],
    ['pl', ORNATE],
  ])(
    'nothing spills in %s with names like %s; with ordinary ones no word breaks, axe finds nothing, and all can be clicked',
    async (language, text) => {
      const { db, requestDb } = await createTestDatabase({ max: 3 });
      await seedEveryPage(db, text);
      // No action has a name of somebody's choice.
      await db.delete(auditLog).where(eq(auditLog.action, text));
      for (const { name, page } of await openEveryPage(requestDb, text, { language })) {
        await show(page.text);
        await window.evaluate(
          "for (const table of document.querySelectorAll('details.chart-table')) table.open = true",
        );
        await inEachLook(async (width) => {
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
    },
  );

  test('a hostile name runs on no page, also without the content security policy', async () => {
    const { db, requestDb } = await createTestDatabase({ max: 3 });
    await seedEveryPage(db, HOSTILE);
    for (const { name, page } of await openEveryPage(requestDb, HOSTILE)) {
      await show(page.text);
      expect([name, await window.evaluate<boolean>(`'injected' in globalThis`)]).toEqual([name, false]);
    }
    // Control: as markup it does run here.
    await window.evaluate(`document.body.insertAdjacentHTML('beforeend', ${JSON.stringify(HOSTILE)})`);
    await window.waitForFunction(`'injected' in globalThis`);
  });

  test('the keyboard reaches the answer to an appeal with four Tabs, the first of which finds the link that skips the bar', async () => {
    const { db, requestDb } = await createTestDatabase({ max: 3 });
    await seedEveryPage(db, ORDINARY);
    const pages = await openEveryPage(requestDb, ORDINARY);
    await show(pages.find(({ name }) => name === 'an undecided appeal')?.page.text ?? '');
    await window.setViewportSize({ width: 1280, height: 900 });
    const focused: string[] = [];
    for (const keys of [['Tab', 'Enter'], ['Tab'], ['Tab'], ['Tab']]) {
      for (const key of keys) await window.keyboard.press(key);
      focused.push(await window.evaluate<string>('document.activeElement.id'));
    }
    expect(focused).toContain('message');
  });

  test('words a third longer fit every page at 320 px', async () => {
    using _ = speakPseudoLanguage();
    const { db, requestDb } = await createTestDatabase({ max: 3 });
    await seedEveryPage(db, 'Ωμέγα');
    await window.setViewportSize({ width: 320, height: 900 });
    for (const { name, page } of await openEveryPage(requestDb, 'Ωμέγα', { language: PSEUDO })) {
      await show(page.text);
      await savePicture(window, `pseudo-language-${name}`, { fullPage: true });
      expect([name, await measureSpill(window)]).toEqual([name, 0]);
    }
  });

  test('nothing spills where the site itself has a long name', async () => {
    const label = 'w'.repeat(63);
    const longest = startSite({ settings: { publicUrl: `http://${label}.${label}.${label}.example.org` } });
    const { text } = await openBrowser(longest.origin).get('/account');
    await show(text);
    await inEachLook(async () => {
      expect([await measureSpill(window), await window.evaluate(LIST_SPILLS)]).toEqual([0, []]);
    });
  });

  test.each(['en', 'pl', PSEUDO])(
    'the bar takes two rows on a phone, with the whole name of the site on one line or cut (%s)',
    async (language) => {
      using _ = speakPseudoLanguage();
      const discordInviteUrl = 'https://discord.gg/example';
      for (const siteName of ['Zagrywka', 'Konstantynopolitańczykowianeczka']) {
        const named = { name: siteName, logoUrl: undefined, accent: undefined, discordInviteUrl };
        const at = startSite({ settings: { arePenaltiesPublic: true, site: named } });
        await show((await (await signedIn(900, { at, language })).get('/account')).text);
        for (const width of [320, 390]) {
          await window.setViewportSize({ width, height: 800 });
          await savePicture(window, `bar-${siteName}-${language}-${width}`);
          const heights = await window.evaluate<number[]>(
            `[...document.querySelectorAll('.bar, .brand span')].map(({ offsetHeight }) => offsetHeight)`,
          );
          const seen = { siteName, width, spill: await measureSpill(window) };
          expect(seen).toEqual({ siteName, width, spill: 0 });
          expect([width, heights.map((height, index) => height <= ([104, 28][index] ?? 0))]).toEqual([
            width,
            [true, true],
          ]);
        }
      }
    },
  );

  const REASON = 'Krzyki do mikrofonu podczas całej rundy, mimo trzech ostrzeżeń od dwóch adminów';
  const DAY_MS = 86_400_000;
  beforeAll(async () => {
    const penalty = {
      type: 'mute',
      playerName: 'Żółw Ninja',
      adminName: 'Kapitan Bąk',
      durationMinutes: 43_200,
      endsAt: new Date(Date.now() + 29 * DAY_MS),
    } as const;
    await insertPenalties(
      db,
      Array.from({ length: 30 }, (_, number) => ({
        ...penalty,
        reason: number === 0 ? REASON : 'Krzyki do mikrofonu',
        createdAt: new Date(Date.now() - DAY_MS - number * 60_000),
      })),
    );
  });

  /** The cells of the first row of a list: their texts, and whether they are shown without a cut. */
  const readCells = () =>
    window.evaluate<[text: string, isWhole: boolean][]>(
      `[...document.querySelector('.list tbody tr').cells].map((cell) =>
        [cell.innerText, cell.offsetHeight > 0 && cell.scrollHeight <= cell.clientHeight + 1])`,
    );

  test.each([
    ['en', '29 days'],
    ['pl', '29 dni'],
  ] as const)(
    'moderators see a whole penalty on a phone, and their list fits its card on a tablet (%s)',
    async (language, rest) => {
      await show((await (await signedIn(900, { language })).get('/account/moderation/penalties')).text);
      for (const width of [320, 390]) {
        await window.setViewportSize({ width, height: 844 });
        const cells = await readCells();
        expect(cells.map(([, isWhole]) => isWhole)).toEqual(cells.map(() => true));
        const texts = cells.map(([text]) => text).join(' ');
        const { left } = PAGE_TEXTS[language].penalties;
        for (const part of [REASON, 'Kapitan Bąk', '#1', left(rest)]) expect(texts).toContain(part);
      }
      for (const width of [840, 900]) {
        await window.setViewportSize({ width, height: 844 });
        const spillPx =
          await window.evaluate<number>(`document.querySelector('.list').getBoundingClientRect().right
          - document.querySelector('.card:has(.list)').getBoundingClientRect().right`);
        expect([width, spillPx < 0]).toEqual([width, true]);
      }
    },
  );

  test.each(['en', 'pl'])(
    '25 penalties of the public list take at most four screens (%s)',
    async (language) => {
      await window.setViewportSize({ width: 390, height: 844 });
      await show((await openBrowser(site.origin, { language }).get('/penalties')).text);
      expect(await window.evaluate<number>('document.querySelectorAll(".list tbody tr").length')).toBe(25);
      const heightPx = await window.evaluate<number>('document.documentElement.scrollHeight');
      expect(heightPx).toBeLessThanOrEqual(4 * 844);
      const [, , reason] = await readCells();
      expect(reason?.[0]).toBe(REASON);
    },
  );
});
