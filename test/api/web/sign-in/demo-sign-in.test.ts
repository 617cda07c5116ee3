import { afterAll, describe, expect, test } from 'bun:test';
import { PAGE_TEXTS } from '../../../../api/web/locales/texts.ts';
import { aSteamId, insertUser } from '../../../support/database/builders.ts';
import { createTestDatabase } from '../../../support/database/database.ts';
import { startSteamOpenIdProvider } from '../../../support/providers/steam-openid-provider.ts';
import { startAccountSite } from '../../../support/web/account.ts';
import { openBrowser } from '../../../support/web/browser.ts';
import { textOf } from '../../../support/web/page-text.ts';

const { en } = PAGE_TEXTS;

const { db } = await createTestDatabase();
const steam = startSteamOpenIdProvider();
const demoPeople = { owner: aSteamId(1), admin: aSteamId(2), moderator: aSteamId(4), member: aSteamId(3) };
const demo = startAccountSite({ db, steam, demoPeople });
const service = startAccountSite({ db, steam });
afterAll(async () => {
  await demo.stop();
  await service.stop();
  await steam.stop();
});
await insertUser(db, 1, { nickname: 'Olga', isOwner: true, isAdmin: true });
await insertUser(db, 2, { nickname: 'Adam', isAdmin: true });
await insertUser(db, 4, { nickname: 'Mira', isModerator: true });
await insertUser(db, 3, { nickname: 'Maja' });

const PATH = '/account/demo-sign-in';
const BUTTONS = `${en.signIn.demo.as.owner} ${en.signIn.demo.as.admin} ${en.signIn.demo.as.moderator} ${en.signIn.demo.as.member}`;

describe('the demo', () => {
  test('offers to sign in as owner, admin, moderator and member on / and /account', async () => {
    for (const path of ['/', '/account']) {
      expect([path, textOf((await openBrowser(demo.origin).get(path)).text)]).toEqual([
        path,
        expect.stringContaining(BUTTONS) as unknown as string,
      ]);
    }
  });

  test.each([
    ['owner', 'Olga', 200, 200],
    ['admin', 'Adam', 200, 200],
    ['moderator', 'Mira', 303, 200],
    ['member', 'Maja', 403, 403],
  ])('signs in as %s', async (role, name, moderation, penalties) => {
    const browser = openBrowser(demo.origin);
    const signedIn = await browser.post(PATH, { as: role });
    expect([signedIn.status, signedIn.location]).toEqual([303, '/account']);
    const { text } = await browser.follow(signedIn);
    expect(text).toContain(name);
    expect(text).not.toContain(PATH);
    expect((await browser.get('/account/moderation')).status).toBe(moderation);
    expect((await browser.get('/account/moderation/penalties')).status).toBe(penalties);
  });

  test.each([
    ['owner', 200, 200],
    ['admin', 200, 200],
    ['moderator', 303, 200],
    ['member', 403, 403],
  ])('signs in as %s again after they deleted their account', async (role, moderation, penalties) => {
    const browser = openBrowser(demo.origin);
    await browser.follow(await browser.post(PATH, { as: role }));
    expect((await browser.post('/account/delete')).status).toBe(303);
    const signedIn = await browser.post(PATH, { as: role });
    expect([signedIn.status, signedIn.location]).toEqual([303, '/account']);
    expect((await browser.get('/account/moderation')).status).toBe(moderation);
    expect((await browser.get('/account/moderation/penalties')).status).toBe(penalties);
  });

  test('leads where the visitor wanted to go, and to no other site', async () => {
    const browser = openBrowser(demo.origin);
    const asked = await browser.follow(await browser.get('/account/moderation/audit'));
    const next = asked.field('next') ?? '';
    expect(next).toBe('/account/moderation/audit');
    expect((await browser.post(PATH, { as: 'admin', next })).location).toBe(next);
    expect((await browser.post(PATH, { as: 'admin', next: '//evil.example' })).location).toBe('/account');
  });

  test('refuses other names and forms of other sites', async () => {
    const browser = openBrowser(demo.origin);
    expect((await browser.post(PATH, { as: 'operator' })).status).toBe(400);
    expect((await browser.post(PATH, {})).status).toBe(400);
    expect((await browser.post(PATH, { as: 'owner' }, { 'sec-fetch-site': 'cross-site' })).status).toBe(403);
  });

  test.each([
    { 'x-forwarded-for': '127.0.0.1' },
    { forwarded: 'for=127.0.0.1' },
    { via: '1.1 proxy' },
    { 'cf-connecting-ip': '127.0.0.1' },
    { host: 'demo.example.org' },
    { host: '127.0.0.1.example.org' },
  ])('the demo signs in only visitors on this machine: not with %j', async (headers) => {
    const browser = openBrowser(demo.origin);
    for (const path of ['/', '/account']) {
      // First a visitor who may use the buttons: that page must not be cached for others.
      await browser.get(path);
      expect([path, (await browser.get(path, headers)).text.includes(PATH)]).toEqual([path, false]);
    }
    expect((await browser.post(PATH, { as: 'owner' }, headers)).status).toBe(404);
    expect(browser.cookies.has('session')).toBe(false);
  });
});

test('services other than the demo do not offer its sign-in', async () => {
  const browser = openBrowser(service.origin);
  for (const path of ['/', '/account']) expect((await browser.get(path)).text).not.toContain(PATH);
  const answer = await browser.post(PATH, { as: 'owner' });
  expect([answer.status, browser.cookies.has('session')]).toEqual([404, false]);
});
