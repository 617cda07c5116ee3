import { expect, test } from 'bun:test';
import { eq } from 'drizzle-orm';
import { PAGE_TEXTS } from '../../../../api/web/locales/texts.ts';
import { apiTokens, users } from '../../../../src/db/schema/accounts.ts';
import { aSteamId, insertUser } from '../../../support/database/builders.ts';
import { aToken } from '../../../support/service/service.ts';
import { openMemberSite } from '../../../support/web/member-site.ts';

const { en } = PAGE_TEXTS;

const { db, signedIn: as } = await openMemberSite({ tokensFor: 'admins' });
const create = { name: 'website' };

test('TOKENS_FOR=admins: members are told, in place of the form, and refused', async () => {
  const member = await as(1);
  const card = await member.get('/account');
  expect(card.text).toContain(en.tokens.forAdmins);
  expect(card.text).not.toContain('action="/account/tokens"');
  const refused = await member.post('/account/tokens', create);
  expect([refused.status, refused.text]).toEqual([403, expect.stringContaining(en.errors.forbidden)]);
  expect(await db.select().from(apiTokens)).toBeEmpty();
});

test('TOKENS_FOR=admins: admins and owners create them, and the operator for anybody', async () => {
  await insertUser(db, 2, { isAdmin: true });
  await insertUser(db, 3, { isOwner: true });
  for (const number of [2, 3]) {
    expect((await (await as(number)).post('/account/tokens', create)).status).toBe(200);
  }
  const { id } = await aToken(db, 1, { now: new Date() });
  const member = await as(1);
  expect((await member.get('/account')).text).toContain(`/account/tokens/${id}/revoke`);
  expect((await member.post(`/account/tokens/${id}/revoke`)).status).toBe(303);
});

test('TOKENS_FOR=admins: the rule follows the flag at the next request', async () => {
  await insertUser(db, 4, { isAdmin: true });
  const former = await as(4);
  const isFormer = eq(users.steamId64, aSteamId(4));
  await db.update(users).set({ isAdmin: false }).where(isFormer);
  expect((await former.post('/account/tokens', create)).status).toBe(403);
});
