import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { BrowserContext, Page } from 'playwright-core';
import { anActor } from '../../support/discord/actor.ts';
import { messageOf } from '../../support/discord/exchange.ts';
import { startFakeDiscord } from '../../support/discord/fake-discord.ts';
import { findFreePort } from '../../support/machine/free-port.ts';
import { startSteamOpenIdProvider } from '../../support/providers/steam-openid-provider.ts';
import { startProgram } from '../../support/service/program.ts';
import { launchChromium } from '../../support/web/chromium.ts';
import { renderDiscordPage } from './discord-page.ts';

/**
 * `bun test/tools/pictures/main.ts`: takes the pictures of the README from the real demo, with a Steam and a Discord of the
 * tests, and keeps them in `docs/images/`.
 */

const IMAGES = join(import.meta.dir, '../../../docs/images');
const MAX_BYTES = 60 * 1024;
/** Discord refuses buttons that link to localhost; Chromium is told the address of this host. */
const HOST = 'play.example.org';

const folder = await mkdtemp(join(tmpdir(), 'pictures-'));
const steam = startSteamOpenIdProvider();
const discord = await startFakeDiscord();
const port = findFreePort();
const site = `http://${HOST}`;
const demo = startProgram('src/demo/main.ts', {
  HOST: '127.0.0.1',
  PORT: String(port),
  PUBLIC_URL: site,
  DATA_DIR: folder,
  SITE_NAME: 'Zagrywka',
  STEAM_OPENID_URL: steam.url,
  DISCORD_TOKEN: discord.token,
  DISCORD_API_URL: discord.apiUrl,
  DISCORD_GUILD_ID: '900000000000000001',
});
const browser = await launchChromium({ hosts: { [HOST]: `127.0.0.1:${port}` } });
try {
  const [, owner = ''] = await demo.waitFor(/of .*, (\d{17})/);
  steam.steamId = owner;
  await mkdir(IMAGES, { recursive: true });
  const context = await browser.newContext({ locale: 'en-GB', colorScheme: 'dark', deviceScaleFactor: 1 });
  await takePage(context, 'status', '/', { width: 900, height: 900 });
  // Signing in leads to the account, and the appeals are shown as its owner sees them.
  await takePage(context, 'account', '/account/sign-in', { width: 900, height: 900 });
  await takePage(context, 'appeals', '/account/moderation/appeals', { width: 1100, height: 850 });
  await takeDiscordCard(context);
} finally {
  await browser.close();
  demo.kill('SIGTERM');
  await demo.exited;
  await discord.stop();
  await steam.stop();
  await rm(folder, { recursive: true, force: true });
}

async function takePage(
  context: BrowserContext,
  name: string,
  path: string,
  viewport: { width: number; height: number },
): Promise<void> {
  const page = await openPage(context, viewport);
  await page.goto(site + path);
  await page.waitForLoadState('networkidle');
  await take(page, name);
}

async function takeDiscordCard(context: BrowserContext): Promise<void> {
  const name = await chooseServer();
  const exchange = await discord.command('server', { name }, anActor({ locale: 'en-GB' }));
  const page = await openPage(context, { width: 572, height: 100 });
  await page.setContent(renderDiscordPage(messageOf(exchange), { botName: 'Community' }));
  await page.evaluate('document.fonts.ready');
  const height = await page.evaluate<number>('document.documentElement.scrollHeight');
  await page.setViewportSize({ width: 572, height });
  await take(page, 'discord');
}

/** A server with some players. */
async function chooseServer(): Promise<string> {
  const response = await fetch(`http://127.0.0.1:${port}/api/v1/servers`);
  const { data } = (await response.json()) as { data: { slug: string; players_count: number }[] };
  const server = data.find(({ players_count }) => players_count >= 4 && players_count <= 14);
  if (!server) throw new Error('no server of the demo has people on it');
  return server.slug;
}

async function openPage(context: BrowserContext, viewport: { width: number; height: number }): Promise<Page> {
  const page = await context.newPage();
  await page.setViewportSize(viewport);
  return page;
}

async function take(page: Page, name: string): Promise<void> {
  const devtools = await page.context().newCDPSession(page);
  const { data } = await devtools.send('Page.captureScreenshot', { format: 'webp', quality: 80 });
  const bytes = Buffer.from(data, 'base64');
  if (bytes.length > MAX_BYTES)
    throw new Error(`${name} takes ${bytes.length} bytes, at most ${MAX_BYTES} are fine`);
  await writeFile(join(IMAGES, `${name}.webp`), bytes);
  console.log(`docs/images/${name}.webp: ${bytes.length} bytes`);
}
