import { describe, expect, test } from 'bun:test';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { en } from '../../../../api/web/locales/en.ts';
import { pl } from '../../../../api/web/locales/pl.ts';
import { auditLog, users } from '../../../../src/db/schema/accounts.ts';
import { roundSounds } from '../../../../src/db/schema/round-sounds.ts';
import { findRoundSounds, listRoundSounds } from '../../../../src/queries/round-sounds/round-sounds.ts';
import { publishedPath } from '../../../support/audio/sound-folders.ts';
import {
  aSteamId,
  insertReadySound as insertSoundOf,
  insertUser,
} from '../../../support/database/builders.ts';
import { openUpload } from '../../../support/http/open-upload.ts';
import { waitFor } from '../../../support/wait.ts';
import { noticesOf } from '../../../support/web/page-text.ts';
import { openSoundSite, PLAYER } from '../../../support/web/sound-site.ts';

const soundSite = await openSoundSite();
const { db, folders, site, startSiteFor, visit, signedIn } = soundSite;
const { upload, csrfToken, listUploadsUnderWay, insertReadySound } = soundSite;
/** What a script sends, which is answered in JSON. */
const JSON_ONLY = { accept: 'application/json' };
const FILE = '--x\r\nContent-Disposition: form-data; name="file"; filename="a.mp3"\r\n\r\n';

/** Begins an upload whose file has not arrived yet, by `visit.browser`. */
async function beginUpload() {
  const headers = {
    Cookie: visit.browser.cookieLine(),
    'X-CSRF-Token': await csrfToken(),
    'Content-Length': '1000',
  };
  const upload = await openUpload(site.origin, headers);
  await upload.write(`${FILE}first bytes`);
  return upload;
}

describe('uploading', () => {
  test('answers at once, keeps the bytes, and shows how far it is', async () => {
    const sent = await upload(new File(['any bytes'], 'Zwycięstwo!.mp3'));
    expect([sent.status, sent.location]).toEqual([303, '/account#sound']);
    const [sound] = await listRoundSounds(db);
    expect(sound).toMatchObject({ steamId64: PLAYER, title: 'Zwycięstwo!.mp3', status: 'queued' });
    const stored = Bun.file(join(folders.inbox, sound?.uploadKey ?? '', 'upload.bin'));
    expect(await stored.text()).toBe('any bytes');
    const page = await visit.browser.get('/account');
    expect(noticesOf(page.text)).toEqual([['sound', en.notices['sound-uploaded']]]);
    expect(page.text).toMatch(/data-step="queued"[^>]*aria-current="step"/);
    expect(page.text).toContain(en.roundSound.underWay('Zwycięstwo!'));
    const [entry] = (await db.select().from(auditLog)).filter(({ action }) => action === 'sound.uploaded');
    expect(entry).toMatchObject({ subject: PLAYER, actorUserId: expect.any(Number) });
  });

  test('the page of an upload has a link that reloads it at every address', async () => {
    await upload(new File(['any bytes'], 'a.mp3'));
    let address = '/account#sound';
    for (let visits = 0; visits < 3; visits++) {
      const { text } = await visit.browser.get(address);
      const [, next = ''] = new RegExp(`href="([^"]+)">${en.roundSound.refresh}<`).exec(text) ?? [];
      expect(next).toStartWith('/account?check=');
      expect(next).toEndWith('#sound');
      expect(next.split('#')[0]).not.toBe(address.split('#')[0]);
      address = next;
    }
  });

  test('responds to a script with JSON', async () => {
    const sent = await upload(new File(['x'], 'a.mp3'), { headers: JSON_ONLY });
    expect([sent.status, JSON.parse(sent.text)]).toEqual([202, { success: true, status: 'queued' }]);
    const { headers, text } = await visit.browser.get('/account/roundsound/status');
    expect(JSON.parse(text)).toEqual({ status: 'queued', message: null, url: null, title: null });
    // It has names that people chose, which no browser may take for markup.
    expect(headers.get('content-type')).toMatch(/^application\/json/);
    expect(headers.get('x-content-type-options')).toBe('nosniff');
  });

  test('an upload while the disk is full gives 503 and is logged', async () => {
    visit.diskTrouble = Object.assign(new Error('ENOSPC: no space left on device, write'), {
      code: 'ENOSPC',
    });
    const sent = await upload(new File(['x'], 'a.mp3'));
    expect([sent.status, sent.headers.get('retry-after')]).toEqual([503, '30']);
    expect(sent.text).not.toContain('ENOSPC');
    const [entry] = site.log.filter(({ level }) => level === 'error');
    expect(entry?.fields).toHaveProperty('err.cause', visit.diskTrouble);
    expect(await listUploadsUnderWay()).toEqual([]);
    expect(await listRoundSounds(db)).toEqual([]);
  });

  test('a person uploads one file at a time, and another once the first has ended', async () => {
    const first = await beginUpload();
    await waitFor(async () => (await listUploadsUnderWay()).length === 1);
    expect((await upload(new File(['x'], 'a.mp3'))).status).toBe(503);
    first.destroy();
    await waitFor(async () => (await listUploadsUnderWay()).length === 0);
    expect((await upload(new File(['x'], 'a.mp3'))).status).toBe(303);
  });

  test('sixteen at a time: the seventeenth is refused with 503 and Retry-After, until another one ends', async () => {
    const open = [];
    for (let number = 1; number <= 16; number++) {
      visit.browser = await signedIn(number);
      open.push(await beginUpload());
    }
    await waitFor(async () => (await listUploadsUnderWay()).length === 16);
    visit.browser = await signedIn(17);
    const refused = await upload(new File(['x'], 'a.mp3'));
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '30']);
    expect(refused.text).toContain(en.errors['sound-busy']);
    for (const { destroy } of open) destroy();
    await waitFor(async () => (await listUploadsUnderWay()).length === 0);
    expect((await upload(new File(['x'], 'a.mp3'))).status).toBe(303);
  });
});

