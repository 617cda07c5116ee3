import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { createTestDatabase } from '../../../support/database/database.ts';
import { insertServerWithHistory } from '../../../support/database/server-history.ts';
import { waitFor } from '../../../support/wait.ts';
import { type BrowserSite, startBrowserSite } from '../../../support/web/browser-site.ts';
import { CHROMIUM_PATH } from '../../../support/web/chromium.ts';

const isPossible = CHROMIUM_PATH !== undefined || process.env.CI === 'true';
if (!isPossible)
  console.warn('SKIPPED: the times below charts in a real browser, since there is no Chromium here');

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

const { db, url } = await createTestDatabase();

describe.skipIf(!isPossible)('the times below the charts of a server', () => {
  let site: BrowserSite;
  beforeAll(async () => {
    site = await startBrowserSite(url);
    await insertServerWithHistory(db, { now: new Date(), slug: 's0', name: 'Mirage' });
    await waitFor(async () => (await fetch(`${site.origin}/servers/s0`)).ok);
  });
  afterAll(async () => {
    await site?.stop();
  });

  test.each([
    [320, 'pl-PL'],
    [390, 'en-GB'],
    [768, 'en-GB'],
    [1280, 'pl-PL'],
  ] as const)('stand at %i px in %s where the chart shows that time, on one line', async (width, locale) => {
    const context = await site.openContext({ viewport: { width, height: 900 }, locale });
    const page = await context.newPage();
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
    await context.close();
  });
});
