import { beforeEach, describe, expect, test } from 'bun:test';
import { and, asc, eq, gt, ne, sql } from 'drizzle-orm';
import { apiTokens, auditLog, users } from '../../../src/db/schema/accounts.ts';
import { aSteamId, insertReadySound, insertUser } from '../../support/database/builders.ts';
import { openWholeService } from '../../support/service/whole-service.ts';
import type { Browser } from '../../support/web/browser.ts';

/** Changes that both the pages and the operator's tool can make; the API and the bot change nothing about people. */
const { db, signInAs, cli } = await openWholeService();
await insertUser(db, 900, { isAdmin: true });
const admin = await signInAs(900);

let number = 0;
let id = aSteamId(0);
let userId = 0;
let member: Browser;
beforeEach(async () => {
  number += 1;
  id = aSteamId(number);
  member = await signInAs(number);
  await member.get('/account');
  await admin.get('/account/moderation');
  userId = await userIdOf(id);
});

async function userIdOf(steamId64: string): Promise<number> {
  const [user] = await db.select({ id: users.id }).from(users).where(sql`steamid64 = ${steamId64}`);
  if (!user) throw new Error('there is no such user');
  return user.id;
}

/** The audit entries that a change leaves: action, subject, details and who did it. */
async function entriesOf(deed: () => Promise<unknown>) {
  const [newest] = await db.select({ id: sql<number>`coalesce(max(id), 0)::int` }).from(auditLog);
  await deed();
  return db
    .select({
      action: auditLog.action,
      subject: auditLog.subject,
      details: auditLog.details,
      by: auditLog.actorUserId,
      as: auditLog.actor,
    })
    .from(auditLog)
    .where(and(gt(auditLog.id, newest?.id ?? 0), ne(auditLog.action, 'user.signed-in')))
    .orderBy(asc(auditLog.id));
}
const run = async (...args: string[]) => expect(await cli(...args)).toMatchObject({ code: 0, stderr: '' });
const send = async (browser: Browser, path: string, form: Record<string, string> = {}) =>
  expect([path, [200, 303].includes((await browser.post(path, form)).status)]).toEqual([path, true]);
const operator = { by: null, as: null };
const newestToken = async () => {
  const [token] = await db.select().from(apiTokens).where(eq(apiTokens.userId, userId)).orderBy(sql`id desc`);
  return token?.id ?? 0;
};

