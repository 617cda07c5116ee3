import { beforeAll, expect, test } from 'bun:test';
import { join } from 'node:path';
import type { BrowserContextOptions, Locator, Page } from 'playwright-core';
import { en } from '../../../../api/web/locales/en.ts';
import { users } from '../../../../src/db/schema/accounts.ts';
import { anAudio, musicLike, sequence, silence, toWav } from '../../../support/audio/audio.ts';
import { aSteamId } from '../../../support/database/builders.ts';
import { createTestDatabase } from '../../../support/database/database.ts';
import { findFreePort } from '../../../support/machine/free-port.ts';
import { createTestFolder } from '../../../support/service/program.ts';
import { waitForProcess } from '../../../support/wait.ts';
import {
  type BrowserSite,
  collectComplaints,
  savePicture,
  startBrowserSite,
} from '../../../support/web/browser-site.ts';
import { describeInChromium } from '../../../support/web/chromium.ts';

const { db, url, connection } = await createTestDatabase();

describeInChromium('the sound section in Chromium, on the whole service', () => {
  const folder = createTestFolder();
  const music = join(folder, 'Zwycięstwo <na> "Dust II".wav');
  const quiet = join(folder, 'cisza.wav');
  let site: BrowserSite;
  let origin: string;
  beforeAll(async () => {
    await Bun.write(music, toWav(anAudio({ seconds: 6, shape: musicLike(0.05) }), 's16'));
    await Bun.write(quiet, toWav(silence(2), 's16'));
    site = await startBrowserSite(url, { SOUND_MAX_UPLOAD_MB: '2' });
    ({ origin } = site);
  });

  let isRendering = false;
  /** Starts a service that renders sounds; until then they stay queued. */
  async function startRendering(): Promise<void> {
    if (!isRendering) await site.startService({ ROLES: 'media', HEALTH_PORT: String(findFreePort()) });
    isRendering = true;
  }

  async function open(steamId: string, options: BrowserContextOptions = {}) {
    const page = await site.signIn(steamId, options);
    // Intercept file choosers from now on: enabled just before the key press that opens one, it could be too late.
    page.on('filechooser', () => {});
    return { context: page.context(), page, complaints: collectComplaints(page) };
  }

  /** Uploads the music, and waits until the page shows how far it is. */
  async function upload(page: Page): Promise<void> {
    await page.setInputFiles('#sound-file', music);
    await page.click('.sound-upload [type="submit"]');
    await page.waitForSelector('[data-sound-progress]');
  }

  async function lookUp(steamId: string): Promise<unknown> {
    return (await fetch(`${origin}/api/v1/players/${steamId}/roundsound`)).json();
  }

  async function takePicture(page: Page, name: string): Promise<void> {
    await savePicture(page.locator('#sound'), `sound-${name}`);
  }

  test.each<[string, change: () => Promise<unknown>, shown: (page: Page) => Locator]>([
    [
      'asks to sign in once the session has ended',
      () => connection`delete from sessions`,
      (page) => page.locator('form[action*="sign-in"], a[href*="sign-in"]').first(),
    ],
    [
      'tells members that they are blocked from now on, and why',
      () => db.update(users).set({ blockedAt: new Date(), blockReason: 'Spam.' }),
      (page) => page.getByRole('alert').filter({ hasText: 'Spam.' }),
    ],
  ])('%s, while their sound waits', async (_, change, shown) => {
    const { context, page } = await open(aSteamId(1));
    await upload(page);
    await change();
    await shown(page).waitFor();
    expect(await page.locator('[data-sound-progress]').count()).toBe(0);
    await connection`delete from round_sounds`;
    await db.update(users).set({ blockedAt: null });
    await context.close();
  });

  test('sends no other form again when it was the response to one', async () => {
    const page = await site.signIn(aSteamId(2));
    await page.fill('#token-name', '   ');
    await page.click('.create-token button');
    await page.waitForURL(`${origin}/account/tokens#tokens`);
    const posts: string[] = [];
    page.on('request', (request) => {
      if (request.method() === 'POST') posts.push(new URL(request.url()).pathname);
    });
    await upload(page);
    expect(posts).toEqual(['/account/roundsound']);
    expect(page.url()).toBe(`${origin}/account#sound`);
    await connection`delete from round_sounds`;
    await page.context().close();
  });

  test('goes from choosing a file through its steps to hearing it, and to deleting it', async () => {
    const player = aSteamId(11);
    const { context, page, complaints } = await open(player);
    await takePicture(page, 'none');
    expect(await page.textContent('[data-file-name]')).toBe(en.roundSound.noFile);
    const chooser = page.waitForEvent('filechooser');
    await page.getByText(en.roundSound.choose, { exact: true }).click();
    await (await chooser).setFiles(music);
    expect(await page.textContent('[data-file-name]')).toBe('Zwycięstwo <na> "Dust II".wav');
    const percents: string[] = [];
    await page.exposeFunction('seePercent', (text: string) => percents.push(text));
    await page.evaluate(`new MutationObserver(([{ target }]) => seePercent(target.textContent))
      .observe(document.querySelector('.sound-percent'), { childList: true })`);
    await page.click('.sound-upload [type="submit"]');
    await page.waitForSelector('[data-sound-progress]');
    await waitForProcess(() => percents.at(-1) === '100 %');
    expect(percents[0]).toBe('0 %');
    await takePicture(page, 'under-way');
    await startRendering();
    await page.waitForSelector('.sound audio');
    expect(await page.textContent('.sound-title')).toBe('Zwycięstwo <na> "Dust II"');
    expect(await page.textContent('.sound-facts')).toContain('6.0 s');
    expect(await page.textContent('.sound-facts')).toContain(en.roundSound.facts.before);
    expect(await page.textContent('.sound-facts')).toMatch(
      new RegExp(`${en.roundSound.loudnessWords.muchTooQuiet} \\(−3\\d\\.\\d LUFS\\)`),
    );
    // Before it plays.
    await waitForProcess(() =>
      page.evaluate<boolean>(`document.querySelector('.sound audio').readyState > 0`),
    );
    expect(await page.evaluate(`document.querySelector('.sound audio').duration`)).toBeCloseTo(6, 1);
    await takePicture(page, 'ready');

    await page.evaluate(`document.querySelector('.sound audio').play()`);
    await waitForProcess(() =>
      page.evaluate<boolean>(`document.querySelector('.sound audio').currentTime > 0.5`),
    );
    await page.evaluate(`document.querySelector('.sound audio').pause()`);
    expect(await page.evaluate(`document.querySelector('.sound audio').duration`)).toBeCloseTo(6, 1);
    await takePicture(page, 'playing');

    const expected = {
      success: true,
      url: `${origin}/storage/roundsound/${player}.mp3`,
      title: 'Zwycięstwo <na> "Dust II".wav',
    };
    await waitForProcess(async () => Bun.deepEquals(await lookUp(player), expected));
    const file = await fetch(expected.url);
    expect([file.status, file.headers.get('content-type')]).toEqual([200, 'audio/mpeg']);
    expect(file.headers.get('x-ratelimit-limit')).toBeNull();

    await page.setInputFiles('#sound-file', quiet);
    await page.click('.sound-upload [type="submit"]');
    await page.waitForSelector('#sound .warning');
    expect(await page.textContent('#sound .warning')).toContain(en.roundSound.failures.silent);
    expect(await page.locator('.sound audio').count()).toBe(1);
    await takePicture(page, 'failed');

    await page.click('.sound [aria-haspopup="dialog"]');
    await page.click('dialog[open] button[type="submit"]');
    await page.waitForSelector('#sound .empty');
    await waitForProcess(async () =>
      Bun.deepEquals(await lookUp(player), { success: false, url: null, title: null }),
    );
    expect((await fetch(expected.url)).status).toBe(404);
    expect(complaints).toEqual([]);
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
    await page.getByText(en.roundSound.tooLarge(2)).waitFor();
    expect(await page.isVisible('.sound-upload [type="submit"]')).toBe(false);
    await page.evaluate(`document.querySelector('[data-sound-upload]').dataset.maxBytes = '99999999'`);
    await page.setInputFiles('#sound-file', large);
    expect(await page.isVisible('.sound-message')).toBe(false);
    await page.click('.sound-upload [type="submit"]');
    await page.getByText('The file is larger than').waitFor();
    // A proxy responds with its own error page.
    await page.route('**/account/roundsound', (route) => route.fulfill({ status: 413, body: '<html>' }));
    await page.click('.sound-upload [type="submit"]');
    await page.getByText(en.roundSound.refusedByProxy).waitFor();
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
    const marker = page.getByRole('slider', { name: en.roundSound.startMarker });
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
    await page.click(`text=${en.roundSound.play}`);
    // Plays to the end without another click.
    await page.getByRole('button', { name: en.roundSound.stop }).waitFor();
    await page.getByRole('button', { name: en.roundSound.play }).waitFor();
    await page.click('.sound-upload [type="submit"]');
    await page.waitForSelector('.sound audio');
    // From the start of the file, whose first 2 s are silent.
    expect(await page.textContent('.sound-facts')).toMatch(/(2\.9|3\.0|3\.1) s/);
    expect(complaints).toEqual([]);
    await context.close();
  });
});
