import { beforeEach, describe, expect, test } from 'bun:test';
import { and, asc, eq, gt, ne, sql } from 'drizzle-orm';
import { PAGE_TEXTS } from '../../../api/web/locales/texts.ts';
import { auditLog, users } from '../../../src/db/schema/accounts.ts';
import { roundSounds } from '../../../src/db/schema/round-sounds.ts';
import type { AuditAction } from '../../../src/queries/audit-log.ts';
import { saveConfiguredFlags, saveUser } from '../../../src/queries/users/user-changes.ts';
import { anAudio, sine, toWav } from '../../support/audio/audio.ts';
import { aSteamId, insertReadySound, insertUser } from '../../support/database/builders.ts';
import { openEventStream } from '../../support/http/event-stream.ts';
import { aToken, bearer } from '../../support/service/service.ts';
import { openWholeService } from '../../support/service/whole-service.ts';
import { waitFor } from '../../support/wait.ts';
import { type Browser, openBrowser, signIn } from '../../support/web/browser.ts';

/** Changes that both the pages and the operator's tool can make; the API and the bot change nothing about people. */
const { db, service, steam, folder, signInAs, cli, succeed, expectRefusals } = await openWholeService();
const { notices, moderation } = PAGE_TEXTS.en;
const ADMIN = aSteamId(900);
const { id: adminId } = await insertUser(db, 900, { isAdmin: true });
const admin = await signInAs(900);
await admin.get('/account/moderation');

let number = 0;
let id = aSteamId(0);
beforeEach(() => {
  number += 1;
  id = aSteamId(number);
});

const tokenOf = async (number: number) => (await aToken(db, number, { now: new Date() })).token;
const bans = (token: string) => service.ask('/api/v1/bans', bearer(token));
const expectBans = (token: string, status: number) =>
  waitFor(async () => (await bans(token)).status === status);
const blockByPage = (reason = '') =>
  admin.post(`/account/moderation/users/${id}/block`, { ...(reason && { reason }) });

/** The audit entries that a change leaves: action, subject, details and who did it. */
async function entriesOf(deed: () => Promise<unknown>) {
  const [newest] = await db.select({ id: sql<number>`coalesce(max(id), 0)::int` }).from(auditLog);
  await deed();
  const { action, subject, details, actorUserId: by, actor } = auditLog;
  return db
    .select({ action, subject, details, by, actor })
    .from(auditLog)
    .where(and(gt(auditLog.id, newest?.id ?? 0), ne(auditLog.action, 'user.signed-in')))
    .orderBy(asc(auditLog.id));
}
const anEntry = (action: AuditAction, by: number | null, details: Record<string, unknown> = {}) => ({
  action,
  subject: id,
  details,
  by,
  actor: null,
});