describe('changes by the page and by the tool', () => {
  test('the audit log keeps who gave a token its scopes, and who revoked it', async () => {
    const form = { name: 'website', expires: 'never', scopes_offered: '1', scope_servers: 'on' };
    const byPage = await entriesOf(() => send(member, '/account/tokens', form));
    const first = await newestToken();
    const details = { name: 'website', expiresAt: null };
    const asMember = { subject: id, by: userId, as: null };
    expect(byPage).toEqual([
      { action: 'token.created', ...asMember, details: { ...details, tokenId: first, scopes: ['servers'] } },
    ]);
    const revoked = await entriesOf(() => send(member, `/account/tokens/${first}/revoke`));
    expect(revoked).toEqual([
      { action: 'token.revoked', ...asMember, details: { tokenId: first, name: 'website' } },
    ]);

    const byTool = await entriesOf(() =>
      run('tokens', 'create', '--steamid64', id, '--name', 'website', '--scopes', 'lookup,events'),
    );
    const second = await newestToken();
    expect(byTool).toEqual([
      {
        action: 'token.created',
        subject: id,
        ...operator,
        details: { ...details, tokenId: second, scopes: ['lookup', 'events'] },
      },
    ]);
    const revokedByTool = await entriesOf(() => run('tokens', 'revoke', String(second)));
    expect(revokedByTool).toEqual([
      { action: 'token.revoked', subject: id, ...operator, details: { tokenId: second, name: 'website' } },
    ]);
  });

  test('the audit log keeps who blocked and unblocked somebody', async () => {
    const adminId = await userIdOf(aSteamId(900));
    const path = `/account/moderation/users/${id}`;
    const byAdmin = { subject: id, by: adminId, as: null };
    expect(
      await entriesOf(async () => {
        await send(admin, `${path}/block`, { reason: 'scraping' });
        await send(admin, `${path}/unblock`);
      }),
    ).toEqual([
      { action: 'user.blocked', ...byAdmin, details: { reason: 'scraping' } },
      { action: 'user.unblocked', ...byAdmin, details: {} },
    ]);
    expect(
      await entriesOf(async () => {
        await run('users', 'block', id, '--reason', 'scraping');
        await run('users', 'unblock', id);
      }),
    ).toEqual([
      { action: 'user.blocked', subject: id, ...operator, details: { reason: 'scraping' } },
      { action: 'user.unblocked', subject: id, ...operator, details: {} },
    ]);
  });

  test('the audit log keeps who hid and showed a Discord account', async () => {
    await db
      .update(users)
      .set({ discordId: `80351110224${670_000 + number}` })
      .where(eq(users.id, userId));
    const asMember = { subject: id, by: userId, as: null };
    expect(
      await entriesOf(async () => {
        await send(member, '/account/discord/visibility', { hidden: 'yes' });
        await send(member, '/account/discord/visibility', { hidden: 'no' });
      }),
    ).toEqual([
      { action: 'discord.hidden', ...asMember, details: {} },
      { action: 'discord.shown', ...asMember, details: {} },
    ]);
    expect(
      await entriesOf(async () => {
        await run('users', 'set', '--steamid64', id, '--hide-discord');
        await run('users', 'set', '--steamid64', id, '--no-hide-discord');
      }),
    ).toEqual([
      { action: 'user.changed', subject: id, ...operator, details: { hidesDiscord: true } },
      { action: 'user.changed', subject: id, ...operator, details: { hidesDiscord: false } },
    ]);
  });

  test('the audit log keeps who exported and erased somebody', async () => {
    const exported = { action: 'user.exported', subject: id, details: {} };
    expect(await entriesOf(() => member.get('/account/data'))).toEqual([
      { ...exported, by: userId, as: null },
    ]);
    expect(await entriesOf(() => cli('users', 'export', id))).toEqual([{ ...exported, ...operator }]);

    await insertReadySound(db, id);
    const erased = { subject: 'erased', details: {} };
    expect(await entriesOf(() => send(member, '/account/delete'))).toEqual([
      { action: 'sound.removed', ...erased, by: null, as: 'member' },
      { action: 'user.deleted', ...erased, details: { penalties: 0 }, by: null, as: 'member' },
    ]);
    await insertUser(db, number);
    expect(await entriesOf(() => run('users', 'erase', id, '--yes'))).toEqual([
      { action: 'user.erased', ...erased, details: { penalties: 0 }, ...operator },
    ]);
  });
});

test('the audit log keeps nothing of what a rule refused', async () => {
  await insertUser(db, 700 + number, { isOwner: true });
  const owner = aSteamId(700 + number);
  const refused = await entriesOf(async () => {
    expect(
      (await member.post('/account/tokens', { name: 'x', scopes_offered: '1', scope_all: 'on' })).status,
    ).toBe(400);
    expect((await member.post(`/account/moderation/users/${owner}/block`)).status).toBe(403);
    expect((await admin.post(`/account/moderation/users/${owner}/block`)).status).toBe(403);
    expect((await cli('users', 'block', owner)).code).toBe(1);
    expect((await cli('users', 'export', aSteamId(9999))).code).toBe(1);
    expect((await cli('users', 'erase', aSteamId(9999), '--yes')).code).toBe(1);
    const scopes = ['tokens', 'create', '--steamid64', id, '--name', 'x', '--scopes', 'all'];
    expect((await cli(...scopes)).code).toBe(1);
    expect((await cli('tokens', 'revoke', '999999')).code).toBe(1);
  });
  expect(refused).toEqual([]);
});
