import { afterAll, expect, test } from 'bun:test';
import { createTestDatabase } from '../../support/database/database.ts';
import { addPseudoLanguage, PSEUDO } from '../../support/languages/pseudo-language.ts';
import { startSteamOpenIdProvider } from '../../support/providers/steam-openid-provider.ts';
import { startAccountSite } from '../../support/web/account.ts';
import { measureSpill, savePicture } from '../../support/web/browser-site.ts';
import { CHROMIUM_PATH, launchChromium } from '../../support/web/chromium.ts';
import { openEveryPage, seedEveryPage } from '../../support/web/every-page.ts';

const isPossible = CHROMIUM_PATH !== undefined || process.env.CI === 'true';
if (!isPossible) console.warn('SKIPPED: longer words in a real browser, since there is no Chromium here');

addPseudoLanguage();
const { db } = await createTestDatabase();
const steam = startSteamOpenIdProvider();
/** Gives the styles. */
const site = startAccountSite({ db, steam });
afterAll(async () => {
  await site.stop();
  await steam.stop();
});

test.skipIf(!isPossible)('words a third longer fit every page at 320 px', async () => {
  await seedEveryPage(db, 'Ωμέγα');
  const browser = await launchChromium();
  const window = await browser.newPage({ viewport: { width: 320, height: 900 } });
  let html = '';
  await window.route('**', (route) => {
    const { pathname } = new URL(route.request().url());
    if (pathname === '/shown') return route.fulfill({ body: html, contentType: 'text/html; charset=utf-8' });
    return pathname.endsWith('.css') ? route.continue() : route.abort();
  });
  const wide: [name: string, pixels: number][] = [];
  for (const { name, page } of await openEveryPage(db, 'Ωμέγα', { language: PSEUDO })) {
    html = page.text;
    await window.goto(`${site.origin}/shown`);
    await savePicture(window, `pseudo-language-${name}`, { fullPage: true });
    const spill = await measureSpill(window);
    if (spill > 0) wide.push([name, spill]);
  }
  await browser.close();
  expect(wide).toEqual([]);
});
