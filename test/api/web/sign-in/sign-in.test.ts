import { beforeAll, describe, expect, test } from 'bun:test';
import { eq } from 'drizzle-orm';
import { en } from '../../../../api/web/locales/en.ts';
import { auditLog, sessions } from '../../../../src/db/schema/accounts.ts';
import { aSteamId, insertUser } from '../../../support/database/builders.ts';
import { startSteamApi } from '../../../support/providers/steam-api.ts';
import { type Browser, openBrowser, type Page, signIn } from '../../../support/web/browser.ts';
import { noticesOf, textOf } from '../../../support/web/page-text.ts';
import { CONFIGURED_OWNER, openUserSite } from '../../../support/web/user-site.ts';

const { db, steam, site, startSite, player, signedIn, userOf } = await openUserSite({
  settings: { arePenaltiesPublic: true },
});
const AUDIT = '/account/moderation/audit';

/** The address that starts a sign-in whose destination is `next`. */
const startOf = (next: string) => `/account/sign-in?${new URLSearchParams({ next })}`;

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

  test('makes owners of OWNER_STEAMIDS owners and admins', async () => {
    steam.steamId = CONFIGURED_OWNER;
    const page = await signIn(openBrowser(site.origin));
    expect(page.text).toContain('/account/moderation');
    expect(await userOf(900)).toMatchObject({ isAdmin: true, isOwner: true });
  });

  test.each([
    ['/account/sign-in', '/account'],
    [startOf(AUDIT), `/account?${new URLSearchParams({ next: AUDIT })}`],
  ])('cancelling at Steam after %s leads to %s, which says so', async (path, end) => {
    const browser = openBrowser(site.origin);
    const start = await browser.get(path);
    const returnTo = new URL(start.location).searchParams.get('openid.return_to') ?? '';
    const back = await browser.get(
      `${returnTo}&openid.ns=http://specs.openid.net/auth/2.0&openid.mode=cancel`,
    );
    expect([back.status, back.location]).toEqual([303, end]);
    const { text } = await browser.follow(back);
    expect(noticesOf(text)).toEqual([[undefined, en.notices['sign-in-cancelled']]]);
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

  test.each([
    ['in the order of their start', [0, 1]],
    ['in the opposite order', [1, 0]],
  ])('signing in with two tabs leads each to its page, %s', async (_, order) => {
    const browser = openBrowser(site.origin);
    const tabs: { next: string; back: Page }[] = [];
    for (const next of [AUDIT, '/servers/one']) {
      const start = await browser.get(startOf(next));
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
    const { location } = await openBrowser(site.origin).get(
      startOf('/account/moderation?q=76561198000000001'),
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

  test('a page says that Steam is not responding, and leads back to the same sign-in', async () => {
    steam.conduct = 'fails';
    const browser = openBrowser(site.origin);
    const page = await browser.follow(await browser.follow(await browser.get(startOf(AUDIT))));
    expect(page.status).toBe(503);
    expect(page.headers.get('retry-after')).toBe('30');
    expect(page.text).toContain(en.errors['steam-unavailable']);
    expect(page.text).toContain(`href="${startOf(AUDIT)}"`);
  });

  test('begins at the public address, to which Steam sends people back, without going in circles', async () => {
    const page = await openBrowser(site.origin).get(startOf(AUDIT), { host: 'other.example' });
    const publicStart = `/account/sign-in?${new URLSearchParams({ at: 'public', next: AUDIT })}`;
    expect([page.status, page.location]).toEqual([303, site.origin + publicStart]);
    const again = await openBrowser(site.origin).get(publicStart, { host: 'other.example' });
    expect(again.location).toStartWith(steam.url);
  });

  test('somebody who is signed in already goes straight to the page', async () => {
    const page = await (await signedIn()).get(startOf(AUDIT));
    expect([page.status, page.location]).toEqual([303, AUDIT]);
  });
});

describe('the destination of a sign-in', () => {
  /** Opens a page, follows its links to the sign-in, and signs in. */
  async function signInFrom(browser: Browser, path: string): Promise<Page> {
    const first = await browser.get(path);
    const page = first.status === 303 ? await browser.follow(first) : first;
    const [, start] = /href="(\/account\/sign-in[^"]*)"/.exec(page.text) ?? [];
    const [, bar = ''] = /class="sign-in" href="([^"]*)"/.exec(page.text) ?? [];
    if (!start) return signInFrom(browser, bar.replaceAll('&amp;', '&'));
    return browser.follow(await browser.follow(await browser.get(start.replaceAll('&amp;', '&'))));
  }

  test.each([
    ['/account/moderation', '/account/moderation'],
    ['/account/moderation?q=Rze%C5%BA+%26+co&page=2', '/account/moderation?q=Rze%C5%BA+%26+co&page=2'],
    ['/account/moderation/audit?page=7', '/account/moderation/audit?page=7'],
    [`/account/moderation/users/${CONFIGURED_OWNER}`, `/account/moderation/users/${CONFIGURED_OWNER}`],
    ['/servers/mirage', '/servers/mirage'],
    ['/connect/mirage?lang=pl', '/connect/mirage'],
    ['/penalties?q=Rze%C5%BA+%26+co&status=ACTIVE', '/penalties?q=Rze%C5%BA+%26+co&status=ACTIVE'],
    ['/penalties?q=a&lang=pl&page=2', '/penalties?q=a&page=2'],
    ['/servers/nowhere', '/servers/nowhere'],
    // `/` has nothing more for signed-in members; their account page does.
    ['/', '/account'],
    ['/account', '/account'],
    ['/account/', '/account'],
    ['/account?lang=en', '/account'],
  ])('people who sign in from %s land on %s', async (path, end) => {
    const back = await signInFrom(openBrowser(site.origin), path);
    expect([back.status, back.location]).toEqual([303, end]);
  });

  test.each([
    [`/account/moderation/users/${CONFIGURED_OWNER}/block`, `/account/moderation/users/${CONFIGURED_OWNER}`],
    ['/account/moderation/webhooks', '/account/moderation/webhooks'],
    ['/account/moderation/webhooks/1/test', '/account/moderation/webhooks/1'],
    ['/account/tokens', '/account'],
    ['/account/delete', '/account'],
  ])('people whose session ended before they sent a form to %s land on its page', async (path, end) => {
    const browser = openBrowser(site.origin);
    const refused = await browser.post(path);
    expect(refused.status).toBe(401);
    const [, link = ''] =
      new RegExp(`href="(/account/sign-in[^"]*)"[^>]*>\\s*${en.errors.retry}`).exec(refused.text) ?? [];
    const start = await browser.get(link.replaceAll('&amp;', '&'));
    const back = await browser.follow(await browser.follow(start));
    expect([back.status, back.location]).toEqual([303, end]);
  });

  test.each([
    'https://evil.example/account',
    '//evil.example/account',
    '/\\evil.example/account',
    '/\t/evil.example',
    '/account//evil.example',
    '/account/../account/moderation',
    '/%2e%2e//evil.example',
    'javascript:alert(1)',
    'account/moderation',
    '/account/moderation#x',
    '/account/moderation\r\nSet-Cookie: a=b',
    '/account/moderation?q=\u0142',
    '/account/moderation/users/a/b/c',
    '/account/sign-in',
    '/account/sign-out',
    '/account/discord/return?code=x&state=y',
    '/account/roundsound/status',
    '/account/assets/pages.css',
    '/api/v1/servers',
    '/swagger',
    '/servers/mirage/banner.png',
    '/servers/mirage/../../x',
    '/servers//evil.example',
    '//evil.example/servers/mirage',
    '/penalties/..//evil.example',
    `/account/moderation?q=${'x'.repeat(600)}`,
    '',
  ])('nobody is led to %j', async (next) => {
    const back = await signInFrom(openBrowser(site.origin), `/account?${new URLSearchParams({ next })}`);
    expect(back.location).toBe('/account');
    const direct = openBrowser(site.origin);
    const start = await direct.get(startOf(next));
    expect((await direct.follow(await direct.follow(start))).location).toBe('/account');
    expect((await direct.get(startOf(next))).location).toBe('/account');
  });
});

