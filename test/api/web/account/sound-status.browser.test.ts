import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { eq } from 'drizzle-orm';
import { users } from '../../../../src/db/schema/accounts.ts';
import { anAudio, musicLike, toWav } from '../../../support/audio/audio.ts';
import { aSteamId } from '../../../support/database/builders.ts';
import { createTestDatabase } from '../../../support/database/database.ts';
import { type BrowserSite, startBrowserSite } from '../../../support/web/browser-site.ts';
import { CHROMIUM_PATH } from '../../../support/web/chromium.ts';

const isPossible = CHROMIUM_PATH !== undefined || process.env.CI === 'true';
if (!isPossible) console.warn('SKIPPED: a waiting sound in a real browser, since there is no Chromium here');

const FILE = {
  name: 'music.wav',
  mimeType: 'audio/wav',
  buffer: Buffer.from(toWav(anAudio({ seconds: 1, shape: musicLike(0.05) }), 's16')),
};
const { db, url } = await createTestDatabase();

describe.skipIf(!isPossible)('the page of a member whose sound waits', () => {
  let site: BrowserSite;
  beforeAll(async () => {
    // Without the role that renders sounds.
    site = await startBrowserSite(url);
  });
  afterAll(async () => {
    await site?.stop();
  });

  test('says that they are blocked from now on, and why', async () => {
    const page = await site.signIn(aSteamId(1));
    await page.setInputFiles('#sound-file', FILE);
    await page.click('.sound-upload [type="submit"]');
    await page.waitForSelector('[data-sound-progress]');
    await db
      .update(users)
      .set({ blockedAt: new Date(), blockReason: 'Spam.' })
      .where(eq(users.steamId64, aSteamId(1)));
    await page.getByRole('alert').filter({ hasText: 'Spam.' }).waitFor();
    await page.context().close();
  });

  test('sends no other form again when it was the response to one', async () => {
    const page = await site.signIn(aSteamId(2));
    await page.fill('#token-name', '   ');
    await page.click('.create-token button');
    await page.waitForURL(`${site.origin}/account/tokens#tokens`);
    const posts: string[] = [];
    page.on('request', (request) => {
      if (request.method() === 'POST') posts.push(new URL(request.url()).pathname);
    });
    await page.setInputFiles('#sound-file', FILE);
    await page.click('.sound-upload [type="submit"]');
    await page.waitForSelector('[data-sound-progress]');
    expect(posts).toEqual(['/account/roundsound']);
    expect(page.url()).toBe(`${site.origin}/account#sound`);
    await page.context().close();
  });
});
