import { afterAll, beforeEach, expect, test } from 'bun:test';
import { users } from '../../../../../src/db/schema/accounts.ts';
import { roundSounds } from '../../../../../src/db/schema/round-sounds.ts';
import { aSteamId, insertReadySound } from '../../../../support/database/builders.ts';
import { createTestDatabase } from '../../../../support/database/database.ts';
import { startSteamOpenIdProvider } from '../../../../support/providers/steam-openid-provider.ts';
import { startAccountSite } from '../../../../support/web/account.ts';
import { type Browser, openBrowser, signIn } from '../../../../support/web/browser.ts';

const PLAYER = aSteamId(1);
const { db } = await createTestDatabase();
const steam = startSteamOpenIdProvider();
steam.approvesAtOnce = true;
steam.steamId = PLAYER;
let stored = 0;
const site = startAccountSite({
  db,
  steam,
  sounds: {
    limits: { maxSeconds: 10, maxUploadBytes: 1024 * 1024, audience: ['svip', 'admin'] },
    storeUpload: async ({ bytes }) => {
      for await (const _ of bytes) stored++;
    },
    removeSound: async () => undefined,
  },
});
afterAll(async () => {
  await site.stop();
  await steam.stop();
});

let browser: Browser;
beforeEach(async () => {
  stored = 0;
  await db.delete(roundSounds);
  await db.delete(users);
  browser = openBrowser(site.origin);
  await signIn(browser);
});

test('the page says who may have a sound, in place of the form, and plays none', async () => {
  await insertReadySound(db, PLAYER, 'fanfare.mp3');
  const { text } = await browser.get('/account');
  expect(text).toContain('Only SVIP and administrators can have a round-end sound here.');
  expect(text).toContain('Your sound is kept, but it is not played until you can have one again.');
  expect(text).not.toContain('action="/account/roundsound#sound"');
  expect(text).not.toContain('<audio');
});

test('an upload of somebody who may have none is 403, and nothing is stored', async () => {
  const sent = await upload();
  expect(sent.status).toBe(403);
  expect(await sent.json()).toEqual({
    success: false,
    message:
      'You cannot have a round-end sound here, so nothing was uploaded. Your account page shows who can.',
  });
  expect(stored).toBe(0);
});

test.each(['hasSvip', 'isAdmin', 'isOwner'] as const)(
  'with %s the form is there, and works',
  async (flag) => {
    await db.update(users).set({ [flag]: true });
    expect((await browser.get('/account')).text).toContain('action="/account/roundsound#sound"');
    expect((await upload()).status).toBe(202);
    expect(stored).toBe(1);
  },
);

async function upload(): Promise<Response> {
  const form = new FormData();
  const page = await browser.get('/account');
  form.append('csrf_token', page.field('csrf_token') ?? '');
  form.append('file', new File(['any bytes'], 'fanfare.mp3'));
  const cookie = [...browser.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
  return fetch(`${site.origin}/account/roundsound`, {
    method: 'POST',
    body: form,
    headers: { cookie, accept: 'application/json' },
  });
}
