import { beforeEach, describe, expect, test } from 'bun:test';
import { desc, eq } from 'drizzle-orm';
import { PAGE_TEXTS } from '../../../api/web/locales/texts.ts';
import { auditLog, users } from '../../../src/db/schema/accounts.ts';
import { roundSounds } from '../../../src/db/schema/round-sounds.ts';
import { saveConfiguredFlags, saveUser } from '../../../src/queries/users/user-changes.ts';
import { unblockUser } from '../../../src/queries/users/users.ts';
import { anAudio, sine, toWav } from '../../support/audio/audio.ts';
import { aSteamId, insertReadySound, insertUser } from '../../support/database/builders.ts';
import { openEventStream } from '../../support/http/event-stream.ts';
import { aToken, bearer } from '../../support/service/service.ts';
import { openWholeService } from '../../support/service/whole-service.ts';
import { waitFor } from '../../support/wait.ts';
import { openBrowser, signIn } from '../../support/web/browser.ts';

const { db, service, steam, folder, signInAs, cli } = await openWholeService();
const wav = `${folder.path}/fanfare.wav`;
await Bun.write(wav, toWav(anAudio({ seconds: 1, shape: sine(440, 0.2) }), 's16'));

let number = 0;
let id = aSteamId(0);
beforeEach(() => {
  number += 1;
  id = aSteamId(number);
});

await insertUser(db, 800, { isAdmin: true });
const admin = await signInAs(800);
const blockByPage = (reason = '') =>
  admin.post(`/account/moderation/users/${id}/block`, { ...(reason && { reason }) });
const bans = (token: string) => service.ask('/api/v1/bans', bearer(token));
const expectBans = (token: string, status: number) =>
  waitFor(async () => (await bans(token)).status === status);
const lastEntry = async () =>
  (await db.select().from(auditLog).where(eq(auditLog.subject, id)).orderBy(desc(auditLog.id)).limit(1))[0];

describe('a blocked user', () => {
  test('blocking invalidates tokens and ends streams and sessions at once', async () => {
    const { token } = await aToken(db, number, { now: new Date() });
    const browser = await signInAs(number);
    await admin.get('/account/moderation');
    const stream = await openEventStream(`${service.origin}/api/v1/events`, bearer(token).headers);
    expect([(await bans(token)).status, stream.status]).toEqual([200, 200]);

    expect((await blockByPage('Scraping the API')).status).toBe(303);
    await expectBans(token, 401);
    expect((await bans(token)).body).toEqual({ success: false, message: 'The API token is invalid' });
    await stream.closed;
    const page = await browser.get('/account');
    expect([page.status, page.text]).toEqual([403, expect.stringContaining('Reason: Scraping the API')]);
    expect(page.text).not.toContain(id);
    expect((await browser.post('/account/tokens', { name: 'x' })).status).toBe(403);
    expect(await lastEntry()).toMatchObject({
      action: 'user.blocked',
      details: { reason: 'Scraping the API' },
      actorUserId: expect.any(Number),
    });
  });

  test('a blocked user can neither sign in nor upload, and is told why in their language', async () => {
    const browser = await signInAs(number, { language: 'pl' });
    await browser.get('/account');
    await admin.get('/account/moderation');
    await blockByPage('Krzyk w dźwięku');
    const form = new FormData();
    form.append('file', Bun.file(wav));
    const sent = await browser.post('/account/roundsound', form, { accept: 'application/json' });
    expect([sent.status, sent.text]).toEqual([403, expect.stringContaining('Powód: Krzyk w dźwięku')]);
    steam.steamId = id;
    const again = await signIn(openBrowser(service.origin));
    expect([again.status, again.text]).toEqual([403, expect.stringContaining('Reason: Krzyk w dźwięku')]);
    expect((await lastEntry())?.action).toBe('user.blocked');
    expect(await cli('sounds', 'add', '--steamid64', id, wav)).toEqual({
      code: 1,
      stdout: '',
      stderr: 'This user is blocked: Krzyk w dźwięku\n',
    });
    expect(await cli('tokens', 'create', '--steamid64', id, '--name', 'x')).toMatchObject({
      code: 1,
      stdout: '',
    });
    expect(await db.select().from(roundSounds).where(eq(roundSounds.steamId64, id))).toBeEmpty();
  });

  test('keeps their sound, and once unblocked their tokens, but no session', async () => {
    await insertReadySound(db, id, 'anthem.mp3');
    const { token } = await aToken(db, number, { now: new Date() });
    const browser = await signInAs(number);
    expect(await cli('users', 'block', id)).toEqual({ code: 0, stdout: `Blocked ${id}\n`, stderr: '' });
    await expectBans(token, 401);
    const sound = async () => (await service.ask(`/api/v1/players/${id}/roundsound`)).body;
    await waitFor(async () => JSON.stringify(await sound()).includes('anthem.mp3'));
    expect(await cli('users', 'unblock', id)).toEqual({ code: 0, stdout: `Unblocked ${id}\n`, stderr: '' });
    await expectBans(token, 200);
    expect((await browser.get('/account')).text).not.toContain(id);
    expect((await (await signInAs(number)).get('/account')).text).toContain(id);
    expect(await lastEntry()).toMatchObject({ action: 'user.signed-in' });
  });
});