describe('a form that is sent as a whole', () => {
  const TYPE = 'multipart/form-data; boundary=x';
  const END = '\r\n--x--\r\n';
  let token = '';
  const field = (name: string, value: string) =>
    `--x\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`;
  const TOKEN = () => field('csrf_token', token);
  async function post(body: string | ReadableStream, type = TYPE): Promise<Response> {
    return fetch(`${site.origin}/account/roundsound`, {
      method: 'POST',
      body,
      headers: { cookie: visit.browser.cookieLine(), accept: 'application/json', 'content-type': type },
    });
  }
  /** More than is allowed, in pieces. */
  function tooLarge(): ReadableStream {
    const pieces = [TOKEN() + FILE, ...Array.from({ length: 20 }, () => 'x'.repeat(100_000)), END];
    return new Blob(pieces).stream();
  }

  test('the token is checked before the file if it comes first', async () => {
    const headers = { Cookie: visit.browser.cookieLine(), 'Content-Length': '1000' };
    const one = await openUpload(site.origin, headers);
    await one.write(`${field('csrf_token', 'wrong')}${FILE}the first bytes`);
    expect(await one.answered).toStartWith('HTTP/1.1 403');
    expect(await readdir(folders.inbox)).toEqual([]);
    one.destroy();
  });

  test('the file is dropped if the session ended while it arrived', async () => {
    token = await csrfToken();
    const form = `${TOKEN()}${FILE}bytes${END}`;
    const headers = { Cookie: visit.browser.cookieLine(), 'Content-Length': String(form.length) };
    const one = await openUpload(site.origin, headers);
    await one.write(form.slice(0, -END.length));
    await waitFor(async () => (await readdir(folders.inbox)).length > 0);
    await visit.browser.post('/account/sign-out');
    await one.write(END);
    expect(await one.answered).toStartWith('HTTP/1.1 401');
    expect(await readdir(folders.inbox)).toEqual([]);
    expect(await listRoundSounds(db)).toEqual([]);
  });

  test('the token is checked if it comes after the file', async () => {
    token = await csrfToken();
    const file = `${FILE}bytes`;
    expect((await post(`${file}\r\n${field('csrf_token', 'wrong')}--x--\r\n`)).status).toBe(403);
    expect((await post(`${file}\r\n${field('other', token)}--x--\r\n`)).status).toBe(403);
    expect(await readdir(folders.inbox)).toEqual([]);
    expect(await listRoundSounds(db)).toEqual([]);
    expect((await post(`${file}\r\n${TOKEN()}--x--\r\n`)).status).toBe(202);
  });

  const MISSING = en.errors['sound-missing'];
  const EMPTY = en.errors['sound-empty'];
  const TOO_LARGE = en.errors['sound-too-large'](1);
  const WRONG = en.errors['invalid-input'];
  test.each<[string, number, string, () => string | ReadableStream, string]>([
    ['without a file', 400, MISSING, () => `${TOKEN()}--x--\r\n`, TYPE],
    ['with text for a file', 400, MISSING, () => `${TOKEN()}${field('file', 'text')}--x--\r\n`, TYPE],
    ['with another file', 400, MISSING, () => TOKEN() + FILE.replace('"file"', '"other"') + END, TYPE],
    ['with an empty file', 400, EMPTY, () => TOKEN() + FILE + END, TYPE],
    ['with no file chosen', 400, MISSING, () => TOKEN() + FILE.replace('a.mp3', '') + END, TYPE],
    ['with two files', 400, WRONG, () => `${TOKEN()}${FILE}one\r\n${FILE}two${END}`, TYPE],
    ['that ends in the file', 400, WRONG, () => `${TOKEN()}${FILE}bytes`, TYPE],
    ['with another boundary', 400, WRONG, () => `${TOKEN()}${FILE}bytes${END}`, `${TYPE}y`],
    ['without a boundary', 400, WRONG, () => `${TOKEN()}${FILE}bytes${END}`, 'multipart/form-data'],
    ['of another type', 400, WRONG, () => `${TOKEN()}${FILE}bytes${END}`, 'audio/mpeg'],
    ['without anything', 400, WRONG, () => '', TYPE],
    ['that is too large and does not say so', 413, TOO_LARGE, tooLarge, TYPE],
  ])(
    'a form %s is refused with a reason, and leaves nothing behind',
    async (_, status, words, form, type) => {
      token = await csrfToken();
      const refused = await post(form(), type);
      const { message } = (await refused.json()) as { message: string };
      expect([refused.status, message]).toEqual([status, words]);
      expect(await readdir(folders.inbox)).toEqual([]);
      expect(await listRoundSounds(db)).toEqual([]);
    },
  );
});

