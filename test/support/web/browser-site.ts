import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import pino from 'pino';
import type { BrowserContext, BrowserContextOptions, Locator, Page } from 'playwright-core';
import { parseConfig } from '../../../src/runtime/config.ts';
import { runService } from '../../../src/service/service.ts';
import { atEnd } from '../cleanup.ts';
import { findFreePort } from '../machine/free-port.ts';
import { startDiscordOAuthProvider } from '../providers/discord-oauth-provider.ts';
import { startSteamOpenIdProvider } from '../providers/steam-openid-provider.ts';
import { createTestFolder } from '../service/program.ts';
import { PATIENCE_MS } from '../wait.ts';
import { launchChromium } from './chromium.ts';

/** Pictures for people to look at; not committed. */
export const ARTIFACTS = fileURLToPath(new URL('../../artifacts', import.meta.url));

export type BrowserSite = Awaited<ReturnType<typeof startBrowserSite>>;

/** The whole service, with Steam and Discord pretended, and a Chromium to look at it, until the end of the test file. */
export async function startBrowserSite(
  databaseUrl: string,
  settings: Record<string, string> = {},
  options: Parameters<typeof runService>[2] = {},
) {
  const folder = createTestFolder();
  const steam = startSteamOpenIdProvider();
  const discord = startDiscordOAuthProvider();
  const port = findFreePort();
  const origin = `http://localhost:${port}`;
  discord.redirectUris = [`${origin}/account/discord/return`];
  const env = {
    HOST: 'localhost',
    PORT: String(port),
    PUBLIC_URL: origin,
    DATABASE_URL: databaseUrl,
    DATA_DIR: join(folder, 'data'),
    STORAGE_DIR: join(folder, 'storage'),
    STEAM_OPENID_URL: steam.url,
    DISCORD_API_URL: discord.apiUrl,
    DISCORD_CLIENT_ID: discord.clientId,
    DISCORD_CLIENT_SECRET: discord.clientSecret,
    RATE_LIMIT_PUBLIC: '1000000',
    ROLES: 'api',
    // Nothing polls here: what a test has saved does not become old.
    POLL_INTERVAL_SECONDS: '3600',
    ...settings,
  };
  const startService = async (others: Record<string, string> = {}): Promise<void> => {
    const service = await runService(parseConfig({ ...env, ...others }), pino({ level: 'error' }), options);
    atEnd(service.stop);
  };
  await startService();
  const browser = await launchChromium();
  return {
    origin,
    steam,
    discord,
    /** Starts another process of the service, on the same database and folders. */
    startService,
    /** A browser profile of somebody who is not signed in. */
    openContext: (options: BrowserContextOptions = {}): Promise<BrowserContext> =>
      browser.newContext({ locale: 'en-GB', ...options }),
    /** Signs somebody in, in a new browser profile. */
    signIn: async (steamId: string, options: BrowserContextOptions = {}): Promise<Page> => {
      steam.steamId = steamId;
      const context = await browser.newContext({ locale: 'en-GB', ...options });
      const page = await context.newPage();
      page.setDefaultTimeout(PATIENCE_MS);
      await page.route('https://**', (route) => route.abort());
      await page.goto(`${origin}/account/sign-in`);
      await page.waitForURL(`${origin}/account`);
      return page;
    },
  };
}

/** Saves a picture for people to look at, with `PICTURES=1`: drawing pictures takes longer than the tests. */
export async function savePicture(
  target: Page | Locator,
  name: string,
  options: { fullPage?: boolean } = {},
): Promise<void> {
  if (process.env.PICTURES !== '1') return;
  await target.screenshot({ ...options, path: join(ARTIFACTS, `${name}.png`) });
}

const AXE = await Bun.file(fileURLToPath(import.meta.resolve('axe-core/axe.min.js'))).text();

/**
 * What axe finds against WCAG 2.2 A and AA and its own best practices; a rule and the first element each.
 * @param options.except a selector of what is not judged.
 */
export async function listBarriers(page: Page, { except = '' } = {}): Promise<unknown> {
  if (await page.evaluate("typeof axe === 'undefined'")) await page.evaluate(AXE);
  return page.evaluate(`axe.run({ exclude: [${JSON.stringify(except)}].filter(Boolean) }).then(({ violations, passes }) =>
    (passes.length > 10 ? violations.map(({ id, nodes }) => [id, nodes[0].html]) : 'axe did not run'))`);
}

/** The visible buttons and links of a page whose centre another element covers. */
export function listCovered(page: Page): Promise<string[]> {
  return page.evaluate(`[...document.querySelectorAll('a[href], button, summary, input[type=submit]')].filter((element) => {
    const box = element.getBoundingClientRect();
    const isShown = element.checkVisibility({ visibilityProperty: true }) && box.width > 1 && box.height > 1;
    if (!isShown || element.matches('.skip')) return false;
    element.scrollIntoView({ block: 'center', inline: 'center', behavior: 'instant' });
    // A link that wraps is clicked on its first line.
    const { left, top, width, height } = element.getClientRects()[0];
    return !element.contains(document.elementFromPoint(left + width / 2, top + height / 2));
  }).map((element) => element.outerHTML.slice(0, 160))`);
}

/** Collects the errors of a page, and what its scripts or its policy write to the console. */
export function collectComplaints(page: Page): string[] {
  const complaints: string[] = [];
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type())) complaints.push(message.text());
  });
  page.on('pageerror', (error) => complaints.push(error.message));
  return complaints;
}

/** By how many pixels a page is wider than its window. */
export function measureSpill(page: Page): Promise<number> {
  return page.evaluate<number>('document.documentElement.scrollWidth - document.documentElement.clientWidth');
}
