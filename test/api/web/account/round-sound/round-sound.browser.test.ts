import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pino from 'pino';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { parseConfig } from '../../../../../src/runtime/config.ts';
import { runService, type Service } from '../../../../../src/service/service.ts';
import { anAudio, musicLike, sequence, silence, toWav } from '../../../../support/audio/audio.ts';
import { aSteamId } from '../../../../support/database/builders.ts';
import { createTestDatabase } from '../../../../support/database/database.ts';
import { findFreePort } from '../../../../support/machine/free-port.ts';
import { startSteamOpenIdProvider } from '../../../../support/providers/steam-openid-provider.ts';
import { PATIENCE_MS, waitFor } from '../../../../support/wait.ts';
import { savePicture } from '../../../../support/web/browser-site.ts';
import { CHROMIUM_PATH, launchChromium } from '../../../../support/web/chromium.ts';

const isPossible = CHROMIUM_PATH !== undefined || process.env.CI === 'true';
if (!isPossible)
  console.warn('SKIPPED: the sound section in a real browser, since there is no Chromium here');

const { url, connection } = await createTestDatabase();

describe.skipIf(!isPossible)('the sound section in Chromium, on the whole service', () => {
  const steam = startSteamOpenIdProvider();
  steam.approvesAtOnce = true;
  const folder = mkdtempSync(join(tmpdir(), 'sound-browser-'));
  const music = join(folder, 'Zwycięstwo <na> "Dust II".wav');
  const quiet = join(folder, 'cisza.wav');
  let browser: Browser;
  let origin: string;
  let env: Record<string, string>;
  const services: Service[] = [];

  beforeAll(async () => {
    await Bun.write(music, toWav(anAudio({ seconds: 6, shape: musicLike(0.05) }), 's16'));
    await Bun.write(quiet, toWav(silence(2), 's16'));
    const port = findFreePort();
    origin = `http://localhost:${port}`;
    env = {
      HOST: 'localhost',
      PORT: String(port),
      PUBLIC_URL: origin,
      DATABASE_URL: url,
      DATA_DIR: join(folder, 'data'),
      STORAGE_DIR: join(folder, 'storage'),
      STEAM_OPENID_URL: steam.url,
      SOUND_MAX_UPLOAD_MB: '2',
      ROLES: 'api',
      OWNER_STEAMIDS: aSteamId(90),
      RATE_LIMIT_PUBLIC: '100000',
    };
    await start(env);
    browser = await launchChromium();
  });

  afterAll(async () => {
    await browser?.close();
    for (const service of services.reverse()) await service.stop();
    await steam.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  async function start(settings: Record<string, string>): Promise<void> {
    services.push(await runService(parseConfig(settings), pino({ level: 'error' })));
  }

  /** Starts a service that renders sounds; until then they stay queued. */
  async function startRendering(): Promise<void> {
    if (services.length === 1) await start({ ...env, ROLES: 'media', HEALTH_PORT: String(findFreePort()) });
  }

  async function open(steamId: string, options: BrowserContextOptions = {}) {
    steam.steamId = steamId;
    const context = await browser.newContext({ locale: 'en-GB', ...options });
    const page = await context.newPage();
    page.setDefaultTimeout(PATIENCE_MS);
    // Intercept file choosers from now on: enabled just before the key press that opens one, it could be too late.
    page.on('filechooser', () => {});
    const complaints: string[] = [];
    page.on('console', (message) => {
      if (['error', 'warning'].includes(message.type())) complaints.push(message.text());
    });
    page.on('pageerror', (error) => complaints.push(error.message));
    await page.goto(`${origin}/account/sign-in`);
    await page.waitForURL(`${origin}/account`);
    return { context, page, complaints };
  }

  async function lookUp(steamId: string): Promise<unknown> {
    return (await fetch(`${origin}/api/v1/players/${steamId}/roundsound`)).json();
  }

  async function takePicture(page: Page, name: string): Promise<void> {
    await savePicture(page.locator('#sound'), `sound-${name}`);
  }

  test('asks to sign in once the session has ended while the sound waits', async () => {
    const { context, page } = await open(aSteamId(10));
    await page.setInputFiles('#sound-file', music);
    await page.click('.sound-upload [type="submit"]');
    await page.waitForSelector('[data-sound-progress]');
    await connection`delete from sessions`;
    await page.waitForSelector('form[action*="sign-in"], a[href*="sign-in"]');
    expect(await page.locator('[data-sound-progress]').count()).toBe(0);
    await connection`delete from round_sounds`;
    await context.close();
  });

  test('goes from choosing a file through its steps to hearing it, and to deleting it', async () => {
    const player = aSteamId(11);
    const { context, page, complaints } = await open(player);
    await takePicture(page, 'none');
    expect(await page.textContent('[data-file-name]')).toBe('No file chosen');
    const chooser = page.waitForEvent('filechooser');
    await page.getByText('Choose a file', { exact: true }).click();
    await (await chooser).setFiles(music);
    expect(await page.textContent('[data-file-name]')).toBe('Zwycięstwo <na> "Dust II".wav');
    const percents: string[] = [];
    await page.exposeFunction('seePercent', (text: string) => percents.push(text));
    await page.evaluate(`new MutationObserver(([{ target }]) => seePercent(target.textContent))
      .observe(document.querySelector('.sound-percent'), { childList: true })`);
    await page.click('.sound-upload [type="submit"]');
    await page.waitForSelector('[data-sound-progress]');
    await waitFor(() => percents.at(-1) === '100 %');
    expect(percents[0]).toBe('0 %');
    await takePicture(page, 'under-way');
    await startRendering();
    await page.waitForSelector('.sound audio');
    expect(await page.textContent('.sound-title')).toBe('Zwycięstwo <na> "Dust II"');
    expect(await page.textContent('.sound-facts')).toContain('6.0 s');
    expect(await page.textContent('.sound-facts')).toContain('Original loudness');
    expect(await page.textContent('.sound-facts')).toMatch(
      /far too quiet \(−3\d\.\d LUFS\).*same as everyone’s \(−1(8\.[0-3]|7\.[7-9]) LUFS\)/s,
    );
    // Before it plays.
    await waitFor(() => page.evaluate<boolean>(`document.querySelector('.sound audio').readyState > 0`));
    expect(await page.evaluate(`document.querySelector('.sound audio').duration`)).toBeCloseTo(6, 1);
    await takePicture(page, 'ready');

    await page.evaluate(`document.querySelector('.sound audio').play()`);
    await waitFor(() => page.evaluate<boolean>(`document.querySelector('.sound audio').currentTime > 0.5`));
    await page.evaluate(`document.querySelector('.sound audio').pause()`);
    expect(await page.evaluate(`document.querySelector('.sound audio').duration`)).toBeCloseTo(6, 1);
    await takePicture(page, 'playing');

    const expected = {
      success: true,
      url: `${origin}/storage/roundsound/${player}.mp3`,
      title: 'Zwycięstwo <na> "Dust II".wav',
    };
    await waitFor(async () => Bun.deepEquals(await lookUp(player), expected));
    const file = await fetch(expected.url);
    expect([file.status, file.headers.get('content-type')]).toEqual([200, 'audio/mpeg']);
    expect(file.headers.get('x-ratelimit-limit')).toBeNull();

    await page.setInputFiles('#sound-file', quiet);
    await page.click('.sound-upload [type="submit"]');
    await page.waitForSelector('#sound .warning');
    expect(await page.textContent('#sound .warning')).toContain(
      'Nothing can be heard in the first 75 seconds',
    );
    expect(await page.locator('.sound audio').count()).toBe(1);
    await takePicture(page, 'failed');

    await page.click('.sound a[data-confirm]');
    await page.click('.dialog button[type="submit"]');
    await page.waitForSelector('#sound .empty');
    await waitFor(async () =>
      Bun.deepEquals(await lookUp(player), { success: false, url: null, title: null }),
    );
    expect((await fetch(expected.url)).status).toBe(404);
    expect(complaints).toEqual([]);
    await context.close();
  });

  test('lets a moderator hear and remove a sound', async () => {
    await startRendering();
    const player = await open(aSteamId(14));
    await player.page.setInputFiles('#sound-file', music);
    await player.page.click('.sound-upload [type="submit"]');
    await player.page.waitForSelector('.sound audio');
    const { context, page, complaints } = await open(aSteamId(90), { colorScheme: 'dark' });
    await page.click('a[href="/account/moderation"]');
    await page.click('a[href="/account/moderation/sounds"]');
    await page.waitForSelector('#sounds audio');
    await savePicture(page, 'sound-moderation-dark', { fullPage: true });
    await page.click('#sounds a[data-confirm]');
    await page.click('.dialog button[type="submit"]');
    await page.waitForSelector('#sounds .empty');
    await player.page.reload();
    await player.page.waitForSelector('#sound .empty');
    expect(complaints).toEqual([]);
    await player.context.close();
    await context.close();
  });

  test('tells of a file that is too large before it is sent, and of one that is sent all the same', async () => {
    const { context, page } = await open(aSteamId(12));
    const large = { name: 'large.wav', mimeType: 'audio/wav', buffer: Buffer.alloc(3 * 1024 * 1024, 1) };
    await page.keyboard.press('Tab');
    await page.focus('#sound-file');
    const chooser = page.waitForEvent('filechooser');
    await page.keyboard.press('Enter');
    await (await chooser).setFiles(large);
    await page.getByText('This file is larger than 2 MB. Choose a smaller one.').waitFor();
    expect(await page.isVisible('.sound-upload [type="submit"]')).toBe(false);
    await page.evaluate(`document.querySelector('[data-sound-upload]').dataset.maxBytes = '99999999'`);
    await page.setInputFiles('#sound-file', large);
    expect(await page.isVisible('.sound-message')).toBe(false);
    await page.click('.sound-upload [type="submit"]');
    await page.getByText('The file is larger than').waitFor();
    // A proxy responds with a page of its own.
    await page.route('**/account/roundsound', (route) => route.fulfill({ status: 413, body: '<html>' }));
    await page.click('.sound-upload [type="submit"]');
    await page.getByText('A web server in front of this site refuses files of this size').waitFor();
    await context.close();
  });

  test('works without a script, in Polish, on a small light screen', async () => {
    await startRendering();
    const { context, page } = await open(aSteamId(13), {
      javaScriptEnabled: false,
      locale: 'pl-PL',
      colorScheme: 'light',
      viewport: { width: 360, height: 800 },
    });
    await page.setInputFiles('#sound-file', music);
    await page.click('.sound-upload [type="submit"]');
    await page.waitForURL(`${origin}/account#sound`);
    expect(await page.textContent('.notice')).toContain('Plik został przesłany i jest przetwarzany.');
    await waitFor(async () => {
      const check = page.getByRole('link', { name: 'Sprawdź postęp' });
      if (await check.isVisible()) await check.click();
      return (await page.locator('.sound audio').count()) === 1;
    });
    expect(await page.textContent('.sound-facts')).toContain('−18,0 LUFS');
    await takePicture(page, 'ready-pl-360');
    await context.close();
  });

  test('the list for moderators fits a phone', async () => {
    await startRendering();
    const phone = { viewport: { width: 360, height: 740 }, locale: 'pl-PL' };
    const { context, page } = await open(aSteamId(90), phone);
    await page.setInputFiles('#sound-file', music);
    await page.click('.sound-upload [type="submit"]');
    await page.waitForSelector('.sound audio');
    await page.goto(`${origin}/account/moderation/sounds`);
    expect(await page.locator('.list audio').count()).toBeGreaterThan(0);
    const spill = 'document.documentElement.scrollWidth - document.documentElement.clientWidth';
    expect(await page.evaluate(spill)).toBe(0);
    await context.close();
  });

  test('shows where the cut begins on the waveform of the file, moved by keyboard, mouse and time', async () => {
    await startRendering();
    const player = aSteamId(12);
    const { context, page, complaints } = await open(player);
    const steps = join(folder, 'steps.wav');
    const tone = anAudio({ seconds: 8, sampleRate: 16_000, channels: 1, shape: musicLike(0.3) });
    const before = silence(2, { sampleRate: 16_000, channels: 1 });
    await Bun.write(steps, toWav(sequence(before, tone), 's16'));
    expect(await page.isVisible('#sound-start')).toBe(false);
    await page.setInputFiles('#sound-file', music);
    const marker = page.getByRole('slider', { name: 'Start of the cut' });
    await marker.waitFor();
    await page.fill('#sound-start', '0:01.5');
    expect([await marker.inputValue(), await marker.getAttribute('aria-valuetext')]).toEqual([
      '1500',
      '1.5 secs',
    ]);
    // In another file it would mean something else.
    await page.setInputFiles('#sound-file', steps);
    await page.locator('input[type="range"][max="9900"]').waitFor();
    expect(await page.inputValue('#sound-start')).toBe('0:00');

    await marker.focus();
    for (let press = 0; press < 5; press++) await page.keyboard.press('ArrowRight');
    expect(await page.inputValue('#sound-start')).toBe('0:00.5');
    expect(await marker.getAttribute('aria-valuetext')).toBe('0.5 secs');

    const box = await marker.boundingBox();
    if (!box) throw new Error('the marker is not shown');
    await page.mouse.click(box.x + box.width / 2, box.y + box.height / 2);
    expect(await page.inputValue('#sound-start')).toMatch(/^0:0(4.9|5|5.1)$/);
    await takePicture(page, 'start');

    await page.fill('#sound-start', '0:07');
    await page.click('text=Play from here');
    // Plays to the end by itself.
    await page.getByRole('button', { name: 'Stop' }).waitFor();
    await page.getByRole('button', { name: 'Play from here' }).waitFor();
    await page.click('.sound-upload [type="submit"]');
    await page.waitForSelector('.sound audio');
    // From the start of the file, whose first 2 s are silent.
    expect(await page.textContent('.sound-facts')).toMatch(/(2\.9|3\.0|3\.1) s/);
    expect(complaints).toEqual([]);
    await context.close();
  });
});