describe('the start of a sound', () => {
  const FANFARE = new File(['any bytes'], 'fanfare.mp3');
  const fieldOf = (text: string) => /<input[^>]*name="start"[^>]*>/.exec(text)?.[0] ?? '';

  test('the start is a field for minutes and seconds without a script', async () => {
    const { text } = await visit.browser.get('/account');
    expect(fieldOf(text)).toContain('value="0:00"');
    expect(text).toContain(`<label for="sound-start">${en.roundSound.start}</label>`);
  });

  test.each<[string, Parameters<typeof upload>[1], startMs: number, startFrom: string]>([
    ['before the file', { before: { start: '1:07.5' } }, 67_500, 'file'],
    ['after the file', { after: { start: '67.5' } }, 67_500, 'file'],
    ['from the first sound', { before: { start_ms: '12500', start: '' } }, 12_500, 'first_sound'],
    ['that is empty', { before: { start: '', start_ms: '' } }, 0, 'first_sound'],
    ['that is absent', {}, 0, 'first_sound'],
  ])('a start %s is stored with the upload', async (_, fields, startMs, startFrom) => {
    expect((await upload(FANFARE, { headers: JSON_ONLY, ...fields })).status).toBe(202);
    expect(await listRoundSounds(db)).toMatchObject([{ startMs, startFrom }]);
  });

  test.each(['before', 'after'])(
    'an invalid start is refused %s the file, and nothing is stored',
    async (side) => {
      for (const fields of [
        { start: '-1' },
        { start: '10:01' },
        { start_ms: '1.5' },
        { start_ms: '600001' },
      ]) {
        const sent = await upload(FANFARE, { headers: JSON_ONLY, [side]: fields });
        expect([sent.status, JSON.parse(sent.text)]).toEqual([
          400,
          { success: false, message: en.errors['sound-start'] },
        ]);
      }
      expect((await upload(FANFARE, { [side]: { start: '0:00', start_ms: '0' } })).status).toBe(400);
      expect(await listRoundSounds(db)).toEqual([]);
    },
  );

  test('a refused form without a script says why, and keeps the start that was entered', async () => {
    for (const [start, file, problem] of [
      ['1:07.5', new File([], 'a.wav'), 'sound-empty'],
      ['10:01', FANFARE, 'sound-start'],
    ] as const) {
      const { status, text } = await upload(file, { before: { start } });
      const form = /<form[^>]*data-sound-upload.*?<\/form>/s.exec(text)?.[0] ?? '';
      expect([status, form]).toEqual([400, expect.stringContaining(en.errors[problem])]);
      expect(form).toContain('action="/account/roundsound#sound"');
      expect(fieldOf(form)).toContain(`value="${start}"`);
    }
  });
});