describe('blocking', () => {
  test('only admins block, and neither owners nor themselves', async () => {
    await insertUser(db, number, { isOwner: true });
    await admin.get('/account/moderation');
    expect((await admin.get(`/account/moderation/users/${id}`)).text).toContain(
      PAGE_TEXTS.en.moderation.block.owner,
    );
    expect((await blockByPage()).status).toBe(403);
    expect(await cli('users', 'block', id)).toEqual({
      code: 1,
      stdout: '',
      stderr: 'Owners cannot be blocked\n',
    });
    const own = await admin.post(`/account/moderation/users/${aSteamId(800)}/block`);
    expect(own.status).toBe(403);
    const member = await signInAs(700);
    await member.get('/account');
    expect((await member.post(`/account/moderation/users/${id}/block`)).status).toBe(403);
    expect(await cli('users', 'block', aSteamId(999))).toMatchObject({ code: 1 });
    expect(await cli('users', 'block', 'nobody')).toMatchObject({ code: 1 });
  });

  test('shows since when and why to admins, with the way back', async () => {
    await insertUser(db, number, { nickname: 'Rzeźnik' });
    await admin.get('/account/moderation');
    await admin.follow(await blockByPage('<b>spam</b>'));
    const page = await admin.get(`/account/moderation/users/${id}`);
    expect(page.text).toContain('Blocked since');
    expect(page.text).toContain('&lt;b&gt;spam&lt;/b&gt;');
    expect((await admin.get(`/account/moderation?q=${id}`)).text).toContain('>Blocked<');
    expect((await admin.post(`/account/moderation/users/${id}/unblock`)).status).toBe(303);
    const [user] = await db.select().from(users).where(eq(users.steamId64, id));
    expect(user).toMatchObject({ blockedAt: null, blockReason: '' });
    expect((await lastEntry())?.action).toBe('user.unblocked');
    await unblockUser(db, id, { actor: 'operator' });
    expect(await blockByPage('x'.repeat(201))).toMatchObject({ status: 400 });
  });

  test('ends for a user who becomes an owner, by hand or by the configuration', async () => {
    for (const promote of [
      () => saveUser(db, id, { changes: { isOwner: true }, actor: 'operator' }),
      () => saveConfiguredFlags(db, { ownerSteamIds: [id], moderatorSteamIds: [] }, new Date()),
    ]) {
      number += 100;
      id = aSteamId(number);
      await insertUser(db, number);
      await cli('users', 'block', id, '--reason', 'x');
      await promote();
      const [user] = await db.select().from(users).where(eq(users.steamId64, id));
      expect(user).toMatchObject({ isOwner: true, blockedAt: null });
    }
  });
});
