import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { createApiToken } from '../../../../src/queries/users/api-tokens.ts';
import { insertReadySound, insertUser } from '../../../support/database/builders.ts';
import { createTestDatabase } from '../../../support/database/database.ts';
import { ARTIFACTS, type BrowserSite, startBrowserSite } from '../../../support/web/browser-site.ts';
import { CHROMIUM_PATH } from '../../../support/web/chromium.ts';

const isPossible = CHROMIUM_PATH !== undefined || process.env.CI === 'true';
if (!isPossible) console.warn('SKIPPED: notices in a real browser, since there is no Chromium here');
const { db, url } = await createTestDatabase();

describe.skipIf(!isPossible)('the notice of an action', () => {
  let site: BrowserSite;
  beforeAll(async () => {
    site = await startBrowserSite(url, { WEBHOOK_ALLOW: '127.0.0.1' });
  });
  afterAll(async () => {
    await site?.stop();
  });

  let lastPlayer = 0;
  /** A page of somebody with enough tokens that its cards do not fit one window. */
  async function open(
    width: number,
    hasScript: boolean,
  ): Promise<{ page: Page; owner: string; other: string }> {
    lastPlayer += 10;
    const owner = await insertUser(db, lastPlayer, { nickname: 'Owner', isOwner: true, isAdmin: true });
    const other = await insertUser(db, lastPlayer + 1, { nickname: 'Other' });
    for (const { id } of [owner, other]) {
      for (let number = 1; number <= 8; number++) {
        await createApiToken(db, id, { name: `Token ${number}`, now: new Date(), actor: 'operator' });
      }
    }
    await insertReadySound(db, owner.steamId64);
    await insertReadySound(db, other.steamId64);
    const page = await site.signIn(owner.steamId64, {
      javaScriptEnabled: hasScript,
      viewport: { width, height: width === 320 ? 568 : 720 },
    });
    return { page, owner: owner.steamId64, other: other.steamId64 };
  }

  /** The words of the notice, which has to be in the window and in its card; undefined: in no card. */
  async function readNotice(page: Page, card: string | undefined): Promise<string> {
    const notice = page.locator('.notice');
    await notice.waitFor();
    expect(await notice.count()).toBe(1);
    const box = await notice.boundingBox();
    const { width = 0, height = 0 } = page.viewportSize() ?? {};
    const isInWindow =
      box !== null && box.y >= 0 && box.y + box.height <= height && box.x >= 0 && box.x + box.width <= width;
    if (!isInWindow) await page.screenshot({ path: join(ARTIFACTS, `notice-${card}-${width}.png`) });
    expect([card, box, isInWindow]).toEqual([card, box, true]);
    const closest = await page.evaluate<string | undefined>(
      "document.querySelector('.notice').closest('.card')?.id",
    );
    expect(closest).toBe(card);
    return (await notice.textContent())?.trim() ?? '';
  }

  /** Follows a link that asks first, and says yes: in a dialog, or on a page of its own. */
  async function confirm(page: Page, link: string, hasScript: boolean): Promise<void> {
    await page.locator(link).first().click();
    await page.locator(hasScript ? 'dialog button[type="submit"]' : 'main form button').click();
  }

  for (const [width, hasScript] of [
    [320, true],
    [320, false],
    [1280, true],
    [1280, false],
  ] as const) {
    test(`is where the person looks, at ${width} px, ${hasScript ? 'with' : 'without'} a script`, async () => {
      const { page, owner, other } = await open(width, hasScript);
      await confirm(page, '#tokens a.button-danger', hasScript);
      expect(await readNotice(page, 'tokens')).toContain('Token revoked.');
      await page.reload();
      expect(await page.locator('.notice').count()).toBe(0);

      await page.fill('#token-name', 'Twice');
      await page.click('form.create button');
      await page.locator('#new-token').waitFor();
      await page.reload();
      expect(await readNotice(page, 'tokens')).toContain('no second token was created');

      await page.click('form[action="/account/discord/link"] button');
      expect(await readNotice(page, 'discord')).toContain('Your Discord account is linked.');
      await confirm(page, '#discord a.button-danger', hasScript);
      expect(await readNotice(page, 'discord')).toContain('no longer linked');
      site.discord.consent = 'deny';
      await page.click('form[action="/account/discord/link"] button');
      expect(await readNotice(page, 'discord')).toContain('You cancelled linking at Discord.');
      site.discord.consent = 'allow';

      await confirm(page, '#sound a.button-danger', hasScript);
      expect(await readNotice(page, 'sound')).toContain('Sound deleted.');
      if (!hasScript) {
        await page.setInputFiles('#sound-file', {
          name: 'a.mp3',
          mimeType: 'audio/mpeg',
          buffer: Buffer.from('x'),
        });
        await page.click('.sound-upload button');
        expect(await readNotice(page, 'sound')).toContain('Your file has been uploaded');
      }

      await page.goto(`${site.origin}/account/moderation/users/${other}`);
      await confirm(page, '#tokens a.button-danger', hasScript);
      expect(await readNotice(page, 'tokens')).toContain('Token revoked.');
      await page.check('input[name="hasSvip"]');
      await page.click('#flags button');
      expect(await readNotice(page, 'flags')).toContain('Flags saved.');
      await page.click('#block form[action$="/block"] button');
      expect(await readNotice(page, 'block')).toContain('User blocked.');
      await page.click('#block form[action$="/unblock"] button');
      expect(await readNotice(page, 'block')).toContain('User unblocked.');

      await page.goto(`${site.origin}/account/moderation/webhooks`);
      await page.fill('#webhook-url', 'http://127.0.0.1:9/hook');
      await page.click('#webhooks form button');
      await page.getByText('Secret of the webhook').first().waitFor();
      await page.goto(`${site.origin}/account/moderation/webhooks`);
      await page.locator('#webhooks tbody a').first().click();
      await confirm(page, 'a.button-danger', hasScript);
      expect(await readNotice(page, 'webhooks')).toContain('Webhook removed.');

      await page.goto(`${site.origin}/account/moderation/sounds`);
      await confirm(page, `#sounds a[href*="${other}/delete"]`, hasScript);
      expect(await readNotice(page, 'sounds')).toContain('Sound deleted.');

      const elsewhere = await site.signIn(owner);
      await page.goto(`${site.origin}/account`);
      await page.click('#sessions form[action="/account/sessions/end"] button');
      expect(await readNotice(page, 'sessions')).toContain('That session has ended.');
      await elsewhere.context().close();

      await page.click('form[action="/account/sign-out-everywhere"] button');
      expect(await readNotice(page, undefined)).toContain('You have been signed out on every device.');
      await page.goto(`${site.origin}/account/moderation`);
      expect(await readNotice(page, undefined)).toContain('Please sign in to see that page.');
      await page.context().close();
    });
  }
});