describe('a ready sound', () => {
  test('a ready sound has a player, a waveform and figures in both languages, and its name is escaped', async () => {
    await insertReadySound('<b>"Fanfara" & co</b>.mp3');
    const page = await visit.browser.get('/account');
    expect(page.text).toContain(`src="/storage/roundsound/${PLAYER}.mp3?v=abcdef0123456789"`);
    expect(page.text).toContain('&lt;b&gt;');
    expect(page.text).not.toContain('<b>"Fanfara"');
    expect(page.text).toContain('−31.4 LUFS');
    expect(page.text).toContain('7.5 s');
    expect(page.text).toMatch(/class="waveform"[\s\S]*<path d="M2 \d+v\d+M6 /);
    const polish = await visit.browser.follow(await visit.browser.get('/account?lang=pl'));
    expect(polish.text).toContain(pl.roundSound.title);
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
    const page = await visit.browser.follow(await visit.browser.get('/account?lang=pl'));
    expect(page.text).toContain('<bdi>old<');
    expect(page.text).toContain(pl.roundSound.failed('new'));
    expect(page.text).toContain(pl.roundSound.failures.silent);
    expect(page.text).toContain(pl.roundSound.keptOld);
    const status = JSON.parse((await visit.browser.get('/account/roundsound/status')).text);
    expect(status).toMatchObject({ status: 'failed', title: 'old.mp3' });

    expect((await visit.browser.post('/account/roundsound/dismiss', { csrf_token: 'x' })).status).toBe(403);
    await visit.browser.follow(await visit.browser.post('/account/roundsound/dismiss'));
    const dismissed = await visit.browser.get('/account');
    expect(dismissed.text).toContain('<bdi>old<');
    expect(dismissed.text).not.toContain('Nie udało się przetworzyć');
  });

  test('deleting a ready sound asks first, and removes its file', async () => {
    await insertReadySound('old.mp3');
    expect((await visit.browser.get('/account')).text).toContain(en.roundSound.removeTitle);
    const answer = await visit.browser.post('/account/roundsound/delete');
    expect([answer.status, answer.location]).toEqual([303, '/account#sound']);
    expect(await listRoundSounds(db)).toEqual([]);
    expect(await Bun.file(publishedPath(folders, PLAYER)).exists()).toBe(false);
    const { text } = await visit.browser.get('/account');
    expect(noticesOf(text)).toEqual([['sound', en.notices['sound-removed']]]);
  });
});

describe('moderation', () => {
  test('lists and removes anyone’s sound, and records who did it', async () => {
    await insertReadySound('rude.mp3');
    const moderator = await insertUser(db, 7, { isAdmin: true });
    const admin = await signedIn(7);
    const list = await admin.get('/account/moderation/sounds');
    expect(list.status).toBe(200);
    expect(list.text).toContain('<bdi>rude<');
    await db.update(roundSounds).set({ title: 'שלום 1' });
    const { text } = await admin.get('/account/moderation/sounds');
    expect(text).toMatch(
      new RegExp(`${RegExp.escape(en.roundSound.moderation.removeTitle)}<.*“\u2068שלום 1\u2069”`),
    );
    await db.update(roundSounds).set({ title: 'rude.mp3' });
    const removed = await admin.post(`/account/moderation/sounds/${PLAYER}/delete`);
    expect([removed.status, removed.location]).toEqual([303, '/account/moderation/sounds#sounds']);
    expect((await findRoundSounds(db, PLAYER)).ready).toBeUndefined();
    const after = (await admin.get('/account/moderation/sounds')).text;
    expect(noticesOf(after)).toEqual([['sounds', en.notices['sound-removed']]]);
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
    const admin = await signedIn(7);
    const first = await admin.get('/account/moderation/sounds');
    expect(first.text.match(/sound \d+\.<\/bdi>/g)).toHaveLength(50);
    expect(first.text).toContain(en.roundSound.moderation.count(60));
    const next = /rel="next" href="([^"]+)"/.exec(first.text)?.[1] ?? '';
    const second = await admin.get(next);
    expect(second.text.match(/sound \d+\.<\/bdi>/g)).toHaveLength(10);
    expect(second.text).not.toContain('rel="next"');
    const pastTheLast = await admin.get('/account/moderation/sounds?page=3');
    expect(pastTheLast.text).not.toContain('Nobody has a sound yet.');
    expect(pastTheLast.text).toContain(en.roundSound.moderation.count(60));
  });
});

