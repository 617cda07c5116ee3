import { afterAll, beforeEach, describe, expect, test } from 'bun:test';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { openSoundFolders, publishedPath } from '../../../../../media/sound-folders.ts';
import { removeSound, storeUpload } from '../../../../../media/uploads.ts';
import { users } from '../../../../../src/db/schema/accounts.ts';
import { auditLog } from '../../../../../src/db/schema/audit-log.ts';
import { roundSounds } from '../../../../../src/db/schema/round-sounds.ts';
import { findRoundSounds, listRoundSounds } from '../../../../../src/queries/round-sounds/round-sounds.ts';
import { makeFolder } from '../../../../support/audio/ffmpeg-engines.ts';
import { aSteamId, insertUser } from '../../../../support/database/builders.ts';
import { createTestDatabase } from '../../../../support/database/database.ts';
import { openUpload } from '../../../../support/http/open-upload.ts';
import { startSteamOpenIdProvider } from '../../../../support/providers/steam-openid-provider.ts';
import { waitFor } from '../../../../support/wait.ts';
import { startAccountSite } from '../../../../support/web/account.ts';
import { type Browser, openBrowser, type Page, signIn } from '../../../../support/web/browser.ts';

const MOST_BYTES = 1024 * 1024;
const READ_LIMIT_MS = 3000;
const SLOT_LIMIT_MS = 2000;
const PLAYER = aSteamId(1);

const { db } = await createTestDatabase();
const root = await makeFolder('sound-section');
const folders = await openSoundFolders({
  dataDir: join(root.path, 'data'),
  storageDir: join(root.path, 'storage'),
});
const steam = startSteamOpenIdProvider();
steam.approvesAtOnce = true;
let diskTrouble: Error | undefined;
const site = startAccountSite({
  db,
  steam,
  sounds: {
    limits: {
      maxSeconds: 10,
      maxUploadBytes: MOST_BYTES,
      readLimitMs: READ_LIMIT_MS,
      slotLimitMs: SLOT_LIMIT_MS,
    },
    storeUpload: (upload) => {
      const bytes = diskTrouble ? failingWith(diskTrouble) : upload.bytes;
      return storeUpload(db, folders, { upload: { ...upload, bytes }, maxBytes: MOST_BYTES });
    },
    removeSound: (removal) => removeSound(db, folders, removal),
  },
});
afterAll(async () => {
  await site.stop();
  await steam.stop();
  await root.remove();
});

let browser: Browser;
beforeEach(async () => {
  diskTrouble = undefined;
  await db.delete(auditLog);
  await db.delete(roundSounds);
  await db.delete(users);
  steam.steamId = PLAYER;
  browser = openBrowser(site.origin);
  await signIn(browser);
});