describe('a blocked user', () => {
  test('blocking invalidates tokens and ends streams and sessions at once', async () => {
    const token = await tokenOf(number);
    const browser = await signInAs(number);
    const stream = await openEventStream(`${service.origin}/api/v1/events`, bearer(token).headers);
    expect([(await bans(token)).status, stream.status]).toEqual([200, 200]);

    const reason = 'Scraping the API';
    expect(await entriesOf(() => blockByPage(reason))).toEqual([
      anEntry('user.blocked', adminId, { reason }),
    ]);
    await expectBans(token, 401);
    expect((await bans(token)).body).toEqual({ success: false, message: 'The API token is invalid' });
    await stream.closed;
    const page = await browser.get('/account');
    expect([page.status, page.text]).toEqual([403, expect.stringContaining(`Reason: ${reason}`)]);
    expect(page.text).not.toContain(id);
    expect((await browser.post('/account/tokens', { name: 'x' })).status).toBe(403);
  });

  test('a blocked user can neither sign in nor upload, and is told why in their language', async () => {
    const browser = await signInAs(number, { language: 'pl' });
    await browser.get('/account');
    await blockByPage('Krzyk w dźwięku');
    const wav = `${folder}/fanfare.wav`;
    await Bun.write(wav, toWav(anAudio({ seconds: 1, shape: sine(440, 0.2) }), 's16'));
    const form = new FormData();
    form.append('file', Bun.file(wav));
    const refused = await entriesOf(async () => {
      const sent = await browser.post('/account/roundsound', form, { accept: 'application/json' });
      expect([sent.status, sent.text]).toEqual([403, expect.stringContaining('Powód: Krzyk w dźwięku')]);
      steam.steamId = id;
      const again = await signIn(openBrowser(service.origin));
      expect([again.status, again.text]).toEqual([403, expect.stringContaining('Reason: Krzyk w dźwięku')]);
      const reason = 'This user is blocked: Krzyk w dźwięku';
      await expectRefusals({ [`sounds add --steamid64 ${id} ${wav}`]: reason });
      expect((await cli(`tokens create --steamid64 ${id} --name x`)).code).toBe(1);
    });
    expect(refused).toEqual([]);
    expect(await db.select().from(roundSounds).where(eq(roundSounds.steamId64, id))).toBeEmpty();
  });

  test('a blocked user keeps their sound, and once unblocked their tokens, but no session', async () => {
    await insertReadySound(db, id, 'anthem.mp3');
    const token = await tokenOf(number);
    const browser = await signInAs(number);
    const blocked = await entriesOf(async () => {
      expect(await succeed(`users block ${id}`)).toBe(`Blocked ${id}\n`);
    });
    expect(blocked).toEqual([anEntry('user.blocked', null, { reason: '' })]);
    await expectBans(token, 401);
    const sound = async () => (await service.ask(`/api/v1/players/${id}/roundsound`)).text;
    await waitFor(async () => (await sound()).includes('anthem.mp3'));
    const unblocked = await entriesOf(async () => {
      expect(await succeed(`users unblock ${id}`)).toBe(`Unblocked ${id}\n`);
    });
    expect(unblocked).toEqual([anEntry('user.unblocked', null)]);
    await expectBans(token, 200);
    expect((await browser.get('/account')).text).not.toContain(id);
    expect((await (await signInAs(number)).get('/account')).text).toContain(id);
  });

  test('a block is shown to admins with its reason, and the way back', async () => {
    await insertUser(db, number, { nickname: 'Rzeźnik' });
    await admin.follow(await blockByPage('<b>spam</b>'));
    const path = `/account/moderation/users/${id}`;
    const page = await admin.get(path);
    expect(page.text).toContain('Blocked since');
    expect(page.text).toContain('&lt;b&gt;spam&lt;/b&gt;');
    expect((await admin.get(`/account/moderation?q=${id}`)).text).toContain('>Blocked<');
    expect(await entriesOf(() => admin.post(`${path}/unblock`))).toEqual([
      anEntry('user.unblocked', adminId),
    ]);
    const [user] = await db.select().from(users).where(eq(users.steamId64, id));
    expect(user).toMatchObject({ blockedAt: null, blockReason: '' });
  });

  test('a block ends for a user who becomes an owner, by hand or by the configuration', async () => {
    for (const promote of [
      () => saveUser(db, id, { changes: { isOwner: true }, actor: 'operator' }),
      () => saveConfiguredFlags(db, { ownerSteamIds: [id], moderatorSteamIds: [] }, new Date()),
    ]) {
      number += 100;
      id = aSteamId(number);
      await insertUser(db, number, { blockedAt: new Date(), blockReason: 'x' });
      await promote();
      const [user] = await db.select().from(users).where(eq(users.steamId64, id));
      expect(user).toMatchObject({ isOwner: true, blockedAt: null });
    }
  });
});

describe('a hidden Discord account', () => {
  const DISCORD_ID = '80351110224678912';
  const SHOWN = { discord_id: DISCORD_ID, discord_username: 'rzeznik.pl', discord_avatar: 'abc' };
  const BLANK = { discord_id: '', discord_username: '', discord_avatar: '' };
  const OPEN = { byDiscord: 200, inBatch: [true, true], one: SHOWN, many: [SHOWN] };
  const HIDDEN = { byDiscord: 404, inBatch: [false, true], one: BLANK, many: [BLANK] };
  let tokens = { own: '', admin: '', owner: '', other: '' };
  let userId = 0;

  beforeEach(async () => {
    await db.delete(users).where(ne(users.steamId64, ADMIN));
    const link = { discordId: DISCORD_ID, discordUsername: 'rzeznik.pl', discordAvatar: 'abc' };
    userId = (await insertUser(db, number, link)).id;
    await insertUser(db, 702, { isAdmin: true });
    await insertUser(db, 703, { isOwner: true });
    await insertUser(db, 704, { discordId: '4' });
    tokens = {
      own: await tokenOf(number),
      admin: await tokenOf(702),
      owner: await tokenOf(703),
      other: await tokenOf(704),
    };
  });

  /** What a token gets by every lookup: by Discord id and by SteamID, single and in a batch. */
  async function see(token: string) {
    const ask = (path: string) => service.get(path, bearer(token));
    const one = (await ask(`/users/lookup?steamid64=${id}`)).body as { user: typeof SHOWN };
    const many = await usersOf(ask(`/users/lookup/batch?steamids=${id}`));
    const inBatch = await usersOf(ask(`/users/lookup/batch?discord_ids=${DISCORD_ID},4`));
    return {
      byDiscord: (await ask(`/users/lookup?discord_id=${DISCORD_ID}`)).status,
      inBatch: inBatch.map((user) => user !== null),
      one: pick(one.user),
      many: many.map((user) => user && pick(user)),
    };
  }
  const usersOf = async (response: ReturnType<typeof service.get>) =>
    ((await response).body as { data: { user: typeof SHOWN | null }[] }).data.map(({ user }) => user);
  const pick = ({ discord_id, discord_username, discord_avatar }: typeof SHOWN) => ({
    ...{ discord_id, discord_username, discord_avatar },
  });

  test('a link hidden on the account page is hidden from tokens of members, not from admins and its owner', async () => {
    expect(await see(tokens.other)).toEqual(OPEN);
    const browser = await signInAs(number);
    expect((await browser.get('/account')).text).toContain('Hide the link');
    const setHidden = (hidden: string) => browser.post('/account/discord/visibility', { hidden });
    const hidden = await entriesOf(async () => {
      const page = await browser.follow(await setHidden('yes'));
      expect(page.text).toContain(notices['discord-hidden']);
      expect(page.text).toContain('Show the link');
    });
    expect(hidden).toEqual([anEntry('discord.hidden', userId)]);

    expect(await see(tokens.other)).toEqual(HIDDEN);
    for (const token of [tokens.own, tokens.admin, tokens.owner]) expect(await see(token)).toEqual(OPEN);
    const absent = await service.get(`/users/lookup?discord_id=${DISCORD_ID}`, bearer(tokens.other));
    expect(absent.body).toEqual({ success: false, message: 'User not found' });

    expect(await entriesOf(() => setHidden('no'))).toEqual([anEntry('discord.shown', userId)]);
    expect(await see(tokens.other)).toEqual(OPEN);
    expect((await setHidden('maybe')).status).toBe(400);
  });

  test('the operator hides and shows a Discord link', async () => {
    const set = (options: string) => entriesOf(() => succeed(`users set --steamid64 ${id} ${options}`));
    expect(await set('--hide-discord')).toEqual([anEntry('user.changed', null, { hidesDiscord: true })]);
    expect(await see(tokens.other)).toEqual(HIDDEN);
    await set('--nickname R');
    expect(await see(tokens.other)).toEqual(HIDDEN);
    expect(await set('--no-hide-discord')).toEqual([anEntry('user.changed', null, { hidesDiscord: false })]);
    expect(await see(tokens.other)).toEqual(OPEN);
  });

  test('a hidden link is hidden from a token whose owner is no longer an admin', async () => {
    await db.update(users).set({ hidesDiscord: true }).where(eq(users.steamId64, id));
    expect(await see(tokens.admin)).toEqual(OPEN);
    await saveUser(db, aSteamId(702), { changes: { isAdmin: false }, actor: 'operator' });
    const byDiscord = () =>
      service.ask(`/api/v1/users/lookup?discord_id=${DISCORD_ID}`, bearer(tokens.admin));
    await waitFor(async () => (await byDiscord()).status === 404);
    expect(await see(tokens.admin)).toEqual(HIDDEN);
  });
});

