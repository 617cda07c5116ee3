import { expect, test } from 'bun:test';
import { eq } from 'drizzle-orm';
import { apiTokens, users } from '../../../../src/db/schema/accounts.ts';
import { webhooks } from '../../../../src/db/schema/webhooks.ts';
import { erasePerson } from '../../../../src/queries/personal-data/erasure.ts';
import { deleteSessionsOf } from '../../../../src/queries/users/sessions.ts';
import { blockUser } from '../../../../src/queries/users/users.ts';
import { aSteamId, insertUser } from '../../../support/database/builders.ts';
import type { Browser } from '../../../support/web/browser.ts';
import { openModeration } from '../../../support/web/moderation.ts';

let identified = Promise.withResolvers<void>();
const take = () => {
  identified.resolve();
  return { isAllowed: true, resetSeconds: 60 };
};
const { db, site, as, userOf } = await openModeration({ limits: { forms: { take } } });

/** Sends a form whose end arrives only after something has changed. */
async function postSlowly(
  browser: Browser,
  path: string,
  { form, meanwhile }: { form: Record<string, string>; meanwhile: () => Promise<unknown> },
) {
  const token = (await browser.get('/account')).field('csrf_token') ?? '';
  const text = String(new URLSearchParams({ csrf_token: token, ...form }));
  const rest = Promise.withResolvers<string>();
  identified = Promise.withResolvers();
  const body = async function* () {
    yield Buffer.from(text.slice(0, 10));
    yield Buffer.from(await rest.promise);
  };
  const response = fetch(`${site.origin}${path}`, {
    method: 'POST',
    body: body(),
    redirect: 'manual',
    headers: {
      cookie: `session=${browser.cookies.get('session')}`,
      'content-type': 'application/x-www-form-urlencoded',
    },
  });
  await identified.promise;
  await meanwhile();
  rest.resolve(text.slice(10));
  return response;
}

const setFlags = (number: number, flags: Partial<typeof users.$inferInsert>) =>
  db
    .update(users)
    .set(flags)
    .where(eq(users.steamId64, aSteamId(number)));

test('a form counts by the rights that its sender has once it has arrived', async () => {
  await insertUser(db, 50, { isOwner: true, isAdmin: true });
  const owner = await as(50);
  const demoted = await postSlowly(owner, `/account/moderation/users/${aSteamId(50)}/flags`, {
    form: { isAdmin: 'on', isOwner: 'on', shown_flags: '' },
    meanwhile: () => setFlags(50, { isOwner: false, isAdmin: false }),
  });
  expect(demoted.status).toBe(403);
  expect(await userOf(50)).toMatchObject({ isOwner: false, isAdmin: false });

  await insertUser(db, 51, { isAdmin: true });
  const admin = await as(51);
  const webhook = await postSlowly(admin, '/account/moderation/webhooks', {
    form: { url: 'https://example.org/hook', 'penalty.created': 'on', form_id: crypto.randomUUID() },
    meanwhile: () => setFlags(51, { isAdmin: false }),
  });
  expect(webhook.status).toBe(403);
  expect(await db.select().from(webhooks)).toEqual([]);
});

test('a form of somebody who was blocked while it arrived does nothing', async () => {
  await insertUser(db, 52, { isAdmin: true });
  const blocked = await postSlowly(await as(52), `/account/moderation/users/${aSteamId(2)}/block`, {
    form: { reason: 'revenge' },
    meanwhile: () => blockUser(db, aSteamId(52), { reason: 'abuse', now: new Date(), actor: 'operator' }),
  });
  expect(blocked.status).toBe(403);
  expect(await blocked.text()).toContain('abuse');
  expect((await userOf(2)).blockedAt).toBeNull();
});

test('a form of a session that ended while it arrived does nothing', async () => {
  await insertUser(db, 53);
  const page = await postSlowly(await as(53), '/account/tokens', {
    form: { name: 'kept', expires: 'never', form_id: crypto.randomUUID() },
    meanwhile: async () => deleteSessionsOf(db, await userOf(53)),
  });
  expect(page.status).toBe(401);
  expect(await db.select().from(apiTokens)).toEqual([]);
});

test('a form of an account that was erased while it arrived does nothing', async () => {
  await insertUser(db, 54, { isAdmin: true });
  const page = await postSlowly(await as(54), `/account/moderation/users/${aSteamId(2)}/block`, {
    form: { reason: 'x' },
    meanwhile: () =>
      erasePerson(db, aSteamId(54), {
        withPenalties: false,
        actor: 'operator',
        removeSounds: async () => {},
      }),
  });
  expect(page.status).toBe(401);
  expect((await userOf(2)).blockedAt).toBeNull();
});