describe('a sound that only some may have', () => {
  const limited = startSiteFor(['svip', 'admin']);
  const FORM = 'action="/account/roundsound#sound"';

  /** Signs in where only SVIP and admins may have a sound. */
  async function openLimited(number = 1): Promise<void> {
    visit.browser = await signedIn(number, { at: limited });
  }

  test('the page says who may have a sound, instead of the form, and plays none', async () => {
    await openLimited();
    await insertReadySound('fanfare.mp3');
    const { text } = await visit.browser.get('/account');
    const { groups, onlyFor, keptUnheard } = en.roundSound;
    expect(text).toContain(onlyFor(`${groups.svip} and ${groups.admin}`));
    expect(text).toContain(keptUnheard);
    expect(text).not.toContain(FORM);
    expect(text).not.toContain('<audio');
  });

  test('an upload of somebody who may have none is 403, and nothing is stored', async () => {
    await openLimited();
    const sent = await upload(new File(['x'], 'a.mp3'), { headers: JSON_ONLY });
    expect([sent.status, JSON.parse(sent.text)]).toEqual([
      403,
      { success: false, message: en.errors['sound-not-allowed'] },
    ]);
    expect(await readdir(folders.inbox)).toEqual([]);
  });

  test.each(['hasSvip', 'isAdmin', 'isOwner'] as const)(
    'the form for sounds is there with %s, and works',
    async (flag) => {
      await openLimited();
      await db.update(users).set({ [flag]: true });
      expect((await visit.browser.get('/account')).text).toContain(FORM);
      expect((await upload(new File(['x'], 'a.mp3'))).status).toBe(303);
      expect(await listRoundSounds(db)).toHaveLength(1);
    },
  );

  test('moderators see that a sound is kept, without a player, where its owner may not have one', async () => {
    await insertUser(db, 2, { nickname: 'SVIP', hasSvip: true });
    await insertUser(db, 3, { nickname: 'Nobody' });
    await insertUser(db, 7, { isAdmin: true });
    for (const number of [2, 3, 4]) await insertSoundOf(db, aSteamId(number));
    await openLimited(7);
    const list = (await visit.browser.get('/account/moderation/sounds')).text;
    expect(list.match(/<audio[^>]*src="[^"]*(\d{17})[^"]*"/g)?.length).toBe(1);
    expect(list).toContain(`src="/storage/roundsound/${aSteamId(2)}.mp3`);
    expect(list.split(en.roundSound.moderation.kept).length - 1).toBe(2);
    for (const [number, isPlayed] of [
      [2, true],
      [3, false],
    ] as const) {
      const { text } = await visit.browser.get(`/account/moderation/users/${aSteamId(number)}`);
      const shown = [text.includes('<audio'), text.includes(en.roundSound.moderation.kept)];
      expect([number, ...shown]).toEqual([number, isPlayed, !isPlayed]);
    }
  });
});
