import { afterAll, beforeAll, expect, test } from 'bun:test';
import type { Browser, Page } from 'playwright-core';
import { PAGE_TEXTS } from '../../../../api/web/locales/texts.ts';
import { insertPenalties } from '../../../support/database/builders.ts';
import type { Browser as SignedInBrowser } from '../../../support/web/browser.ts';
import { openBrowser } from '../../../support/web/browser.ts';
import { describeInChromium, launchChromium } from '../../../support/web/chromium.ts';
import { openMemberSite } from '../../../support/web/member-site.ts';

const { db, site, signedIn } = await openMemberSite({ settings: { arePenaltiesPublic: true } });
const REASON = 'Krzyki do mikrofonu podczas całej rundy, mimo trzech ostrzeżeń od dwóch adminów';
const DAY_MS = 86_400_000;
await insertPenalties(
  db,
  Array.from({ length: 30 }, (_, number) => ({
    type: 'mute' as const,
    reason: number === 0 ? REASON : 'Krzyki do mikrofonu',
    playerName: 'Żółw Ninja',
    adminName: 'Kapitan Bąk',
    durationMinutes: 43_200,
    createdAt: new Date(Date.now() - DAY_MS - number * 60_000),
    endsAt: new Date(Date.now() + 29 * DAY_MS),
  })),
);

describeInChromium('lists of penalties on phones and tablets', () => {
  let chromium: Browser;
  let window: Page;
  beforeAll(async () => {
    chromium = await launchChromium();
    window = await chromium.newPage({ viewport: { width: 390, height: 844 } });
  });
  afterAll(() => chromium.close());

  async function show(browser: SignedInBrowser, path: string): Promise<void> {
    const { text } = await browser.get(path);
    await window.route('**', (route) =>
      route.request().url().endsWith('/shown')
        ? route.fulfill({ body: text, contentType: 'text/html; charset=utf-8' })
        : route.continue(),
    );
    await window.goto(`${site.origin}/shown`);
  }

  /** The cells of the first row: their texts, and whether they are shown without a cut. */
  const readCells = () =>
    window.evaluate<[text: string, isWhole: boolean][]>(
      `[...document.querySelector('.list tbody tr').cells].map((cell) =>
        [cell.innerText, cell.offsetHeight > 0 && cell.scrollHeight <= cell.clientHeight + 1])`,
    );

  test.each(['en', 'pl'])(
    'moderators see the whole reason, status, admin, time and server (%s)',
    async (language) => {
      for (const width of [320, 390]) {
        await window.setViewportSize({ width, height: 844 });
        await show(await signedIn(900, { language }), '/account/moderation/penalties');
        const cells = await readCells();
        expect(cells.map(([, isWhole]) => isWhole)).toEqual(cells.map(() => true));
        const texts = cells.map(([text]) => text).join(' ');
        for (const part of [
          REASON,
          'Kapitan Bąk',
          '#1',
          PAGE_TEXTS[language].penalties.left(language === 'pl' ? '29 dni' : '29 days'),
        ]) {
          expect(texts).toContain(part);
        }
      }
    },
  );

  test.each(['en', 'pl'])('the table of moderators fits its card on a tablet (%s)', async (language) => {
    await show(await signedIn(900, { language }), '/account/moderation/penalties');
    for (const width of [840, 900]) {
      await window.setViewportSize({ width, height: 844 });
      const spillPx =
        await window.evaluate<number>(`document.querySelector('.list').getBoundingClientRect().right
        - document.querySelector('.card:has(.list)').getBoundingClientRect().right`);
      expect([width, spillPx < 0]).toEqual([width, true]);
    }
  });

  test.each(['en', 'pl'])(
    '25 penalties of the public list take at most four screens (%s)',
    async (language) => {
      await window.setViewportSize({ width: 390, height: 844 });
      await show(openBrowser(site.origin, { language }), '/penalties');
      expect(await window.evaluate<number>('document.querySelectorAll(".list tbody tr").length')).toBe(25);
      const heightPx = await window.evaluate<number>('document.documentElement.scrollHeight');
      expect(heightPx).toBeLessThanOrEqual(4 * 844);
      const [, , reason] = await readCells();
      expect(reason?.[0]).toBe(REASON);
    },
  );
});
