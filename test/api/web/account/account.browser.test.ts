import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import pino from 'pino';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { createApiToken } from '../../../../src/queries/users/api-tokens.ts';
import { parseConfig } from '../../../../src/runtime/config.ts';
import { runService, type Service } from '../../../../src/service/service.ts';
import { aSteamId, insertUser } from '../../../support/database/builders.ts';
import { createTestDatabase } from '../../../support/database/database.ts';
import { findFreePort } from '../../../support/machine/free-port.ts';
import { startDiscordOAuthProvider } from '../../../support/providers/discord-oauth-provider.ts';
import { startSteamOpenIdProvider } from '../../../support/providers/steam-openid-provider.ts';
import { PATIENCE_MS } from '../../../support/wait.ts';
import { measureSpill, savePicture } from '../../../support/web/browser-site.ts';
import { CHROMIUM_PATH, launchChromium } from '../../../support/web/chromium.ts';

const AXE = await Bun.file(fileURLToPath(import.meta.resolve('axe-core/axe.min.js'))).text();

// CI installs Chromium, so its absence is a failure there.
const isPossible = CHROMIUM_PATH !== undefined || process.env.CI === 'true';
if (!isPossible) console.warn('SKIPPED: the account page in a real browser, since there is no Chromium here');

const { url, db } = await createTestDatabase();

