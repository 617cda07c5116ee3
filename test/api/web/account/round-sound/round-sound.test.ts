import { describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import { auditLog } from '../../../../../src/db/schema/audit-log.ts';
import { listRoundSounds } from '../../../../../src/queries/round-sounds/round-sounds.ts';
import { aSteamId } from '../../../../support/database/builders.ts';
import { openUpload } from '../../../../support/http/open-upload.ts';
import { waitFor } from '../../../../support/wait.ts';
import { openBrowser, signIn } from '../../../../support/web/browser.ts';

import { MAX_BYTES, openSoundSite, PLAYER } from '../../../../support/web/sound-site.ts';

const { db, folders, steam, site, visit, upload, send, csrfToken, cookieLine, listUploadsUnderWay } =
  await openSoundSite();
const FILE = '--x\r\nContent-Disposition: form-data; name="file"; filename="a.mp3"\r\n\r\n';

describe('uploading', () => {
  test('answers at once, keeps the bytes, and shows how far it is', async () => {
    const sent = await upload(new File(['any bytes'], 'Zwycięstwo!.mp3'));
    expect([sent.status, sent.headers.get('location')]).toEqual([303, '/account#sound']);
    const [sound] = await listRoundSounds(db);
    expect(sound).toMatchObject({ steamId64: PLAYER, title: 'Zwycięstwo!.mp3', status: 'queued' });
    const stored = Bun.file(join(folders.inbox, sound?.uploadKey ?? '', 'upload.bin'));
    expect(await stored.text()).toBe('any bytes');
    const page = await visit.browser.get('/account');
    expect(page.text).toContain('Your file has been uploaded');
    expect(page.text).toMatch(/data-step="queued"[^>]*aria-current="step"/);
    expect(page.text).toContain('“Zwycięstwo!” is being processed');
    const [entry] = (await db.select().from(auditLog)).filter(({ action }) => action === 'sound.uploaded');
    expect(entry).toMatchObject({ subject: PLAYER, actorUserId: expect.any(Number) });
  });

  test('has a link that reloads the page, whichever address it is on', async () => {
    await upload(new File(['any bytes'], 'a.mp3'));
    let address = '/account#sound';
    for (let visits = 0; visits < 3; visits++) {
      const { text } = await visit.browser.get(address);
      const [, next = ''] = /href="([^"]+)">Check progress</.exec(text) ?? [];
      expect(next).toStartWith('/account?check=');
      expect(next).toEndWith('#sound');
      expect(next.split('#')[0]).not.toBe(address.split('#')[0]);
      address = next;
    }
  });

  test('takes the CSRF token as a header or as a field, before or after the file', async () => {
    const form = new FormData();
    form.append('file', new File(['x'], 'a.mp3'));
    form.append('csrf_token', await csrfToken());
    expect((await send(form)).status).toBe(303);
    const bare = new FormData();
    bare.append('file', new File(['x'], 'b.mp3'));
    expect((await send(bare, { 'x-csrf-token': await csrfToken() })).status).toBe(303);
    expect((await listRoundSounds(db)).map(({ title }) => title)).toEqual(['b.mp3']);
  });

  test('responds to a script with JSON', async () => {
    const sent = await upload(new File(['x'], 'a.mp3'), { accept: 'application/json' });
    expect([sent.status, await sent.json()]).toEqual([202, { success: true, status: 'queued' }]);
    const status = await visit.browser.get('/account/roundsound/status');
    expect(JSON.parse(status.text)).toEqual({ status: 'queued', message: null, url: null, title: null });
  });

  test.each([
    ['without a token', {}, 403],
    ['with a wrong token', { 'x-csrf-token': 'wrong' }, 403],
    ['from another site', { 'sec-fetch-site': 'cross-site' }, 403],
  ])('is refused %s', async (_, headers, status) => {
    const form = new FormData();
    form.append('file', new File(['x'], 'a.mp3'));
    if (status === 403 && 'sec-fetch-site' in headers) form.append('csrf_token', await csrfToken());
    expect((await send(form, headers)).status).toBe(status);
    expect(await listRoundSounds(db)).toEqual([]);
  });

  test('needs a session', async () => {
    const form = new FormData();
    form.append('file', new File(['x'], 'a.mp3'));
    const response = await fetch(`${site.origin}/account/roundsound`, { method: 'POST', body: form });
    expect(response.status).toBe(401);
  });

  test('refuses a file that is too large, empty, or absent, with a reason', async () => {
    const large = await upload(new File([new Uint8Array(MAX_BYTES + 1)], 'a.wav'));
    expect([large.status, await large.text()]).toEqual([
      413,
      expect.stringContaining('The file is larger than 1 MB'),
    ]);
    const empty = await upload(new File([], 'a.wav'));
    const form = /<form[^>]*data-sound-upload.*?<\/form>/s.exec(await empty.text())?.[0] ?? '';
    expect([empty.status, form]).toEqual([400, expect.stringContaining('This file is empty.')]);
    expect(form).toContain('action="/account/roundsound#sound"');
    const nothing = new FormData();
    nothing.append('csrf_token', await csrfToken());
    expect((await send(nothing)).status).toBe(400);
    const text = new URLSearchParams({ file: 'x', csrf_token: await csrfToken() });
    expect((await send(text)).status).toBe(400);
    expect(await listRoundSounds(db)).toEqual([]);
  });

  test('is refused for now while the disk is full, which the log reports', async () => {
    visit.diskTrouble = Object.assign(new Error('ENOSPC: no space left on device, write'), {
      code: 'ENOSPC',
    });
    const sent = await upload(new File(['x'], 'a.mp3'));
    expect([sent.status, sent.headers.get('retry-after')]).toEqual([503, '30']);
    expect(await sent.text()).not.toContain('ENOSPC');
    const [entry] = site.log.filter(({ level }) => level === 'error');
    expect(entry?.fields).toHaveProperty('err.cause', visit.diskTrouble);
    expect(await listUploadsUnderWay()).toEqual([]);
    expect(await listRoundSounds(db)).toEqual([]);
  });

  test('one at a time for each person, who may begin another once the first has ended', async () => {
    const headers = { Cookie: cookieLine(), 'X-CSRF-Token': await csrfToken(), 'Content-Length': '1000' };
    const first = await openUpload(site.origin, headers);
    await first.write(`${FILE}first bytes`);
    await waitFor(async () => (await listUploadsUnderWay()).length === 1);
    expect((await upload(new File(['x'], 'a.mp3'))).status).toBe(503);
    first.destroy();
    await waitFor(async () => (await listUploadsUnderWay()).length === 0);
    expect((await upload(new File(['x'], 'a.mp3'))).status).toBe(303);
  });

  test('sixteen at a time: the seventeenth is refused with 503 and Retry-After, until another one ends', async () => {
    const open = [];
    for (let number = 1; number <= 16; number++) {
      await signInAs(number);
      const headers = { Cookie: cookieLine(), 'X-CSRF-Token': await csrfToken(), 'Content-Length': '1000' };
      const one = await openUpload(site.origin, headers);
      await one.write(`${FILE}first bytes`);
      open.push(one);
    }
    await waitFor(async () => (await listUploadsUnderWay()).length === 16);
    await signInAs(17);
    const refused = await upload(new File(['x'], 'a.mp3'));
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '30']);
    expect(await refused.text()).toContain('too many people are uploading at once');
    for (const { destroy } of open) destroy();
    await waitFor(async () => (await listUploadsUnderWay()).length === 0);
    expect((await upload(new File(['x'], 'a.mp3'))).status).toBe(303);
  });
});

async function signInAs(number: number): Promise<void> {
  steam.steamId = aSteamId(number);
  visit.browser = openBrowser(site.origin);
  await signIn(visit.browser);
}
