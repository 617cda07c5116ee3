import { afterAll, expect, test } from 'bun:test';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { anAudio, sine, toWav } from '../support/audio/audio.ts';
import { aSteamId } from '../support/database/builders.ts';
import { createTestDatabase } from '../support/database/database.ts';
import { findFreePort } from '../support/machine/free-port.ts';
import { startSteamOpenIdProvider } from '../support/providers/steam-openid-provider.ts';
import { createTestFolder, startProgram } from '../support/service/program.ts';
import { waitFor } from '../support/wait.ts';
import { openBrowser, signIn } from '../support/web/browser.ts';

const PLAYER = aSteamId(1);
const { url } = await createTestDatabase();
const folder = createTestFolder();
const steam = startSteamOpenIdProvider();
steam.approvesAtOnce = true;
steam.steamId = PLAYER;
afterAll(async () => {
  await steam.stop();
  await folder.remove();
});

test('an upload that was answered is published after the service was killed at once', async () => {
  const port = findFreePort();
  const origin = `http://127.0.0.1:${port}`;
  const env = {
    HOST: '127.0.0.1',
    PORT: String(port),
    PUBLIC_URL: origin,
    DATABASE_URL: url,
    DATA_DIR: join(folder.path, 'data'),
    STORAGE_DIR: join(folder.path, 'storage'),
    STEAM_OPENID_URL: steam.url,
    ROLES: 'api,media',
  };
  const first = startProgram('src/main.ts', env);
  await first.waitFor('HTTP server listening');
  const browser = openBrowser(origin);
  await signIn(browser);
  const form = new FormData();
  form.append('csrf_token', (await browser.get('/account')).field('csrf_token') ?? '');
  form.append('file', new File([toWav(anAudio({ seconds: 8, shape: sine(440, 0.02) }), 's16')], 'tone.wav'));
  const cookie = [...browser.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
  const sent = await fetch(`${origin}/account/roundsound`, {
    method: 'POST',
    body: form,
    headers: { cookie, accept: 'application/json' },
  });
  expect(sent.status).toBe(202);
  first.kill('SIGKILL');
  await first.exited;
  expect(await readdir(join(folder.path, 'storage/roundsound'))).not.toContain(`${PLAYER}.mp3`);

  const second = startProgram('src/main.ts', env);
  await second.waitFor('HTTP server listening');
  const lookUp = async () => (await fetch(`${origin}/api/v1/players/${PLAYER}/roundsound`)).json();
  const expected = { success: true, url: `${origin}/storage/roundsound/${PLAYER}.mp3`, title: 'tone.wav' };
  // The killed worker may have held the sound: its lease has to expire first.
  await waitFor(async () => Bun.deepEquals(await lookUp(), expected), {
    everyMs: 2500,
    what: 'the sound is published',
  });
  expect((await fetch(expected.url)).headers.get('content-type')).toBe('audio/mpeg');

  second.kill('SIGTERM');
  expect(await second.exited).toBe(0);
});
