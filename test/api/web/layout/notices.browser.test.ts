import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { PAGE_TEXTS } from '../../../../api/web/locales/texts.ts';
import { createApiToken } from '../../../../src/queries/users/api-tokens.ts';
import { createSession } from '../../../../src/queries/users/sessions.ts';
import type { User } from '../../../../src/queries/users/users.ts';
import { insertReadySound, insertUser } from '../../../support/database/builders.ts';
import { createTestDatabase } from '../../../support/database/database.ts';
import { waitFor } from '../../../support/wait.ts';
import { ARTIFACTS, type BrowserSite, startBrowserSite } from '../../../support/web/browser-site.ts';
import { describeInChromium } from '../../../support/web/chromium.ts';

const { en } = PAGE_TEXTS;

const { db, url } = await createTestDatabase();

describeInChromium('the notice of an action in Chromium', () => {
  let site: BrowserSite;
  beforeAll(async () => {
    site = await startBrowserSite(url, { WEBHOOK_ALLOW: '127.0.0.1' });
  });
  afterAll(async () => {
    await site?.stop();
  });

  let lastPlayer = 0;
  /** A page of somebody with enough tokens that its cards do not fit one window. */
  async function open(width: number, hasScript: boolean): Promise<{ page: Page; owner: User; other: User }> {
    lastPlayer += 10;
    const owner = await insertUser(db, lastPlayer, {
      nickname: 'Owner',
      isOwner: true,
      isAdmin: true,
    });
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
    return { page, owner, other };
  }

  /** Waits until the only notice has this text, in its card (undefined: in none) and inside the window. */
  async function expectNotice(page: Page, card: string | undefined, words: string): Promise<void> {
    const notice = page.locator('.notice');
    await notice.filter({ hasText: words }).waitFor();
    expect(await notice.count()).toBe(1);
    const closest = await page.evaluate<string | undefined>(
      "document.querySelector('.notice').closest('.card')?.id",
    );
    expect(closest).toBe(card);
    const { width = 0, height = 0 } = page.viewportSize() ?? {};
    const isInWindow = async () => {
      const box = await notice.boundingBox();
      return box && box.y >= 0 && box.y + box.height <= height && box.x >= 0 && box.x + box.width <= width;
    };
    // The browser scrolls to the card some time after it has parsed it.
    await waitFor(isInWindow, { what: `the notice in #${card} is in the window` }).catch(async (error) => {
      await page.screenshot({ path: join(ARTIFACTS, `notice-${card}-${width}.png`) });
      throw error;
    });
  }

  describe.each([
    [320, true],
    [320, false],
    [1280, true],
    [1280, false],
  ])('at %d px, with a script: %p', (width, hasScript) => {
    let page: Page;
    let owner: User;
    let other: User;
    beforeAll(async () => {
      ({ page, owner, other } = await open(width, hasScript));
    });
    afterAll(() => page?.context().close());

    const goTo = (path: string) => page.goto(`${site.origin}/account${path}`);
    /** Presses the first button in a card that asks for confirmation, and confirms. */
    async function confirm(card: string): Promise<void> {
      await page.locator(`#${card} [aria-haspopup="dialog"]`).first().click();
      await page.locator('dialog button[type="submit"]:visible').click();
    }

    test('the notice of a revoked token is in its card, once', async () => {
      await goTo('');
      await confirm('tokens');
      await expectNotice(page, 'tokens', en.notices['token-revoked']);
      await page.reload();
      expect(await page.locator('.notice').count()).toBe(0);
    });

    test('the notice of a token created twice is in its card', async () => {
      await goTo('');
      await page.fill('#token-name', 'Twice');
      await page.click('form.create button');
      await page.locator('#new-token').waitFor();
      await page.reload();
      await expectNotice(page, 'tokens', en.notices['token-already-created']);
    });

    test('the notice of a Discord account linked, unlinked and not linked is in its card', async () => {
      await goTo('');
      await page.click('form[action="/account/discord/link"] button');
      await expectNotice(page, 'discord', en.notices['discord-linked']);
      await confirm('discord');
      await expectNotice(page, 'discord', en.notices['discord-unlinked']);
      site.discord.consent = 'deny';
      await page.click('form[action="/account/discord/link"] button');
      await expectNotice(page, 'discord', en.notices['link-cancelled']);
      site.discord.consent = 'allow';
    });

    test('the notice of a sound deleted and uploaded is in its card', async () => {
      await goTo('');
      await confirm('sound');
      await expectNotice(page, 'sound', en.notices['sound-removed']);
      if (hasScript) return;
      await page.setInputFiles('#sound-file', {
        name: 'a.mp3',
        mimeType: 'audio/mpeg',
        buffer: Buffer.from('x'),
      });
      await page.click('.sound-upload [type="submit"]');
      await expectNotice(page, 'sound', en.notices['sound-uploaded']);
    });

    test("the notices of a player's token and flags are in their cards", async () => {
      await goTo(`/moderation/users/${other.steamId64}`);
      await confirm('tokens');
      await expectNotice(page, 'tokens', en.notices['token-revoked']);
      await page.check('input[name="hasSvip"]');
      await page.click('#flags button');
      await expectNotice(page, 'flags', en.notices['flags-saved']);
    });

    test('the notice of a player blocked and unblocked is in its card', async () => {
      await goTo(`/moderation/users/${other.steamId64}`);
      await page.click('#block form[action$="/block#block"] button');
      await expectNotice(page, 'block', en.notices['user-blocked']);
      await page.click('#block form[action$="/unblock"] button');
      await expectNotice(page, 'block', en.notices['user-unblocked']);
    });

    test('the notice of a removed webhook is in the card of webhooks', async () => {
      await goTo('/moderation/webhooks');
      await page.fill('#webhook-url', 'http://127.0.0.1:9/hook');
      await page.click('#webhooks form button');
      await page.locator('#webhook-secret').waitFor();
      await page.click('main a.button-primary');
      await confirm('webhook');
      await expectNotice(page, 'webhooks', en.notices['webhook-removed']);
    });

    test("the notice of a player's deleted sound is in the card of sounds", async () => {
      await goTo('/moderation/sounds');
      await confirm('sounds');
      await expectNotice(page, 'sounds', en.notices['sound-removed']);
    });

    test('the notice of a session ended elsewhere is in its card', async () => {
      const now = new Date();
      await createSession(db, {
        idHash: createHash('sha256').update(`${width} ${hasScript}`).digest('hex'),
        userId: owner.id,
        now,
        expiresAt: new Date(now.getTime() + 3_600_000),
        browser: 'Firefox',
        system: 'Linux',
      });
      await goTo('');
      await page.click('#sessions form[action="/account/sessions/end"] button');
      await expectNotice(page, 'sessions', en.notices['session-ended']);
    });

    // This comes last, since it ends the session that the others use.
    test('the notice of signing out is in no card', async () => {
      await goTo('');
      await page.click('form[action="/account/sign-out-everywhere"] button');
      await expectNotice(page, undefined, en.notices['signed-out-everywhere']);
      await goTo('/moderation');
      await expectNotice(page, undefined, en.notices['sign-in-first']);
    });
  });
});