describe('the audit log of pages and the tool', () => {
  let member: Browser;
  beforeEach(async () => {
    member = await signInAs(number);
    await member.get('/account');
  });

  test('the audit log keeps who gave a token its scopes, and who revoked it', async () => {
    const [user] = await db.select().from(users).where(eq(users.steamId64, id));
    const form = { name: 'website', expires: 'never', scopes_offered: '1', scope_servers: 'on' };
    const options = `--steamid64 ${id} --name website --scopes lookup,events`;
    for (const { by, scopes, create, revoke } of [
      {
        by: user?.id ?? 0,
        scopes: ['servers'],
        create: () => member.post('/account/tokens', form),
        revoke: (tokenId: unknown) => member.post(`/account/tokens/${tokenId}/revoke`),
      },
      {
        by: null,
        scopes: ['lookup', 'events'],
        create: () => succeed(`tokens create ${options}`),
        revoke: (tokenId: unknown) => succeed(`tokens revoke ${tokenId}`),
      },
    ]) {
      const created = await entriesOf(create);
      const token = { tokenId: created[0]?.details.tokenId, name: 'website' };
      expect(created).toEqual([anEntry('token.created', by, { ...token, scopes, expiresAt: null })]);
      expect(await entriesOf(() => revoke(token.tokenId))).toEqual([anEntry('token.revoked', by, token)]);
    }
  });

  test('only admins block, and neither owners nor themselves; the audit log keeps nothing of what is refused', async () => {
    const owner = aSteamId(600);
    await insertUser(db, 600, { isOwner: true });
    const path = `/account/moderation/users/${owner}`;
    expect((await admin.get(path)).text).toContain(moderation.block.owner);
    const refused = await entriesOf(async () => {
      for (const [browser, whom] of [
        [member, ADMIN],
        [admin, owner],
        [admin, ADMIN],
      ] as const) {
        expect((await browser.post(`/account/moderation/users/${whom}/block`)).status).toBe(403);
      }
      const token = { name: 'x', scopes_offered: '1', scope_all: 'on' };
      expect((await member.post('/account/tokens', token)).status).toBe(400);
      await expectRefusals({ [`users block ${owner}`]: 'Owners cannot be blocked' });
      for (const command of [
        `users block ${aSteamId(9999)}`,
        'users block nobody',
        `users export ${aSteamId(9999)}`,
        `users erase ${aSteamId(9999)} --yes`,
        `tokens create --steamid64 ${id} --name x --scopes all`,
        'tokens revoke 999999',
      ]) {
        expect([command, (await cli(command)).code]).toEqual([command, 1]);
      }
    });
    expect(refused).toEqual([]);
  });
});
