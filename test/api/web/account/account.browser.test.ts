import { beforeAll, expect, test } from 'bun:test';
import { createHash } from 'node:crypto';
import type { Locator, Page } from 'playwright-core';
import { en } from '../../../../api/web/locales/en.ts';
import { inTransaction } from '../../../../src/db/client.ts';
import { createApiToken } from '../../../../src/queries/users/api-tokens.ts';
import { createSession } from '../../../../src/queries/users/sessions.ts';
import { aSteamId, insertUser } from '../../../support/database/builders.ts';
import { createTestDatabase } from '../../../support/database/database.ts';
import { PATIENCE_MS, waitFor } from '../../../support/wait.ts';
import {
  type BrowserSite,
  collectComplaints,
  listBarriers,
  listCovered,
  measureSpill,
  savePicture,
  startBrowserSite,
} from '../../../support/web/browser-site.ts';
import { describeInChromium } from '../../../support/web/chromium.ts';
import { OWNER, seedEveryPage } from '../../../support/web/every-page.ts';

const { url, db } = await createTestDatabase();

describeInChromium('the account page in Chromium', () => {
  let site: BrowserSite;
  let origin: string;
  beforeAll(async () => {
    await seedEveryPage(db, 'Ala');
    site = await startBrowserSite(url, { APPEALS: '1' });
    ({ origin } = site);
  });

  /** A page of a visitor who will sign in as this player. */
  async function openAs(steamId: string): Promise<Page> {
    site.steam.steamId = steamId;
    const page = await (await site.openContext()).newPage();
    page.setDefaultTimeout(PATIENCE_MS);
    await page.goto(`${origin}/account`);
    return page;
  }

  async function callApi(token: string): Promise<number> {
    const answer = await fetch(`${origin}/api/v1/penalties?per_page=5`, {
      headers: { authorization: `Bearer ${token}` },
    });
    return answer.status;
  }

  test('leads from sign-in to a token that works, and from its revocation to 401', async () => {
    const page = await openAs(aSteamId(501));
    const complaints = collectComplaints(page);
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write'], { origin });
    await page.click('a[href="/account/sign-in"]');
    await page.waitForSelector('#steam-id');
    expect(await page.textContent('#steam-id')).toBe(aSteamId(501));

    await page.fill('#token-name', 'My website');
    await page.selectOption('#token-expiry', '30');
    await page.click('form.create button');
    const token = (await page.textContent('#new-token')) ?? '';
    expect(token).toMatch(/^[a-z]+_[0-9A-Za-z]{36}$/);
    await page.click('[data-copy="new-token"]');
    await page.waitForSelector('[data-copy="new-token"][data-done]');
    expect(await page.evaluate('navigator.clipboard.readText()')).toBe(token);
    expect(await page.textContent('#new-token-curl')).toContain(`Bearer ${token}`);
    expect(await callApi(token)).toBe(200);

    await page.click('a[href="/account#tokens"]');
    await page.click('#tokens [aria-haspopup="dialog"]');
    await page.waitForSelector('dialog[open]');
    expect(await page.textContent('dialog[open]')).toContain('My website');
    await page.keyboard.press('Escape');
    await page.waitForSelector('dialog[open]', { state: 'detached' });
    expect(await page.evaluate('document.activeElement.textContent')).toBe(en.tokens.revoke);
    expect(await callApi(token)).toBe(200);

    await page.keyboard.press('Enter');
    await page.click('dialog[open] button[type="submit"]');
    await page.waitForSelector('.notice');
    expect(await page.textContent('.notice')).toContain(en.notices['token-revoked']);
    expect(await callApi(token)).toBe(401);

    await page.click('#sessions form[action="/account/sign-out"] button');
    await page.waitForSelector(`text=${en.signIn.button}`);
    expect(complaints).toEqual([]);
    await page.context().close();
  });

  test('closes a dialog that was opened before the script had loaded', async () => {
    const page = await site.signIn(aSteamId(505));
    const complaints = collectComplaints(page);
    const { promise: clicked, resolve: load } = Promise.withResolvers<void>();
    await page.route('**/pages.*.js', async (route) => {
      await clicked;
      await route.continue();
    });
    await page.goto(`${origin}/account`, { waitUntil: 'commit' });
    await page.click('#data [aria-haspopup="dialog"]');
    const cancel = page.locator('dialog:popover-open button[type="button"]');
    await cancel.waitFor();
    load();
    await page.waitForSelector('[data-copy]:not([hidden])');
    await cancel.click();
    await page.waitForSelector('dialog:popover-open', { state: 'detached' });
    expect(complaints).toEqual([]);
    await page.context().close();
  });

  test('shows a refused form where it was, with what was entered', async () => {
    const page = await site.signIn(aSteamId(504), { viewport: { width: 390, height: 800 } });
    await page.fill('#token-name', 'Stats');
    for (const box of await page.locator('form.create [type="checkbox"]').all()) await box.uncheck();
    await page.click('form.create button');
    const problem = page.locator('form.create [role="alert"]');
    await problem.waitFor();
    expect(await problem.textContent()).toContain(en.errors['token-scopes']);
    expect(await page.inputValue('#token-name')).toBe('Stats');
    await expectInWindow(problem);
    await savePicture(page, 'account-refused');
    await page.context().close();
  });

  test('links Discord, to which the content security policy lets the form redirect', async () => {
    site.discord.account.id = '80351110224678999';
    const page = await site.signIn(aSteamId(503));
    const complaints = collectComplaints(page);
    await page.click('form[action="/account/discord/link"] button');
    await page.waitForSelector('.notice');
    expect(await page.textContent('.notice')).toContain(en.notices['discord-linked']);
    expect(await page.textContent('#discord')).toContain('nelly');
    // The letter stays where the picture did not load.
    expect(await page.textContent('#discord .avatar')).toBe('N');
    expect(complaints.filter((text) => !text.includes('net::ERR'))).toEqual([]);
    await page.context().close();
  });

  test('the keyboard reaches sign-in and account, starting at the link that skips the bar', async () => {
    const page = await openAs(aSteamId(504));
    await page.keyboard.press('Tab');
    expect(await page.evaluate('document.activeElement.className')).toBe('skip');
    await page.keyboard.press('Enter');
    await page.keyboard.press('Tab');
    expect(await page.evaluate('document.activeElement.getAttribute("href")')).toBe('/account/sign-in');
    await page.keyboard.press('Enter');
    await page.waitForSelector('#steam-id');
    await page.context().close();
  });

  test.each([
    ['dark', 360],
    ['light', 1400],
  ] as const)(
    'the question of a dialog fits without a barrier, in %s at %d px',
    async (colorScheme, width) => {
      const page = await site.signIn(OWNER, { colorScheme, viewport: { width, height: 740 } });
      const complaints = collectComplaints(page);
      await page.click('[aria-haspopup="dialog"]');
      await page.waitForSelector('dialog[open]');
      expect([await measureSpill(page), await listBarriers(page), complaints]).toEqual([0, [], []]);
      await page.context().close();
    },
  );

  test('the list of cards stays in a low window, wherever the page is scrolled to', async () => {
    const viewport = { width: 1280, height: 560 };
    const page = await site.signIn(OWNER, { viewport, reducedMotion: 'reduce' });
    expect(await listCovered(page)).toEqual([]);
    for (const id of ['sound', 'tokens', 'sessions']) {
      await page.goto(`${origin}/account#${id}`);
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
    const viewport = { width: 1280, height: 700 };
    const page = await site.signIn(OWNER, { viewport, reducedMotion: 'reduce' });
    await page.goto(`${origin}/account/moderation`);
    await page.locator('.menu summary').press('Enter');
    const isOpen = () => page.evaluate('document.querySelector(".menu").open');
    for (const isInMenu of [true, true, true, false, false, false]) {
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

  /** Waits until an element is inside the window: the browser scrolls to it some time after it has parsed it. */
  async function expectInWindow(element: Locator): Promise<void> {
    const { width = 0, height = 0 } = element.page().viewportSize() ?? {};
    const isInWindow = async () => {
      const box = await element.boundingBox();
      return box && box.y >= 0 && box.y + box.height <= height && box.x >= 0 && box.x + box.width <= width;
    };
    await waitFor(isInWindow, { what: `${element} is in the window` });
  }

  /** Waits until the only notice has this text and is inside the window. */
  async function expectNotice(page: Page, words: string): Promise<void> {
    const notice = page.locator('.notice');
    await notice.filter({ hasText: words }).waitFor();
    expect(await notice.count()).toBe(1);
    await expectInWindow(notice);
  }

  test.each([
    [320, 568, true],
    [320, 568, false],
    [1280, 720, true],
    [1280, 720, false],
  ])(
    'the notice of an action is in a window of %d × %d px, once, with a script: %p',
    async (width, height, javaScriptEnabled) => {
      const owner = await insertUser(db, 600 + width + Number(javaScriptEnabled));
      // So many that the cards do not fit one window.
      for (let number = 1; number <= 8; number++) {
        await inTransaction(db, (tx) =>
          createApiToken(tx, owner.id, { name: `Token ${number}`, now: new Date(), actor: 'operator' }),
        );
      }
      const now = new Date();
      await createSession(db, {
        idHash: createHash('sha256').update(`${width} ${javaScriptEnabled}`).digest('hex'),
        userId: owner.id,
        now,
        expiresAt: new Date(now.getTime() + 3_600_000),
        browser: 'Firefox',
        system: 'Linux',
      });
      const page = await site.signIn(owner.steamId64, { javaScriptEnabled, viewport: { width, height } });
      await page.locator('#tokens [aria-haspopup="dialog"]').first().click();
      await page.locator('dialog button[type="submit"]:visible').click();
      await expectNotice(page, en.notices['token-revoked']);
      await page.reload();
      expect(await page.locator('.notice').count()).toBe(0);

      await page.fill('#token-name', 'Twice');
      await page.click('form.create button');
      await page.locator('#new-token').waitFor();
      await page.reload();
      await expectNotice(page, en.notices['token-already-created']);

      await page.click('#sessions form[action="/account/sessions/end"] button');
      await expectNotice(page, en.notices['session-ended']);
      await page.click('form[action="/account/sign-out-everywhere"] button');
      await expectNotice(page, en.notices['signed-out-everywhere']);
      await page.goto(`${origin}/account/moderation`);
      await expectNotice(page, en.notices['sign-in-first']);
      await page.context().close();
    },
  );
});
