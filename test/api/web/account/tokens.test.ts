import { beforeEach, describe, expect, test } from 'bun:test';
import { eq } from 'drizzle-orm';
import { en } from '../../../../api/web/locales/en.ts';
import { inTransaction } from '../../../../src/db/client.ts';
import { apiTokens } from '../../../../src/db/schema/accounts.ts';
import { hashApiToken } from '../../../../src/domain/api-token.ts';
import {
  createApiToken,
  findLiveApiToken,
  revokeApiToken,
  saveApiTokenUses,
} from '../../../../src/queries/users/api-tokens.ts';
import { insertUser } from '../../../support/database/builders.ts';
import { aToken } from '../../../support/service/service.ts';
import type { Browser } from '../../../support/web/browser.ts';
import { noticesOf } from '../../../support/web/page-text.ts';
import { openUserSite } from '../../../support/web/user-site.ts';

const { db, site, startSite, signedIn, userOf } = await openUserSite();

let browser: Browser;
let userId: number;
beforeEach(async () => {
  browser = await signedIn();
  userId = (await userOf()).id;
});

const DAY_MS = 86_400_000;
const shown = (text: string) => /id="new-token"[^>]*>([^<]+)</.exec(text)?.[1] ?? '';
const makeToken = (name: string, expiresAt?: Date) =>
  inTransaction(db, (tx) =>
    createApiToken(tx, userId, { name, expiresAt: expiresAt ?? null, now: new Date(), actor: 'operator' }),
  );
const listRows = () => db.select().from(apiTokens).where(eq(apiTokens.userId, userId));