const steamApi = startSteamApi();

test('the persona name comes from Steam at each sign-in when there is a key, and stays when Steam says nothing', async () => {
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

describe('the demo', () => {
  const demoPeople = {
    owner: aSteamId(901),
    admin: aSteamId(902),
    moderator: aSteamId(903),
    member: aSteamId(904),
  };
  const demo = startSite({ demoPeople });
  const PATH = '/account/demo-sign-in';
  beforeAll(async () => {
    await insertUser(db, 901, { nickname: 'Olga', isOwner: true, isAdmin: true });
    await insertUser(db, 902, { nickname: 'Adam', isAdmin: true });
    await insertUser(db, 903, { nickname: 'Mira', isModerator: true });
    await insertUser(db, 904, { nickname: 'Maja' });
  });

  test('the demo offers to sign in as owner, admin, moderator and member on / and /account', async () => {
    const { owner, admin, moderator, member } = en.signIn.demo.as;
    for (const path of ['/', '/account']) {
      const page = textOf((await openBrowser(demo.origin).get(path)).text);
      const buttons = `${owner} ${admin} ${moderator} ${member}`;
      expect([path, page]).toEqual([path, expect.stringContaining(buttons) as unknown as string]);
    }
  });

  test.each([
    ['owner', 'Olga', 200, 200],
    ['admin', 'Adam', 200, 200],
    ['moderator', 'Mira', 303, 200],
    ['member', 'Maja', 403, 403],
  ])(
    'the demo signs in as %s, also after they deleted their account',
    async (role, name, moderation, penalties) => {
      const browser = openBrowser(demo.origin);
      const signInAs = async () => {
        const signedIn = await browser.post(PATH, { as: role });
        expect([signedIn.status, signedIn.location]).toEqual([303, '/account']);
        return browser.follow(signedIn);
      };
      const openPages = async () =>
        [await browser.get('/account/moderation'), await browser.get('/account/moderation/penalties')].map(
          ({ status }) => status,
        );
      const { text } = await signInAs();
      expect(text).toContain(name);
      expect(text).not.toContain(PATH);
      expect(await openPages()).toEqual([moderation, penalties]);
      await browser.get('/account');
      expect((await browser.post('/account/delete')).status).toBe(303);
      await signInAs();
      expect(await openPages()).toEqual([moderation, penalties]);
    },
  );

  test('the demo leads where the visitor wanted to go, and to no other site', async () => {
    const browser = openBrowser(demo.origin);
    const asked = await browser.follow(await browser.get('/account/moderation/audit'));
    const next = asked.field('next') ?? '';
    expect(next).toBe('/account/moderation/audit');
    expect((await browser.post(PATH, { as: 'admin', next })).location).toBe(next);
    expect((await browser.post(PATH, { as: 'admin', next: '//evil.example' })).location).toBe('/account');
  });

  test('the demo refuses other names and forms of other sites', async () => {
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

  test('services other than the demo do not offer its sign-in', async () => {
    const browser = openBrowser(site.origin);
    for (const path of ['/', '/account']) expect((await browser.get(path)).text).not.toContain(PATH);
    const answer = await browser.post(PATH, { as: 'owner' });
    expect([answer.status, browser.cookies.has('session')]).toEqual([404, false]);
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
