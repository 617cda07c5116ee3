import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import type { Page } from 'playwright-core';
import { roundSounds } from '../../../../src/db/schema/round-sounds.ts';
import { aSteamId, insertPenalties, insertUser } from '../../../support/database/builders.ts';
import { createTestDatabase } from '../../../support/database/database.ts';
import { insertServerWithHistory } from '../../../support/database/server-history.ts';
import { waitFor } from '../../../support/wait.ts';
import { type BrowserSite, measureSpill, startBrowserSite } from '../../../support/web/browser-site.ts';
import { CHROMIUM_PATH } from '../../../support/web/chromium.ts';

const isPossible = CHROMIUM_PATH !== undefined || process.env.CI === 'true';
if (!isPossible) console.warn('SKIPPED: broken words in a real browser, since there is no Chromium here');

/** The words in buttons, tables of charts and the profile of a player that are broken across lines. */
const LIST_BROKEN_WORDS = `[...document.querySelectorAll('.button, .chart-table table, .person-card')].flatMap((element) => {
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

const { db, url } = await createTestDatabase();

describe.skipIf(!isPossible)('on a phone', () => {
  const member = aSteamId(1);
  let site: BrowserSite;
  let page: Page;
  beforeAll(async () => {
    site = await startBrowserSite(url);
    await insertUser(db, 1, { nickname: 'Ala' });
    await insertUser(db, 2, { nickname: 'Admin', isAdmin: true });
    await db.insert(roundSounds).values({
      steamId64: member,
      title: 'winning round.mp3',
      durationMs: 3600,
      uploadKey: 'a',
      status: 'ready',
      sha256: 'a',
      waveform: [1, 50, 100],
    });
    await insertServerWithHistory(db, { now: new Date(), slug: 's0', name: 'Mirage', days: 8 });
    await waitFor(async () => (await fetch(`${site.origin}/servers/s0`)).ok);
    page = await site.signIn(member, { locale: 'pl-PL', viewport: { width: 320, height: 900 } });
  });
  afterAll(async () => {
    await site?.stop();
  });

  test.each([320, 360, 420])(
    'a player’s ids are whole, and icons beside their words, at %d px',
    async (width) => {
      const player = await insertUser(db, width, { nickname: 'Ola', discordId: `1999000380150426${width}` });
      const penalty = { playerSteamId: player.steamId64, endsAt: new Date('2027-12-27T20:25:00Z') };
      await insertPenalties(db, [
        { ...penalty, type: 'warn' },
        { ...penalty, type: 'silence', endsAt: null },
      ]);
      const admin = await site.signIn(aSteamId(2), { locale: 'pl-PL', viewport: { width, height: 900 } });
      await admin.goto(`${site.origin}/account/moderation/users/${player.steamId64}`);
      expect(await admin.evaluate(LIST_BROKEN_WORDS)).toEqual([]);
      for (const heading of await admin.locator('.penalty-heading').all()) {
        const icon = await heading.locator('svg').boundingBox();
        const words = await heading.locator('strong').boundingBox();
        expect(words?.x).toBeGreaterThan((icon?.x ?? 0) + (icon?.width ?? 0));
      }
      expect(await measureSpill(admin)).toBe(0);
      await admin.context().close();
    },
  );

  test('no button of the account page breaks a word', async () => {
    await page.goto(`${site.origin}/account`);
    expect(await page.getByRole('link', { name: 'Usuń', exact: true }).count()).toBe(1);
    expect(await page.evaluate(LIST_BROKEN_WORDS)).toEqual([]);
  });

  test('the tables of charts break no date and no number, and fit', async () => {
    await page.goto(`${site.origin}/servers/s0`);
    for (const summary of await page.locator('.chart-table summary').all()) await summary.click();
    expect(await page.locator('.chart-table tbody tr').count()).toBeGreaterThan(30);
    expect(await page.evaluate(LIST_BROKEN_WORDS)).toEqual([]);
    expect(await measureSpill(page)).toBe(0);
  });
});