describe('creating a token', () => {
  test('shows it once, with a ready curl line, and keeps only its hash', async () => {
    const page = await browser.post('/account/tokens', { name: 'Stats website', expires: '30' });
    expect(page.status).toBe(200);
    const token = shown(page.text);
    expect(token).toMatch(/^[a-z]+_[0-9A-Za-z]{36}$/);
    expect(page.text).toContain(
      `curl -H &quot;Authorization: Bearer ${token}&quot; &quot;${site.origin}/api/v1/token&quot;`,
    );
    expect(page.headers.get('cache-control')).toBe('no-store');
    // A link to another language could not show the token again.
    expect(page.text).not.toMatch(/[?&]lang=/);
    expect(await findLiveApiToken(db, hashApiToken(token), new Date())).toMatchObject({
      userId,
      name: 'Stats website',
    });

    const list = await browser.get('/account');
    expect(list.text).not.toContain(token);
    expect(list.text).toContain('Stats website');
    expect(list.text).toContain(`<span>${token.slice(-4)}</span>`);
    expect(list.text).toContain('in 30 days');
    expect(JSON.stringify(await listRows())).not.toContain(token);
    expect(browser.setCookies.join()).not.toContain(token);
  });

  test('lasts as long as chosen, 90 days by default', async () => {
    const now = new Date();
    site.clock.now = now;
    const inDays = (days: number) => new Date(now.getTime() + days * DAY_MS);
    for (const [form, expiresAt] of [
      [{ expires: '7' }, inDays(7)],
      [{ expires: '365' }, inDays(365)],
      [{ expires: 'never' }, null],
      [{}, inDays(90)],
    ] as const) {
      const page = await browser.post('/account/tokens', { name: 'x', ...form });
      const token = await findLiveApiToken(db, hashApiToken(shown(page.text)), now);
      expect(token?.expiresAt ?? null).toEqual(expiresAt);
    }
  });

  test('a new token may read everything, unless fewer scopes are ticked', async () => {
    const scopesOf = async (form: Record<string, string>) => {
      const page = await browser.post('/account/tokens', { name: 'x', ...form });
      const token = await findLiveApiToken(db, hashApiToken(shown(page.text)), new Date());
      return token?.scopes;
    };
    const card = await browser.get('/account');
    const boxes = [...card.text.matchAll(/<input type="checkbox" name="(scope_\w+)" checked/g)];
    expect(boxes.map(([, name]) => name)).toEqual([
      'scope_servers',
      'scope_penalties',
      'scope_lookup',
      'scope_events',
    ]);
    expect(await scopesOf({})).toEqual(['servers', 'penalties', 'lookup', 'events']);
    expect(await scopesOf({ scopes_offered: '1', scope_lookup: 'on' })).toEqual(['lookup']);
    expect((await browser.get('/account')).text).toContain('<code>lookup</code>');

    const none = await browser.post('/account/tokens', { name: 'x', scopes_offered: '1' });
    expect([none.status, none.text]).toEqual([400, expect.stringContaining(en.errors['token-scopes'])]);
    expect(card.text).toContain('action="/account/tokens#tokens"');
    expect(await listRows()).toHaveLength(2);
  });

  test('a token without a valid name, or with an expiry that is not offered, is refused', async () => {
    for (const name of ['', '   ', 'x'.repeat(65), 'a\u0000b', '\u3164\u200b', '\u0301', undefined]) {
      const form = { ...(name !== undefined && { name }) };
      const page = await browser.post('/account/tokens', form);
      expect([form, page.status]).toEqual([form, 400]);
      expect(page.text).toContain(en.errors['token-name']);
    }
    // A browser sends no such expiry, so that its page only leads back to the form.
    const { status, text } = await browser.post('/account/tokens', { name: 'x', expires: '36500' });
    expect(status).toBe(400);
    expect(text).toContain(`<h1 id="error">${en.errors.titles.form}</h1>`);
    expect(text).toContain(`href="/account#tokens">${en.errors.toForm}<`);
    expect(await listRows()).toBeEmpty();
  });

  test('a refused form for a token is shown again with what was entered and the reason', async () => {
    const form = { name: 'Stats "1"', expires: '7', scopes_offered: '1' };
    const page = await browser.post('/account/tokens', form);
    expect(page.status).toBe(400);
    const shown = /<form[^>]*class="create create-token">.*?<\/form>/s.exec(page.text)?.[0] ?? '';
    expect(shown).toMatch(new RegExp(`role="alert">.*${en.errors['token-scopes']}`, 's'));
    expect(shown).toContain('value="Stats &quot;1&quot;"');
    expect(shown).toContain('<option value="7" selected="">');
    expect(shown).not.toContain('checked');
    expect(shown).not.toContain('autocomplete');
    const other = await browser.post('/account/tokens', {
      name: ' ',
      scopes_offered: '1',
      scope_lookup: 'on',
    });
    expect(other.text.match(/name="scope_\w+" checked/g)).toEqual(['name="scope_lookup" checked']);
  });

  test('refuses a form id that the page did not make', async () => {
    for (const formId of ['\u0000', 'x'.repeat(37), "' or 1=1", `${crypto.randomUUID()}\u0000`]) {
      const page = await browser.post('/account/tokens', { name: 'x', form_id: formId });
      expect([formId, page.status]).toEqual([formId, 400]);
      expect(page.text).toContain(en.errors['invalid-input']);
    }
    expect(await listRows()).toBeEmpty();
    expect(site.log.filter(({ level }) => level === 'error')).toEqual([]);
  });

  test('a refused form for a token makes the token once it is corrected', async () => {
    const first = await makeToken('Token 1');
    for (let count = 2; count <= 10; count++) await makeToken(`Token ${count}`);
    const form = { name: 'eleventh', form_id: crypto.randomUUID() };
    for (let attempt = 1; attempt <= 2; attempt++) {
      const refused = await browser.post('/account/tokens', form);
      expect(refused.status).toBe(409);
      expect(refused.text).toContain(en.errors['token-limit']);
    }
    await revokeApiToken(db, first.id, { now: new Date(), actor: 'operator' });
    expect((await browser.post('/account/tokens', form)).status).toBe(200);
    const again = await browser.follow(await browser.post('/account/tokens', form));
    expect(noticesOf(again.text)).toEqual([['tokens', en.notices['token-already-created']]]);
    expect(await listRows()).toHaveLength(11);
  });

  test('a form sent many times at once makes one token', async () => {
    const form = { name: 'once', form_id: crypto.randomUUID() };
    const pages = await Promise.all(Array.from({ length: 8 }, () => browser.post('/account/tokens', form)));
    expect(pages.map(({ status }) => status).sort()).toEqual([200, 303, 303, 303, 303, 303, 303, 303]);
    expect(await listRows()).toHaveLength(1);
  });

  test('stops at ten live tokens; revoked and expired ones make room', async () => {
    for (let count = 1; count <= 9; count++) await makeToken(`Token ${count}`);
    await makeToken('short', new Date(Date.now() + DAY_MS));
    expect((await browser.get('/account')).text).toContain(en.errors['token-limit']);
    const refused = await browser.post('/account/tokens', { name: 'eleventh' });
    expect(refused.status).toBe(409);
    expect(refused.text).toContain(en.errors['token-limit']);
    site.clock.now = new Date(Date.now() + 2 * DAY_MS);
    expect((await browser.post('/account/tokens', { name: 'eleventh' })).status).toBe(200);
  });
});

