import { describe, expect, test } from 'bun:test';
import { publishedPath } from '../../../../media/sound-files.ts';
import { auditLog } from '../../../../src/db/schema/accounts.ts';
import { roundSounds } from '../../../../src/db/schema/round-sounds.ts';
import { findRoundSounds, listRoundSounds } from '../../../../src/queries/round-sounds/round-sounds.ts';
import { aSteamId, insertUser } from '../../../support/database/builders.ts';
import { openSoundSite, PLAYER } from '../../../support/web/sound-site.ts';

const { db, folders, visit, insertReadySound, signedIn } = await openSoundSite();

describe('a ready sound', () => {
  test('has a player, a waveform and figures, in both languages, and names are escaped', async () => {
    await insertReadySound('<b>"Fanfara" & co</b>.mp3');
    const page = await visit.browser.get('/account');
    expect(page.text).toContain(`src="/storage/roundsound/${PLAYER}.mp3?v=abcdef0123456789"`);
    expect(page.text).toContain('&lt;b&gt;');
    expect(page.text).not.toContain('<b>"Fanfara"');
    expect(page.text).toContain('−31.4 LUFS');
    expect(page.text).toContain('−18.0 LUFS');
    expect(page.text).toContain('7.5 s');
    expect(page.text).toMatch(/class="waveform"[\s\S]*<path d="M2 \d+v\d+M6 /);
    const polish = await visit.browser.follow(await visit.browser.get('/account?lang=pl'));
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
    const page = await visit.browser.follow(await visit.browser.get('/account?lang=pl'));
    expect(page.text).toContain('<bdi>old<');
    expect(page.text).toContain('Nie udało się przetworzyć „new”');
    expect(page.text).toContain('W pierwszych 75 sekundach nic nie słychać');
    expect(page.text).toContain('Obecny dźwięk zostaje bez zmian.');
    const status = JSON.parse((await visit.browser.get('/account/roundsound/status')).text);
    expect(status).toMatchObject({ status: 'failed', title: 'old.mp3' });

    expect((await visit.browser.post('/account/roundsound/dismiss', { csrf_token: 'x' })).status).toBe(403);
    await visit.browser.follow(await visit.browser.post('/account/roundsound/dismiss'));
    const dismissed = await visit.browser.get('/account');
    expect(dismissed.text).toContain('<bdi>old<');
    expect(dismissed.text).not.toContain('Nie udało się przetworzyć');
  });

  test('is deleted after a question, with its file', async () => {
    await insertReadySound('old.mp3');
    const question = await visit.browser.get('/account/roundsound/delete');
    expect(question.text).toContain('Delete your sound?');
    const answer = await visit.browser.post('/account/roundsound/delete');
    expect([answer.status, answer.location]).toEqual([303, '/account#sound']);
    expect(await listRoundSounds(db)).toEqual([]);
    expect(await Bun.file(publishedPath(folders, PLAYER)).exists()).toBe(false);
    expect((await visit.browser.get('/account')).text).toContain('Sound deleted.');
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
    expect(/data-confirm-lead="([^"]*)"/.exec(text)?.[1]).toContain('\u2068שלום 1\u2069');
    await db.update(roundSounds).set({ title: 'rude.mp3' });
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
    const admin = await signedIn(7);
    const first = await admin.get('/account/moderation/sounds');
    expect(first.text.match(/sound \d+\.<\/bdi>/g)).toHaveLength(50);
    expect(first.text).toContain('Sounds: 60');
    const next = /href="([^"]+before=\d+)"/.exec(first.text)?.[1] ?? '';
    const second = await admin.get(next);
    expect(second.text.match(/sound \d+\.<\/bdi>/g)).toHaveLength(10);
    expect(second.text).not.toContain('rel="next"');
    const pastTheLast = await admin.get('/account/moderation/sounds?before=1');
    expect(pastTheLast.text).toContain('No older sounds.');
    expect(pastTheLast.text).toContain('Sounds: 60');
  });

  test('is closed to players', async () => {
    await insertReadySound('mine.mp3');
    expect((await visit.browser.get('/account/moderation/sounds')).status).toBe(403);
    expect((await visit.browser.post(`/account/moderation/sounds/${PLAYER}/delete`)).status).toBe(403);
    expect(await listRoundSounds(db)).toHaveLength(1);
  });
});