describe('uploading', () => {
  test('answers at once, keeps the bytes, and shows how far it is', async () => {
    const sent = await upload(new File(['any bytes'], 'Zwycięstwo!.mp3'));
    expect([sent.status, sent.headers.get('location')]).toEqual([303, '/account#sound']);
    const [sound] = await listRoundSounds(db);
    expect(sound).toMatchObject({ steamId64: PLAYER, title: 'Zwycięstwo!.mp3', status: 'queued' });
    const stored = Bun.file(join(folders.inbox, sound?.uploadKey ?? '', 'upload.bin'));
    expect(await stored.text()).toBe('any bytes');
    const page = await browser.get('/account');
    expect(page.text).toContain('Your file has been uploaded');
    expect(page.text).toMatch(/data-step="queued"[^>]*aria-current="step"/);
    expect(page.text).toContain('“Zwycięstwo!” is being processed');
    const [entry] = (await db.select().from(auditLog)).filter(({ action }) => action === 'sound.uploaded');
    expect(entry).toMatchObject({ subject: PLAYER, actorUserId: expect.any(Number) });
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

  test('gives a script JSON', async () => {
    const sent = await upload(new File(['x'], 'a.mp3'), { accept: 'application/json' });
    expect([sent.status, await sent.json()]).toEqual([202, { success: true, status: 'queued' }]);
    const status = await browser.get('/account/roundsound/status');
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

  test('refuses a file that is too large, empty, or absent, in words', async () => {
    const large = await upload(new File([new Uint8Array(MOST_BYTES + 1)], 'a.wav'));
    expect([large.status, await large.text()]).toEqual([
      413,
      expect.stringContaining('The file is larger than 1 MB'),
    ]);
    expect((await upload(new File([], 'a.wav'))).status).toBe(400);
    const nothing = new FormData();
    nothing.append('csrf_token', await csrfToken());
    expect((await send(nothing)).status).toBe(400);
    const text = new URLSearchParams({ file: 'x', csrf_token: await csrfToken() });
    expect((await send(text)).status).toBe(400);
    expect(await listRoundSounds(db)).toEqual([]);
  });

  test('is put off while the disk is full, which the log tells the operator', async () => {
    diskTrouble = Object.assign(new Error('ENOSPC: no space left on device, write'), { code: 'ENOSPC' });
    const sent = await upload(new File(['x'], 'a.mp3'));
    expect([sent.status, sent.headers.get('retry-after')]).toEqual([503, '30']);
    expect(await sent.text()).not.toContain('ENOSPC');
    const [entry] = site.log.filter(({ level }) => level === 'error');
    expect(entry?.fields).toHaveProperty('err.cause', diskTrouble);
    expect(await listUploadsUnderWay()).toEqual([]);
    expect(await listRoundSounds(db)).toEqual([]);
  });

  test('several at once all arrive; the last one stays', async () => {
    const names = ['1', '2', '3', '4', '5', '6'].map((name) => `${name}.mp3`);
    const sent = await Promise.all(names.map((name) => upload(new File([new Uint8Array(500_000)], name))));
    expect(sent.map(({ status }) => status)).toEqual(names.map(() => 303));
    expect(await listRoundSounds(db)).toHaveLength(1);
  });

  test('one who lets uploads trickle keeps nobody else waiting, is told so, and leaves nothing behind', async () => {
    const startedMs = performance.now();
    const headers = { Cookie: cookieLine(), 'X-CSRF-Token': await csrfToken(), 'Content-Length': '1000' };
    const slow = await Promise.all([1, 2, 3, 4].map(() => openUpload(site.origin, headers)));
    const begun = '--x\r\nContent-Disposition: form-data; name="file"; filename="a.mp3"\r\n\r\nfirst bytes';
    for (const { write } of slow) await write(begun);
    await waitFor(async () => (await listUploadsUnderWay()).length === 1);
    steam.steamId = aSteamId(2);
    browser = openBrowser(site.origin);
    await signIn(browser);
    expect((await upload(new File(['x'], 'quick.mp3'))).status).toBe(303);
    expect(performance.now() - startedMs).toBeLessThan(READ_LIMIT_MS);
    const answers = await Promise.all(slow.map(({ answered }) => answered));
    expect(answers.map((answer) => answer.slice(0, 12)).sort()).toEqual([
      'HTTP/1.1 408',
      'HTTP/1.1 503',
      'HTTP/1.1 503',
      'HTTP/1.1 503',
    ]);
    for (const { destroy } of slow) destroy();
    await waitFor(async () => (await listUploadsUnderWay()).length === 0);
  });
});

describe('a ready sound', () => {
  test('is heard, drawn and told in numbers, in both languages, and names are escaped', async () => {
    await insertReadySound('<b>"Fanfara" & co</b>.mp3');
    const page = await browser.get('/account');
    expect(page.text).toContain(`src="/storage/roundsound/${PLAYER}.mp3?v=abcdef0123456789"`);
    expect(page.text).toContain('&lt;b&gt;');
    expect(page.text).not.toContain('<b>"Fanfara"');
    expect(page.text).toContain('−31.4 LUFS');
    expect(page.text).toContain('−18.0 LUFS');
    expect(page.text).toContain('7.5 s');
    expect(page.text).toMatch(/class="waveform"[\s\S]*<path d="M2 \d+v\d+M6 /);
    const polish = await browser.get('/account?lang=pl');
    expect(polish.text).toContain('Dźwięk końca rundy');
    expect(polish.text).toContain('−31,4 LUFS');
  });

  test('stays shown beside a replacement that failed, with the reason', async () => {
    await insertReadySound('old.mp3');
    await db.insert(roundSounds).values({
      steamId64: PLAYER,
      title: 'new.mp3',
      uploadKey: 'k2',
      status: 'failed',
      failure: 'silent',
    });
    const page = await browser.get('/account?lang=pl');
    expect(page.text).toContain('<bdi>old<');
    expect(page.text).toContain('Nie udało się przetworzyć „new”');
    expect(page.text).toContain('W pierwszych 75 sekundach nic nie słychać');
    expect(page.text).toContain('Obecny dźwięk zostaje bez zmian.');
    const status = JSON.parse((await browser.get('/account/roundsound/status')).text);
    expect(status).toMatchObject({ status: 'failed', title: 'old.mp3' });
  });

  test('is deleted after a question, with its file', async () => {
    await insertReadySound('old.mp3');
    const question = await browser.get('/account/roundsound/delete');
    expect(question.text).toContain('Delete your sound?');
    const answer = await browser.post('/account/roundsound/delete');
    expect([answer.status, answer.location]).toEqual([303, '/account#sound']);
    expect(await listRoundSounds(db)).toEqual([]);
    expect(await Bun.file(publishedPath(folders, PLAYER)).exists()).toBe(false);
    expect((await browser.get('/account')).text).toContain('Sound deleted.');
    expect((await browser.get('/account/roundsound/delete')).status).toBe(404);
  });

  test('is not deleted without the CSRF token', async () => {
    await insertReadySound('old.mp3');
    expect((await browser.post('/account/roundsound/delete', { csrf_token: 'x' })).status).toBe(403);
    expect(await listRoundSounds(db)).toHaveLength(1);
  });
});

describe('moderation', () => {
  test('lists and removes anyone’s sound, and records who did it', async () => {
    await insertReadySound('rude.mp3');
    const moderator = await insertUser(db, 7, { isAdmin: true });
    const admin = await signInAs(7);
    const list = await admin.get('/account/moderation/sounds');
    expect(list.status).toBe(200);
    expect(list.text).toContain('<bdi>rude<');
    expect((await admin.get(`/account/moderation/sounds/${PLAYER}/delete`)).text).toContain(
      'Remove this sound?',
    );
    const removed = await admin.post(`/account/moderation/sounds/${PLAYER}/delete`);
    expect([removed.status, removed.location]).toEqual([303, '/account/moderation/sounds#sounds']);
    expect((await findRoundSounds(db, PLAYER)).ready).toBeUndefined();
    expect((await admin.get('/account/moderation/sounds')).text).toContain('Sound deleted.');
    const entry = (await db.select().from(auditLog)).find(({ action }) => action === 'sound.removed');
    expect(entry).toMatchObject({
      actorUserId: moderator.id,
      subject: PLAYER,
      details: { title: 'rude.mp3' },
    });
  });

  test('shows fifty sounds at a time', async () => {
    await db.insert(roundSounds).values(
      Array.from({ length: 60 }, (_, index) => ({
        steamId64: aSteamId(100 + index),
        title: `sound ${index}.`,
        uploadKey: `k${index}`,
      })),
    );
    await insertUser(db, 7, { isAdmin: true });
    const admin = await signInAs(7);
    const first = await admin.get('/account/moderation/sounds');
    expect(first.text.match(/sound \d+\.<\/bdi>/g)).toHaveLength(50);
    expect(first.text).toContain('Sounds: 60');
    const next = /href="([^"]+before=\d+)"/.exec(first.text)?.[1] ?? '';
    const second = await admin.get(next);
    expect(second.text.match(/sound \d+\.<\/bdi>/g)).toHaveLength(10);
    expect(second.text).not.toContain('rel="next"');
  });

  test('is closed to players', async () => {
    await insertReadySound('mine.mp3');
    expect((await browser.get('/account/moderation/sounds')).status).toBe(403);
    expect((await browser.post(`/account/moderation/sounds/${PLAYER}/delete`)).status).toBe(403);
    expect(await listRoundSounds(db)).toHaveLength(1);
  });
});

async function csrfToken(): Promise<string> {
  return (await browser.get('/account')).field('csrf_token') ?? '';
}

async function upload(file: File, headers: Record<string, string> = {}): Promise<Response> {
  const form = new FormData();
  form.append('csrf_token', await csrfToken());
  form.append('file', file);
  return send(form, headers);
}

async function* failingWith(error: Error): AsyncGenerator<Uint8Array> {
  yield new Uint8Array(1);
  throw error;
}

async function listUploadsUnderWay(): Promise<string[]> {
  const names = await readdir(folders.inbox, { recursive: true });
  return names.filter((name) => name.endsWith('upload.part'));
}

function cookieLine(): string {
  return [...browser.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
}

async function send(
  body: FormData | URLSearchParams,
  headers: Record<string, string> = {},
): Promise<Response> {
  const response = await fetch(`${site.origin}/account/roundsound`, {
    method: 'POST',
    body,
    headers: { cookie: cookieLine(), ...headers },
    redirect: 'manual',
  });
  for (const line of response.headers.getSetCookie()) {
    const [pair = ''] = line.split(';');
    browser.cookies.set(pair.slice(0, pair.indexOf('=')), pair.slice(pair.indexOf('=') + 1));
  }
  return response;
}

async function insertReadySound(title: string): Promise<void> {
  await Bun.write(publishedPath(folders, PLAYER), 'mp3');
  await db.insert(roundSounds).values({
    steamId64: PLAYER,
    title,
    uploadKey: 'k1',
    status: 'ready',
    sha256: 'abcdef0123456789abcdef',
    loudnessBeforeLufs: -31.42,
    loudnessAfterLufs: -18.01,
    durationMs: 7500,
    waveform: Array.from({ length: 160 }, (_, index) => index % 100),
    readyAt: new Date(),
  });
}

async function signInAs(number: number): Promise<Browser> {
  steam.steamId = aSteamId(number);
  const other = openBrowser(site.origin);
  const page: Page = await signIn(other);
  expect(page.status).toBe(200);
  return other;
}
