import { afterAll, describe, expect, test } from 'bun:test';
import { eq } from 'drizzle-orm';
import { PAGE_TEXTS } from '../../../../api/web/locales/texts.ts';
import { auditLog, sessions, users } from '../../../../src/db/schema/accounts.ts';
import { startSteamApi } from '../../../support/providers/steam-api.ts';
import { openBrowser, type Page, signIn } from '../../../support/web/browser.ts';
import { CONFIGURED_OWNER, openMemberSite } from '../../../support/web/member-site.ts';

const { en } = PAGE_TEXTS;

const { db, steam, site, startSite, player, signedIn, userOf } = await openMemberSite();

describe('signing in', () => {
  test('creates a user row the first time, and one session', async () => {
    const browser = openBrowser(site.origin);
    const page = await signIn(browser);
    expect(page.status).toBe(200);
    expect(page.text).toContain(steam.steamId);
    const user = await userOf();
    expect(user).toMatchObject({ nickname: '', isAdmin: false, isOwner: false, discordId: null });
    expect(await db.select().from(sessions).where(eq(sessions.userId, user.id))).toHaveLength(1);
    const entries = await db.select().from(auditLog).where(eq(auditLog.subject, steam.steamId));
    expect(entries.map(({ action }) => action)).toEqual(['user.created', 'user.signed-in']);
  });

  test('keeps the row and the known nickname the next time', async () => {
    await signIn(openBrowser(site.origin));
    await db.update(users).set({ nickname: 'Known' }).where(eq(users.steamId64, player.steamId));
    const page = await signIn(openBrowser(site.origin));
    expect(page.text).toContain('Known');
    expect(await db.select().from(users).where(eq(users.steamId64, player.steamId))).toHaveLength(1);
  });

  test('makes owners of OWNER_STEAMIDS owners and admins', async () => {
    steam.steamId = CONFIGURED_OWNER;
    const page = await signIn(openBrowser(site.origin));
    expect(page.text).toContain('/account/moderation');
    expect(await userOf(900)).toMatchObject({ isAdmin: true, isOwner: true });
  });

  test('cancelling at Steam leads back to the account page, which says so', async () => {
    steam.approvesAtOnce = false;
    const browser = openBrowser(site.origin);
    const start = await browser.get('/account/sign-in');
    const returnTo = new URL(start.location).searchParams.get('openid.return_to') ?? '';
    const back = await browser.get(
      `${returnTo}&openid.ns=http://specs.openid.net/auth/2.0&openid.mode=cancel`,
    );
    expect([back.status, back.location]).toEqual([303, '/account']);
    expect((await browser.follow(back)).text).toContain(en.notices['sign-in-cancelled']);
    expect(browser.cookies.has('session')).toBe(false);
  });

  test('a state works once: neither a replay nor another valid assertion signs anybody in', async () => {
    const browser = openBrowser(site.origin);
    const start = await browser.get('/account/sign-in');
    const cookie = browser.cookies.get('sign-in') ?? '';
    const returnTo = aReturnTo(start.location);
    expect((await browser.get(returnTo)).status).toBe(303);

    browser.cookies.clear();
    const replay = await browser.get(returnTo);
    expect(replay.status).toBe(400);
    expect(replay.text).toContain(en.errors['sign-in-refused']);
    browser.cookies.set('sign-in', cookie);
    expect((await browser.get(aReturnTo(start.location))).status).toBe(400);
    expect(browser.cookies.has('session')).toBe(false);
  });

  test('a state is refused ten minutes after it was made, with an assertion made just then', async () => {
    const startedAt = Date.now();
    for (const [ageMs, status] of [
      [599_000, 303],
      [600_001, 400],
    ] as const) {
      const browser = openBrowser(site.origin);
      site.clock.now = new Date(startedAt);
      const start = await browser.get('/account/sign-in');
      site.clock.now = new Date(startedAt + ageMs);
      steam.now = () => new Date(startedAt + ageMs);
      expect([ageMs, (await browser.get(aReturnTo(start.location))).status]).toEqual([ageMs, status]);
      steam.now = () => new Date();
    }
  });

  test('a state whose cookie was changed is refused', async () => {
    const browser = openBrowser(site.origin);
    const start = await browser.get('/account/sign-in');
    browser.cookies.set('sign-in', (browser.cookies.get('sign-in') ?? '').split('').reverse().join(''));
    expect((await browser.get(aReturnTo(start.location))).status).toBe(400);
  });

  test.each([
    ['in the order of their start', [0, 1]],
    ['in the opposite order', [1, 0]],
  ])('signing in with two tabs leads each to its page, %s', async (_, order) => {
    const browser = openBrowser(site.origin);
    const tabs: { next: string; back: Page }[] = [];
    for (const next of ['/account/moderation/audit', '/servers/one']) {
      const start = await browser.get(`/account/sign-in?${new URLSearchParams({ next })}`);
      tabs.push({ next, back: await browser.follow(start) });
    }
    for (const index of order) {
      const { next, back } = tabs[index] ?? { next: '', back: undefined };
      const page = back && (await browser.follow(back));
      expect([page?.status, page?.location]).toEqual([303, next]);
      expect((await browser.get('/account')).text).toContain(player.steamId);
    }
    const { id } = await userOf();
    expect(await db.select().from(sessions).where(eq(sessions.userId, id))).toHaveLength(1);
  });

  test('Steam does not learn which page is opened after signing in', async () => {
    const next = '/account/moderation?q=76561198000000001';
    const { location } = await openBrowser(site.origin).get(
      `/account/sign-in?${new URLSearchParams({ next })}`,
    );
    const returnTo = new URL(location ?? '').searchParams.get('openid.return_to') ?? '';
    const parts = new URL(returnTo).searchParams.get('state')?.split('.') ?? [];
    expect(parts.map((part) => Buffer.from(part, 'base64url').toString()).join()).not.toContain('7656');
  });

  test('a forged return in another tab does not end a sign-in (login CSRF)', async () => {
    const browser = openBrowser(site.origin);
    const provider = await browser.follow(await browser.get('/account/sign-in'));
    const attacker = openBrowser(site.origin);
    const forged = await attacker.follow(await attacker.get('/account/sign-in'));
    expect((await browser.get(forged.location)).status).toBe(400);
    expect((await browser.get('/account/sign-in/return?state=')).status).toBe(400);
    expect(browser.cookies.has('session')).toBe(false);
    expect((await browser.follow(provider)).status).toBe(303);
  });

  test('an expired sign-in leads somebody who is signed in meanwhile to their account, and changes nothing', async () => {
    const browser = openBrowser(site.origin);
    const late = await browser.follow(await browser.get('/account/sign-in'));
    const stranger = openBrowser(site.origin);
    const foreign = await stranger.follow(await stranger.get('/account/sign-in'));
    await signIn(browser);
    const session = browser.cookies.get('session');
    browser.cookies.delete('sign-in');
    for (const back of [late, foreign]) {
      const page = await browser.follow(back);
      expect([page.status, page.location]).toEqual([303, '/account']);
      expect(browser.cookies.get('session')).toBe(session ?? '');
    }
  });

  test('a nonce is used once, whatever the state and whatever the provider says', async () => {
    steam.conduct = 'vouches for anything';
    const nonce = `${new Date().toISOString().slice(0, 19)}Zonce${player.steamId}`;
    for (const status of [303, 400]) {
      const browser = openBrowser(site.origin);
      const start = await browser.get('/account/sign-in');
      const page = await browser.get(aReturnTo(start.location, { 'openid.response_nonce': nonce }));
      expect(page.status).toBe(status);
    }
  });

  test('session fixation: an id from before sign-in is worth nothing after it', async () => {
    const browser = await signedIn();
    const before = browser.cookies.get('session') ?? '';
    const provider = await browser.follow(await openBrowserAt(browser, '/account/sign-in'));
    await browser.follow(provider);
    const after = browser.cookies.get('session') ?? '';
    expect(after).not.toBe(before);
    browser.cookies.set('session', before);
    expect((await browser.get('/account')).text).toContain(en.signIn.button);
    browser.cookies.set('session', after);
    expect((await browser.get('/account')).text).toContain(steam.steamId);
  });

  test('reports that Steam is not responding', async () => {
    steam.conduct = 'fails';
    const page = await signIn(openBrowser(site.origin));
    expect(page.status).toBe(503);
    expect(page.headers.get('retry-after')).toBe('30');
    expect(page.text).toContain(en.errors['steam-unavailable']);
  });

  test('begins at the public address, to which Steam sends people back, without going in circles', async () => {
    const page = await openBrowser(site.origin).get('/account/sign-in', { host: 'other.example' });
    expect([page.status, page.location]).toEqual([303, `${site.origin}/account/sign-in?at=public`]);
    const again = await openBrowser(site.origin).get('/account/sign-in?at=public', { host: 'other.example' });
    expect(again.location).toStartWith(steam.url);
  });
});