test('the list shows when a token was last used, and leaves out tokens that have expired', async () => {
  const { id } = await makeToken('Used');
  await makeToken('Fresh');
  await saveApiTokenUses(db, [id], new Date(Date.now() - 3 * 3_600_000));
  await makeToken('Short', new Date(Date.now() + DAY_MS));
  const page = await browser.get('/account');
  expect(page.text).toContain('3 hours ago');
  expect(page.text).toContain(`>${en.tokens.never}<`);
  site.clock.now = new Date(Date.now() + 2 * DAY_MS);
  expect((await browser.get('/account')).text).not.toContain('Short');
});

test('revoking a token asks first, and takes effect immediately', async () => {
  const { token, id } = await makeToken('Old');
  const question = await browser.get('/account');
  expect(question.text).toContain(en.tokens.revokeTitle);
  expect(question.text).toContain(`action="/account/tokens/${id}/revoke"`);
  expect(await findLiveApiToken(db, hashApiToken(token), new Date())).toBeDefined();

  const page = await browser.post(`/account/tokens/${id}/revoke`);
  expect([page.status, page.location]).toEqual([303, '/account#tokens']);
  const { text } = await browser.follow(page);
  expect(noticesOf(text)).toEqual([['tokens', en.notices['token-revoked']]]);
  expect(text).not.toContain('Old');
  expect(await findLiveApiToken(db, hashApiToken(token), new Date())).toBeUndefined();
});

test('revoking a token of somebody else, or of nobody, gives 404', async () => {
  const owner = await signedIn(700);
  await owner.post('/account/tokens', { name: 'Foreign' });
  const [foreign] = await db.select().from(apiTokens).where(eq(apiTokens.name, 'Foreign'));
  for (const id of [foreign?.id, 999_999, 'abc', '1e3', '-1', '99999999999', '%00']) {
    expect([id, (await browser.post(`/account/tokens/${id}/revoke`)).status]).toEqual([id, 404]);
  }
  const [after] = await db.select().from(apiTokens).where(eq(apiTokens.name, 'Foreign'));
  expect(after?.revokedAt).toBeNull();
});

describe('where TOKENS_FOR is "admins"', () => {
  const limited = startSite({ settings: { tokensFor: 'admins' } });
  const create = { name: 'website' };

  test('members are told that tokens are for admins, in place of the form, and refused', async () => {
    const member = await signedIn(501, { at: limited });
    const card = await member.get('/account');
    expect(card.text).toContain(en.tokens.forAdmins);
    expect(card.text).not.toContain('action="/account/tokens"');
    const refused = await member.post('/account/tokens', create);
    expect([refused.status, refused.text]).toEqual([403, expect.stringContaining(en.errors.forbidden)]);
    expect(await db.$count(apiTokens, eq(apiTokens.userId, (await userOf(501)).id))).toBe(0);
  });

  test('admins and owners create tokens, and the operator for anybody', async () => {
    await insertUser(db, 502, { isAdmin: true });
    await insertUser(db, 503, { isOwner: true });
    for (const number of [502, 503]) {
      const admin = await signedIn(number, { at: limited });
      expect((await admin.post('/account/tokens', create)).status).toBe(200);
    }
    const { id } = await aToken(db, 501, { now: new Date() });
    const member = await signedIn(501, { at: limited });
    expect((await member.get('/account')).text).toContain(`/account/tokens/${id}/revoke`);
    expect((await member.post(`/account/tokens/${id}/revoke`)).status).toBe(303);
  });
});
