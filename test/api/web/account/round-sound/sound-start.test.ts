import { afterAll, beforeEach, expect, test } from 'bun:test';
import { aSteamId } from '../../../../support/database/builders.ts';
import { createTestDatabase } from '../../../../support/database/database.ts';
import { startSteamOpenIdProvider } from '../../../../support/providers/steam-openid-provider.ts';
import { startAccountSite } from '../../../../support/web/account.ts';
import { type Browser, openBrowser, signIn } from '../../../../support/web/browser.ts';

const { db } = await createTestDatabase();
const steam = startSteamOpenIdProvider();
steam.approvesAtOnce = true;
steam.steamId = aSteamId(1);
let starts: (number | undefined)[] = [];
const site = startAccountSite({
  db,
  steam,
  sounds: {
    limits: { maxSeconds: 10, maxUploadBytes: 1024 * 1024 },
    storeUpload: async (upload) => {
      for await (const _ of upload.bytes);
      starts.push(upload.startMs);
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
  starts = [];
  browser = openBrowser(site.origin);
  await signIn(browser);
});

const fieldOf = (text: string) => /<input[^>]*name="start_ms"[^>]*>/.exec(text)?.[0] ?? '';

test('without a script the start is a number field, in milliseconds', async () => {
  const { text } = await browser.get('/account');
  const field = fieldOf(text);
  for (const attribute of ['type="number"', 'min="0"', 'max="600000"', 'step="1"', 'value="0"']) {
    expect(field).toContain(attribute);
  }
  expect(text).toContain('<label for="sound-start">Start of the cut, in milliseconds</label>');
});

test.each([
  ['before the file', '12500', true, 12_500],
  ['after the file', '12500', false, 12_500],
  ['empty', '', true, 0],
  ['absent', undefined, true, 0],
])('a start %s is stored with the upload', async (_, start, isFirst, expected) => {
  expect((await upload(start, isFirst)).status).toBe(202);
  expect(starts).toEqual([expected]);
});

test.each([true, false])(
  'an invalid start is refused, and nothing is stored (before the file: %p)',
  async (isFirst) => {
    for (const start of ['-1', '1.5', 'soon', '600001']) {
      const sent = await upload(start, isFirst);
      expect(sent.status).toBe(400);
      expect(await sent.json()).toEqual({
        success: false,
        message: 'The start must be a whole number of milliseconds from 0 to 600000. Nothing was uploaded.',
      });
    }
    expect(starts).toEqual([]);
  },
);

test('without a script the form keeps the start that was entered, whatever was wrong', async () => {
  for (const [start, file] of [
    ['12500', new File([], '')],
    ['600001', new File(['any bytes'], 'fanfare.mp3')],
  ] as const) {
    const refused = await upload(start, true, { file, accept: 'text/html' });
    expect([refused.status, fieldOf(await refused.text())]).toEqual([
      400,
      expect.stringContaining(`value="${start}"`),
    ]);
  }
});

async function upload(
  start: string | undefined,
  isFirst: boolean,
  { file = new File(['any bytes'], 'fanfare.mp3'), accept = 'application/json' } = {},
): Promise<Response> {
  const form = new FormData();
  form.append('csrf_token', (await browser.get('/account')).field('csrf_token') ?? '');
  if (start !== undefined && isFirst) form.append('start_ms', start);
  form.append('file', file);
  if (start !== undefined && !isFirst) form.append('start_ms', start);
  const cookie = [...browser.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
  return fetch(`${site.origin}/account/roundsound`, {
    method: 'POST',
    body: form,
    headers: { cookie, accept },
  });
}