describe('the persona name', () => {
  const steamApi = startSteamApi();
  afterAll(() => steamApi.stop());

  test('comes from Steam at each sign-in when there is a key, and stays when Steam says nothing', async () => {
    const named = startSite({ steamApi: { apiUrl: steamApi.url, apiKey: steamApi.key } });
    const avatarfull = 'https://avatars.steamstatic.com/a_full.jpg';
    steamApi.players = { [steam.steamId]: { personaname: 'First', avatarfull } };
    const page = await signIn(openBrowser(named.origin));
    expect(page.text).toContain('First');
    expect(page.text).toContain(`src="${avatarfull}"`);
    steamApi.players = { [steam.steamId]: { personaname: 'Second' } };
    expect((await signIn(openBrowser(named.origin))).text).toContain('Second');
    steamApi.answer = 'fails';
    const unchanged = await signIn(openBrowser(named.origin));
    expect(unchanged.text).toContain('Second');
    expect(unchanged.text).toContain(`src="${avatarfull}"`);
    expect(JSON.stringify(named.log)).not.toContain(steamApi.key);
  });
});

/** A genuine return for the sign-in that led to `location`, made now. */
function aReturnTo(location: string, fields: Record<string, string> = {}): string {
  const returnTo = new URL(location).searchParams.get('openid.return_to') ?? '';
  return `${returnTo}&${steam.sign({ 'openid.return_to': returnTo, ...fields })}`;
}

/** Starts a sign-in while already signed in, as from a second tab that was open before. */
async function openBrowserAt(browser: ReturnType<typeof openBrowser>, path: string) {
  const session = browser.cookies.get('session') ?? '';
  browser.cookies.delete('session');
  const page = await browser.get(path);
  browser.cookies.set('session', session);
  return page;
}