describe.skipIf(!isPossible)('the account page in Chromium', () => {
  const steam = startSteamOpenIdProvider();
  const discord = startDiscordOAuthProvider();
  const dataDir = mkdtempSync(join(tmpdir(), 'account-browser-'));
  let browser: Browser;
  let service: Service;
  let origin: string;

  beforeAll(async () => {
    const port = findFreePort();
    origin = `http://localhost:${port}`;
    discord.redirectUris = [`${origin}/account/discord/return`];
    discord.consent = 'ask';
    const config = parseConfig({
      HOST: 'localhost',
      PORT: String(port),
      PUBLIC_URL: origin,
      DATABASE_URL: url,
      DATA_DIR: join(dataDir, 'data'),
      STORAGE_DIR: join(dataDir, 'storage'),
      STEAM_OPENID_URL: steam.url,
      DISCORD_API_URL: discord.apiUrl,
      DISCORD_CLIENT_ID: discord.clientId,
      DISCORD_CLIENT_SECRET: discord.clientSecret,
      OWNER_STEAMIDS: aSteamId(900),
      ROLES: 'api',
    });
    service = await runService(config, pino({ level: 'error' }));
    const owner = await insertUser(db, 901, {
      nickname: 'Rzeźnik',
      isOwner: true,
      isAdmin: true,
      hasSvip: true,
    });
    const day = 86_400_000;
    await createApiToken(db, owner.id, {
      name: 'Stats website',
      expiresAt: new Date(Date.now() + 80 * day),
      now: new Date(Date.now() - 10 * day),
      actor: 'operator',
    });
    await createApiToken(db, owner.id, {
      name: 'Discord overlay with a rather long name, so that it has to wrap',
      now: new Date(),
      actor: 'operator',
    });
    for (let number = 1; number <= 30; number++) {
      await insertUser(db, number, {
        nickname: ['kox_99', 'Ala ma kota', 'A nickname that goes on and on and on'][number % 3] ?? '',
        isAdmin: number % 7 === 0,
        isServiceplus: number % 5 === 0,
        ...(number % 2 === 0 && { discordId: String(number), discordUsername: `user.${number}` }),
      });
    }
    browser = await launchChromium();
  });

  afterAll(async () => {
    await browser?.close();
    await service?.stop();
    await steam.stop();
    await discord.stop();
    rmSync(dataDir, { recursive: true, force: true });
  });

  /** Opens a page of its own; `complaints` collects the browser's errors and warnings. */
  async function open(steamId: string, options: BrowserContextOptions = {}) {
    steam.steamId = steamId;
    const context = await browser.newContext({ locale: 'en-GB', ...options });
    const page = await context.newPage();
    page.setDefaultTimeout(PATIENCE_MS);
    const complaints: string[] = [];
    page.on('console', (message) => {
      const isOurs = message.location().url.startsWith(origin);
      if (isOurs && ['error', 'warning'].includes(message.type())) complaints.push(message.text());
    });
    page.on('pageerror', (error) => complaints.push(error.message));
    return { context, page, complaints };
  }

  async function signIn(page: Page): Promise<void> {
    await page.goto(`${origin}/account`);
    await page.click('a[href="/account/sign-in"]');
    await page.click('#imageLogin');
    await page.waitForURL(`${origin}/account`);
  }

  async function callApi(token: string): Promise<number> {
    const answer = await fetch(`${origin}/api/v1/penalties?per_page=5`, {
      headers: { authorization: `Bearer ${token}` },
    });
    return answer.status;
  }

  test('leads from sign-in to a token that works, and from its revocation to 401', async () => {
    const { context, page, complaints } = await open(aSteamId(501));
    await context.grantPermissions(['clipboard-read', 'clipboard-write'], { origin });
    await signIn(page);
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
    await page.click('a[data-confirm]');
    await page.waitForSelector('dialog[open]');
    expect(await page.textContent('dialog')).toContain('My website');
    await page.keyboard.press('Escape');
    await page.waitForSelector('dialog', { state: 'detached' });
    expect(await page.evaluate('document.activeElement.textContent')).toBe('Revoke');
    expect(await callApi(token)).toBe(200);

    await page.keyboard.press('Enter');
    await page.click('dialog button[type="submit"]');
    await page.waitForSelector('.notice');
    expect(await page.textContent('.notice')).toContain('Token revoked');
    expect(await callApi(token)).toBe(401);

    await page.click('#sessions form[action="/account/sign-out"] button');
    await page.waitForSelector('text=Sign in through Steam');
    expect(complaints).toEqual([]);
    await context.close();
  });

  test('shows a refused form where it was, with what was entered', async () => {
    for (const [width, locale] of [
      [390, 'pl-PL'],
      [1280, 'en-GB'],
    ] as const) {
      const { context, page } = await open(aSteamId(504), { locale, viewport: { width, height: 800 } });
      await signIn(page);
      await page.fill('#token-name', 'Stats');
      for (const box of await page.locator('form.create [type="checkbox"]').all()) await box.uncheck();
      await page.click('form.create button');
      const problem = page.locator('form.create [role="alert"]');
      await problem.waitFor();
      expect(await problem.textContent()).toMatch(/Tick at least one|Zaznacz przynajmniej/);
      expect(await page.inputValue('#token-name')).toBe('Stats');
      const box = await problem.boundingBox();
      expect(box?.y).toBeWithin(0, 800);
      await savePicture(page, `account-refused-${width}`);
      await context.close();
    }
  });

  test('does the same without a script', async () => {
    const { context, page } = await open(aSteamId(502), { javaScriptEnabled: false, locale: 'pl-PL' });
    await signIn(page);
    await page.fill('#token-name', 'Bez skryptu');
    await page.click('form.create button');
    const token = (await page.textContent('#new-token')) ?? '';
    expect(await page.isVisible('[data-copy="new-token"]')).toBe(false);
    expect(await callApi(token)).toBe(200);
    await page.click('text=Gotowe');
    await page.click('#tokens a.button-danger');
    expect(await page.textContent('h1')).toBe('Unieważnić ten token?');
    await page.click('main form button');
    expect(await page.textContent('.notice')).toContain('Token został unieważniony');
    expect(await callApi(token)).toBe(401);
    await context.close();
  });

  test('links Discord by the page there, which the policy of the page lets the form lead to', async () => {
    const { context, page, complaints } = await open(aSteamId(503));
    await page.route('https://cdn.discordapp.com/**', (route) => route.abort());
    await signIn(page);
    await page.click('form[action="/account/discord/link"] button');
    await page.click('button[value="allow"]');
    await page.waitForSelector('.notice');
    expect(await page.textContent('.notice')).toContain('linked');
    expect(await page.textContent('#discord')).toContain('nelly');
    // The letter stays where the picture did not load.
    expect(await page.textContent('#discord .avatar')).toBe('N');
    expect(complaints.filter((text) => !text.includes('net::ERR'))).toEqual([]);
    await context.close();
  });

  test('is reached by keyboard alone, from the link past the bar on', async () => {
    const { context, page } = await open(aSteamId(504));
    await page.goto(`${origin}/account`);
    await page.keyboard.press('Tab');
    expect(await page.evaluate('document.activeElement.className')).toBe('skip');
    await page.keyboard.press('Enter');
    await page.keyboard.press('Tab');
    expect(await page.evaluate('document.activeElement.getAttribute("href")')).toBe('/account/sign-in');
    await page.keyboard.press('Enter');
    await page.waitForSelector('#imageLogin');
    await context.close();
  });

  /** What axe finds against WCAG 2.2 A and AA and its own best practices; a rule and the first element each. */
  async function listBarriers(page: Page): Promise<unknown> {
    await page.evaluate(AXE);
    const found = 'violations.map(({ id, nodes }) => [id, nodes[0].html])';
    return page.evaluate(
      `axe.run().then(({ violations, passes }) => (passes.length > 15 ? ${found} : 'axe did not run'))`,
    );
  }

  test.each([
    ['dark', 360],
    ['light', 1400],
  ] as const)(
    'the question of a dialog fits without a barrier, in %s at %d px',
    async (colorScheme, width) => {
      const { context, page, complaints } = await open(aSteamId(901), {
        colorScheme,
        viewport: { width, height: 740 },
      });
      await page.goto(`${origin}/account`);
      await signIn(page);
      await page.click('a[data-confirm]');
      await page.waitForSelector('dialog[open]');
      expect([await measureSpill(page), await listBarriers(page), complaints]).toEqual([0, [], []]);
      await context.close();
    },
  );
});
