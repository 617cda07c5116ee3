import { afterAll, beforeEach, describe, expect, test } from 'bun:test';
import { connect } from 'node:net';
import { eq } from 'drizzle-orm';
import { loadSessionSecret } from '../../../api/account/account.tsx';
import { requireCsrfToken } from '../../../api/account/form.ts';
import { readMemberForm } from '../../../api/account/visit.ts';
import { auditLog, sessions, users } from '../../../src/db/schema.ts';
import { InvalidInput } from '../../../src/errors.ts';
import { startAccountSite } from '../../support/account.ts';
import { type Browser, openBrowser, type Page, signIn } from '../../support/browser.ts';
import { aSteamId } from '../../support/builders.ts';
import { createTestDatabase } from '../../support/database.ts';
import { startSteamApi } from '../../support/steam-api.ts';
import { startSteamOpenIdProvider } from '../../support/steam-openid-provider.ts';

const { db } = await createTestDatabase();
const steam = startSteamOpenIdProvider();
steam.approvesAtOnce = true;
const site = startAccountSite({ db, steam, ownerSteamIds: [aSteamId(900)] });
afterAll(async () => {
  await site.stop();
  await steam.stop();
});

let lastPlayer = 0;
beforeEach(() => {
  lastPlayer += 1;
  steam.steamId = aSteamId(lastPlayer);
  steam.conduct = 'honest';
  steam.approvesAtOnce = true;
  site.clock.now = null;
});

const DAY_MS = 86_400_000;

describe('a visitor who is not signed in', () => {
  test('sees the way in', async () => {
    const page = await openBrowser(site.origin).get('/account');
    expect(page.status).toBe(200);
    expect(page.text).toContain('Sign in through Steam');
    expect(page.text).toContain('href="/account/sign-in"');
  });

  test('is sent to the sign-in from a page, and gets 401 for a form', async () => {
    const browser = openBrowser(site.origin);
    const page = await browser.get('/account/moderation');
    expect([page.status, page.location]).toEqual([303, '/account?next=%2Faccount%2Fmoderation']);
    expect((await browser.follow(page)).text).toContain('Please sign in to see that page.');
    expect((await browser.get('/account')).text).not.toContain('Please sign in');
    expect((await browser.post('/account/tokens', { name: 'x' })).status).toBe(401);
  });

  test('may write a slash at the end', async () => {
    expect((await openBrowser(site.origin).get('/account/')).status).toBe(200);
  });

  test('gets a page for an unknown address', async () => {
    const page = await openBrowser(site.origin).get('/account/nothing');
    expect(page.status).toBe(404);
    expect(page.headers.get('content-type')).toBe('text/html; charset=utf-8');
  });
});

describe('language', () => {
  test('follows Accept-Language with its qualities', async () => {
    for (const [header, lang] of [
      ['pl', 'pl'],
      ['pl-PL,pl;q=0.9,en;q=0.8', 'pl'],
      ['de,en;q=0.5,pl;q=0.7', 'pl'],
      ['en;q=0.9,pl;q=0', 'en'],
      ['de-AT', 'en'],
      ['*', 'en'],
      [';;;,=,xx;q=x', 'en'],
    ]) {
      const page = await openBrowser(site.origin, { language: header ?? '' }).get('/account');
      expect([header, page.text.includes(`<html lang="${lang}">`)]).toEqual([header, true]);
    }
  });

  test('can be switched, and stays switched', async () => {
    const browser = openBrowser(site.origin, { language: 'en' });
    expect((await browser.get('/account?lang=pl')).text).toContain('Zaloguj się przez Steam');
    expect((await browser.get('/account')).text).toContain('Zaloguj się przez Steam');
    expect((await browser.get('/account?lang=xx')).text).toContain('<html lang="pl">');
  });
});

describe('signing in', () => {
  test('makes a user row at the first time, and one session', async () => {
    const browser = openBrowser(site.origin);
    const page = await signIn(browser);
    expect(page.status).toBe(200);
    expect(page.text).toContain(steam.steamId);
    const [user] = await db
      .select()
      .from(users)
      .where(eq(users.steamId64, aSteamId(lastPlayer)));
    expect(user).toMatchObject({ nickname: '', isAdmin: false, isOwner: false, discordId: null });
    const open = await db
      .select()
      .from(sessions)
      .where(eq(sessions.userId, user?.id ?? 0));
    expect(open).toHaveLength(1);
    const actions = await db
      .select({ action: auditLog.action })
      .from(auditLog)
      .where(eq(auditLog.subject, steam.steamId));
    expect(actions.map(({ action }) => action)).toEqual(['user.created', 'user.signed-in']);
  });

  test('keeps the row and the known nickname the next time', async () => {
    await signIn(openBrowser(site.origin));
    await db
      .update(users)
      .set({ nickname: 'Known' })
      .where(eq(users.steamId64, aSteamId(lastPlayer)));
    const page = await signIn(openBrowser(site.origin));
    expect(page.text).toContain('Known');
    expect(
      await db
        .select()
        .from(users)
        .where(eq(users.steamId64, aSteamId(lastPlayer))),
    ).toHaveLength(1);
  });

  test('makes owners of OWNER_STEAMIDS owners and admins', async () => {
    steam.steamId = aSteamId(900);
    const page = await signIn(openBrowser(site.origin));
    expect(page.text).toContain('/account/moderation');
    const [user] = await db
      .select()
      .from(users)
      .where(eq(users.steamId64, aSteamId(900)));
    expect(user).toMatchObject({ isAdmin: true, isOwner: true });
  });

  test('is cancelled at Steam without harm', async () => {
    steam.approvesAtOnce = false;
    const browser = openBrowser(site.origin);
    const start = await browser.get('/account/sign-in');
    const returnTo = new URL(start.location).searchParams.get('openid.return_to') ?? '';
    const back = await browser.get(
      `${returnTo}&openid.ns=http://specs.openid.net/auth/2.0&openid.mode=cancel`,
    );
    expect([back.status, back.location]).toEqual([303, '/account']);
    expect((await browser.follow(back)).text).toContain('You cancelled at Steam');
    expect(browser.cookies.has('session')).toBe(false);
  });

  test('a replay of the return address signs nobody in', async () => {
    const browser = openBrowser(site.origin);
    const provider = await browser.follow(await browser.get('/account/sign-in'));
    const stateCookie = browser.cookies.get('sign-in') ?? '';
    expect((await browser.follow(provider)).status).toBe(303);

    browser.cookies.clear();
    expect((await browser.follow(provider)).status).toBe(400);
    browser.cookies.set('sign-in', stateCookie);
    const replay = await browser.follow(provider);
    expect(replay.status).toBe(400);
    expect(replay.text).toContain('could not be verified');
    expect(browser.cookies.has('session')).toBe(false);
  });

  test('login CSRF: a return address made in another browser signs nobody in', async () => {
    const attacker = openBrowser(site.origin);
    const provider = await attacker.follow(await attacker.get('/account/sign-in'));
    const victim = openBrowser(site.origin);
    await victim.get('/account/sign-in');
    const page = await victim.get(provider.location);
    expect(page.status).toBe(400);
    expect(victim.cookies.has('session')).toBe(false);
  });

  test('a state is used once, also with another assertion that is good in itself', async () => {
    const browser = openBrowser(site.origin);
    const start = await browser.get('/account/sign-in');
    const cookie = browser.cookies.get('sign-in') ?? '';
    expect((await browser.get(aReturnTo(start.location))).status).toBe(303);
    browser.cookies.set('sign-in', cookie);
    expect((await browser.get(aReturnTo(start.location))).status).toBe(400);
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

  test('a state whose cookie was touched is refused', async () => {
    const browser = openBrowser(site.origin);
    const start = await browser.get('/account/sign-in');
    browser.cookies.set('sign-in', `${browser.cookies.get('sign-in')}x`);
    expect((await browser.get(aReturnTo(start.location))).status).toBe(400);
  });

  test('a nonce is used once, whatever the state and whatever the provider says', async () => {
    steam.conduct = 'vouches for anything';
    const nonce = `${new Date().toISOString().slice(0, 19)}Zonce${lastPlayer}`;
    for (const status of [303, 400]) {
      const browser = openBrowser(site.origin);
      const start = await browser.get('/account/sign-in');
      const page = await browser.get(aReturnTo(start.location, { 'openid.response_nonce': nonce }));
      expect(page.status).toBe(status);
    }
  });

  test('session fixation: an id from before sign-in is worth nothing after it', async () => {
    const browser = openBrowser(site.origin);
    await signIn(browser);
    const before = browser.cookies.get('session') ?? '';
    const provider = await browser.follow(await openBrowserAt(browser, '/account/sign-in'));
    await browser.follow(provider);
    const after = browser.cookies.get('session') ?? '';
    expect(after).not.toBe(before);
    browser.cookies.set('session', before);
    expect((await browser.get('/account')).text).toContain('Sign in through Steam');
    browser.cookies.set('session', after);
    expect((await browser.get('/account')).text).toContain(steam.steamId);
  });

  test('says so when Steam is away', async () => {
    steam.conduct = 'fails';
    const page = await signIn(openBrowser(site.origin));
    expect(page.status).toBe(503);
    expect(page.headers.get('retry-after')).toBe('30');
    expect(page.text).toContain('Steam does not answer');
  });

  test('begins at the public address, where Steam sends him back, without going in circles', async () => {
    const page = await openBrowser(site.origin).get('/account/sign-in', { host: 'other.example' });
    expect([page.status, page.location]).toEqual([303, `${site.origin}/account/sign-in?at=public`]);
    const again = await openBrowser(site.origin).get('/account/sign-in?at=public', { host: 'other.example' });
    expect(again.location).toStartWith(steam.url);
  });
});

describe('after signing in', () => {
  const OWNER = aSteamId(900);

  /** Asks for a page, follows the link to the sign-in on what comes, and signs in. */
  async function signInFrom(browser: Browser, path: string): Promise<Page> {
    const first = await browser.get(path);
    const page = first.status === 303 ? await browser.follow(first) : first;
    const link = /href="(\/account\/sign-in[^"]*)"/.exec(page.text)?.[1] ?? '';
    const provider = await browser.follow(await browser.get(link.replaceAll('&amp;', '&')));
    return browser.follow(provider);
  }

  test.each([
    '/account/moderation',
    '/account/moderation?q=Rze%C5%BA+%26+co&page=2',
    '/account/moderation/audit?before=7',
    `/account/moderation/users/${OWNER}`,
    '/account/tokens/5/revoke',
    '/account/discord/unlink',
  ])('people land on %s, where they wanted to go', async (path) => {
    steam.steamId = OWNER;
    const back = await signInFrom(openBrowser(site.origin), path);
    expect([back.status, back.location]).toEqual([303, path]);
  });

  test('people who wanted nothing else land on the account page', async () => {
    for (const path of ['/account', '/account/', '/account?lang=en']) {
      const back = await signInFrom(openBrowser(site.origin), path);
      expect([path, back.location]).toEqual([path, '/account']);
    }
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
    '/account/assets/account.css',
    '/api/v1/servers',
    '/swagger',
    `/account/moderation?q=${'x'.repeat(600)}`,
    '',
  ])('nobody is led to %j', async (next) => {
    steam.steamId = OWNER;
    const back = await signInFrom(openBrowser(site.origin), `/account?${new URLSearchParams({ next })}`);
    expect(back.location).toBe('/account');
    const direct = openBrowser(site.origin);
    const start = await direct.get(`/account/sign-in?${new URLSearchParams({ next })}`);
    expect((await direct.follow(await direct.follow(start))).location).toBe('/account');
    expect((await direct.get(`/account/sign-in?${new URLSearchParams({ next })}`)).location).toBe('/account');
  });

  test('the way is kept over the change to the public address, a cancellation and a failure', async () => {
    steam.steamId = OWNER;
    const next = '/account/moderation/audit';
    const query = new URLSearchParams({ next });
    const elsewhere = await openBrowser(site.origin).get(`/account/sign-in?${query}`, {
      host: 'other.example',
    });
    expect(elsewhere.location).toBe(
      `${site.origin}/account/sign-in?${new URLSearchParams({ at: 'public', next })}`,
    );

    const browser = openBrowser(site.origin);
    steam.approvesAtOnce = false;
    const start = await browser.get(`/account/sign-in?${query}`);
    const returnTo = new URL(start.location).searchParams.get('openid.return_to') ?? '';
    const cancelled = await browser.get(`${returnTo}&openid.mode=cancel`);
    expect(cancelled.location).toBe(`/account?${query}`);

    steam.approvesAtOnce = true;
    steam.conduct = 'fails';
    const failed = await browser.follow(await browser.follow(await browser.get(`/account/sign-in?${query}`)));
    expect(failed.status).toBe(503);
    expect(failed.text).toContain(`href="/account/sign-in?${query}"`);
    steam.conduct = 'honest';
  });

  test('a way that was changed in the cookie is no way', async () => {
    const browser = openBrowser(site.origin);
    const start = await browser.get(
      `/account/sign-in?${new URLSearchParams({ next: '/account/moderation' })}`,
    );
    const [state, startedAt, , signature] = (browser.cookies.get('sign-in') ?? '').split('.');
    const forged = Buffer.from('//evil.example').toString('base64url');
    browser.cookies.set('sign-in', [state, startedAt, forged, signature].join('.'));
    expect((await browser.follow(await browser.follow(start))).status).toBe(400);
  });

  test('somebody who is signed in already goes straight to the page', async () => {
    steam.steamId = OWNER;
    const browser = openBrowser(site.origin);
    await signIn(browser);
    const page = await browser.get(
      `/account/sign-in?${new URLSearchParams({ next: '/account/moderation' })}`,
    );
    expect([page.status, page.location]).toEqual([303, '/account/moderation']);
  });
});

/** A genuine return for the sign-in that led to `location`, made now. */
function aReturnTo(location: string, fields: Record<string, string> = {}): string {
  const returnTo = new URL(location).searchParams.get('openid.return_to') ?? '';
  return `${returnTo}&${steam.sign({ 'openid.return_to': returnTo, ...fields })}`;
}

/** Starts a sign-in although one is signed in already: from a second tab that was open before. */
async function openBrowserAt(browser: ReturnType<typeof openBrowser>, path: string) {
  const session = browser.cookies.get('session') ?? '';
  browser.cookies.delete('session');
  const page = await browser.get(path);
  browser.cookies.set('session', session);
  return page;
}

describe('a session', () => {
  test('is a signed, HttpOnly, SameSite=Lax cookie of thirty days, stored as a hash', async () => {
    const browser = openBrowser(site.origin);
    await signIn(browser);
    const line = browser.setCookies.find((cookie) => cookie.startsWith('session='));
    expect(line).toMatch(/^session=[\w-]{43}\.[\w-]{43}; Path=\/; Max-Age=2592000; HttpOnly; SameSite=Lax$/);
    const id = browser.cookies.get('session')?.split('.')[0] ?? '';
    const stored = await db.select({ idHash: sessions.idHash }).from(sessions);
    expect(stored.some(({ idHash }) => idHash.includes(id))).toBe(false);
  });

  test('is Secure, with the __Host- prefix and HSTS, when the public address is https', async () => {
    const secure = startAccountSite({ db, steam, publicUrl: 'https://community.example' });
    try {
      const browser = openBrowser(secure.origin);
      const start = await browser.get('/account/sign-in?at=public');
      const provider = await browser.follow(start);
      const back = new URL(provider.location);
      expect(back.origin).toBe('https://community.example');
      const page = await browser.get(back.pathname + back.search);
      expect(page.status).toBe(303);
      expect(page.headers.get('strict-transport-security')).toBe('max-age=31536000');
      for (const line of browser.setCookies) {
        expect(line).toMatch(/^__Host-[\w-]+=[^;]*; Path=\/; Max-Age=\d+; HttpOnly; SameSite=Lax; Secure$/);
      }
      expect((await browser.get('/account')).text).toContain(steam.steamId);
    } finally {
      await secure.stop();
    }
  });

  test('with a touched id or signature is none, nor is one sent twice', async () => {
    const browser = openBrowser(site.origin);
    await signIn(browser);
    const [id = '', signature = ''] = browser.cookies.get('session')?.split('.') ?? [];
    for (const value of [
      `${id}x.${signature}`,
      `${id}.${signature}x`,
      `${id}.`,
      id,
      `${id}.${signature}.x`,
      `x; session=${id}.${signature}`,
      '',
    ]) {
      browser.cookies.set('session', value);
      expect([value, (await browser.get('/account')).text.includes('Sign in through Steam')]).toEqual([
        value,
        true,
      ]);
    }
  });

  test('slides: thirty days after the last visit, not after the first', async () => {
    const browser = openBrowser(site.origin);
    const start = Date.now();
    await signIn(browser);
    for (const days of [29, 58, 87]) {
      site.clock.now = new Date(start + days * DAY_MS);
      expect((await browser.get('/account')).text).toContain(steam.steamId);
    }
    site.clock.now = new Date(start + (87 + 30) * DAY_MS + 1000);
    expect((await browser.get('/account')).text).toContain('Sign in through Steam');
  });

  test('ends here on sign-out, and stays elsewhere', async () => {
    const [here, elsewhere] = [openBrowser(site.origin), openBrowser(site.origin)];
    await signIn(here);
    await signIn(elsewhere);
    expect((await here.get('/account')).text).toContain('2 devices');
    const cookie = here.cookies.get('session') ?? '';
    const out = await here.post('/account/sign-out');
    expect([out.status, out.location]).toEqual([303, '/account']);
    here.cookies.set('session', cookie);
    expect((await here.get('/account')).text).toContain('Sign in through Steam');
    expect((await elsewhere.get('/account')).text).toContain('on this device only');
  });

  test('is one of the hundred that a user used last: older ones end', async () => {
    const browser = openBrowser(site.origin);
    await signIn(browser);
    const [user] = await db
      .select()
      .from(users)
      .where(eq(users.steamId64, aSteamId(lastPlayer)));
    await db.insert(sessions).values(
      Array.from({ length: 120 }, (_, number) => ({
        idHash: `${lastPlayer} ${number}`,
        userId: user?.id ?? 0,
        seenAt: new Date(Date.now() - 1000 * (number + 1)),
        expiresAt: new Date(Date.now() + DAY_MS),
      })),
    );
    expect((await browser.get('/account')).text).toContain('You are signed in on 121 devices.');
    const latest = openBrowser(site.origin);
    expect((await signIn(latest)).text).toContain('You are signed in on 100 devices.');
    const kept = await db
      .select()
      .from(sessions)
      .where(eq(sessions.userId, user?.id ?? 0));
    expect(kept.map(({ idHash }) => idHash)).toContain(`${lastPlayer} 97`);
    expect(kept.map(({ idHash }) => idHash)).not.toContain(`${lastPlayer} 98`);
    expect((await browser.get('/account')).text).toContain(aSteamId(lastPlayer));
  });

  test('ends everywhere on request', async () => {
    const [here, elsewhere] = [openBrowser(site.origin), openBrowser(site.origin)];
    await signIn(here);
    await signIn(elsewhere);
    await here.post('/account/sign-out-everywhere');
    expect((await elsewhere.get('/account')).text).toContain('Sign in through Steam');
    expect((await here.get('/account')).text).toContain('Sign in through Steam');
  });
});

describe('every POST', () => {
  const paths = [
    '/account/tokens',
    '/account/sign-out',
    '/account/sign-out-everywhere',
    '/account/discord/unlink',
  ];

  test('needs the CSRF token of its own session', async () => {
    const [browser, other] = [openBrowser(site.origin), openBrowser(site.origin)];
    await signIn(browser);
    steam.steamId = aSteamId(500);
    const foreign = (await signIn(other)).field('csrf_token') ?? '';
    for (const path of paths) {
      for (const token of ['', 'x', foreign]) {
        const page = await browser.post(path, { name: 'x', csrf_token: token });
        expect([path, token, page.status]).toEqual([path, token, 403]);
      }
    }
    expect((await browser.get('/account')).text).toContain(aSteamId(lastPlayer));
  });

  test('is refused from another site although the token is right', async () => {
    const browser = openBrowser(site.origin);
    await signIn(browser);
    for (const from of ['cross-site', 'same-site', 'none']) {
      const page = await browser.post('/account/sign-out', {}, { 'sec-fetch-site': from });
      expect([from, page.status]).toEqual([from, 403]);
    }
    expect((await browser.post('/account/sign-out', {}, { 'sec-fetch-site': 'same-origin' })).status).toBe(
      303,
    );
  });

  test('that its sender breaks off is no failure of ours: nothing is logged', async () => {
    let settled = Promise.withResolvers<unknown>();
    const probed = startAccountSite({
      db,
      steam,
      sections: ({ signer }) => [
        {
          id: 'probe',
          title: () => 'Probe',
          render: async () => '',
          routes: [
            {
              method: 'POST',
              path: '/probe',
              handle: async (visit) => {
                const form = readMemberForm({ signer }, visit);
                form.then(settled.resolve, settled.resolve);
                return new Response(String((await form).size));
              },
            },
          ],
        },
      ],
    });
    const browser = openBrowser(probed.origin);
    await signIn(browser);
    for (const framing of ['Content-Length: 1000\r\n\r\n', 'Transfer-Encoding: chunked\r\n\r\nff\r\n']) {
      settled = Promise.withResolvers();
      const socket = connect(Number(new URL(probed.origin).port), '127.0.0.1');
      const head = `POST /account/probe HTTP/1.1\r\nHost: x\r\nCookie: session=${browser.cookies.get('session')}\r\n`;
      await new Promise<void>((sent) => socket.write(`${head}${framing}name=half a na`, () => sent()));
      socket.destroy();
      expect(await settled.promise).toBeInstanceOf(InvalidInput);
    }
    // One more request comes after whatever the broken ones had left to do.
    expect((await browser.get('/account')).status).toBe(200);
    expect(probed.log).toEqual([]);
    await probed.stop();
  });

  test('is refused when it is large, of another type, or repeats a field', async () => {
    const browser = openBrowser(site.origin);
    const token = (await signIn(browser)).field('csrf_token') ?? '';
    const cookie = `session=${browser.cookies.get('session')}`;
    const send = (body: string, type = 'application/x-www-form-urlencoded') =>
      fetch(`${site.origin}/account/sign-out`, {
        method: 'POST',
        body,
        redirect: 'manual',
        headers: { cookie, 'content-type': type },
      });
    expect((await send(`csrf_token=${token}&x=${'x'.repeat(20_000)}`)).status).toBe(400);
    expect((await send(JSON.stringify({ csrf_token: token }), 'application/json')).status).toBe(400);
    expect((await send(`csrf_token=${token}&csrf_token=${token}`)).status).toBe(400);
    expect((await send(`csrf_token=${token}`)).status).toBe(303);
  });
});

describe('every answer', () => {
  test('carries the security headers, pages and failures alike', async () => {
    const browser = openBrowser(site.origin);
    await signIn(browser);
    for (const path of ['/account', '/account/nothing', '/account/moderation', '/account/tokens/1/revoke']) {
      const { headers } = await browser.get(path);
      const policy = headers.get('content-security-policy') ?? '';
      expect(policy).toContain("default-src 'none'");
      expect(policy).toContain("script-src 'self'");
      expect(policy).toContain("frame-ancestors 'none'");
      expect(policy).not.toContain('unsafe');
      expect(headers.get('referrer-policy')).toBe('no-referrer');
      expect(headers.get('x-content-type-options')).toBe('nosniff');
      expect(headers.get('x-frame-options')).toBe('DENY');
      expect(headers.get('cache-control')).toBe('no-store');
    }
  });

  test('needs nothing inline: no script, style or handler attribute stands in the markup', async () => {
    const browser = openBrowser(site.origin);
    for (const { text } of [await browser.get('/account'), await signIn(browser)]) {
      expect(text).not.toMatch(/<script(?![^>]* src=)/);
      expect(text).not.toMatch(/<style|\sstyle=|\son\w+=/);
    }
  });

  test('names stylesheet and script by the hash of their bytes, to be kept for ever', async () => {
    const page = await openBrowser(site.origin).get('/account');
    const addresses = [...page.text.matchAll(/(?:href|src)="(\/account\/assets\/[^"]+)"/g)].map(
      ([, path]) => path ?? '',
    );
    expect(addresses).toHaveLength(3);
    for (const path of addresses) {
      const response = await fetch(site.origin + path);
      expect(response.status).toBe(200);
      expect(response.headers.get('cache-control')).toBe('public, max-age=31536000, immutable');
      expect(response.headers.get('x-content-type-options')).toBe('nosniff');
      const etag = response.headers.get('etag') ?? '';
      const known = await fetch(site.origin + path, { headers: { 'if-none-match': etag } });
      expect(known.status).toBe(304);
    }
    expect((await fetch(`${site.origin}/account/assets/account.css`)).status).toBe(404);
    expect((await fetch(`${site.origin}/account/assets/..%2faccount.tsx`)).status).toBe(404);
  });
});

describe('the persona name', () => {
  test('comes from Steam at each sign-in when there is a key, and stays when Steam says nothing', async () => {
    const steamApi = startSteamApi();
    const named = startAccountSite({ db, steam, steamApi: { apiUrl: steamApi.url, apiKey: steamApi.key } });
    try {
      const avatarfull = 'https://avatars.steamstatic.com/a_full.jpg';
      steamApi.players = { [steam.steamId]: { personaname: 'First', avatarfull } };
      const page = await signIn(openBrowser(named.origin));
      expect(page.text).toContain('First');
      expect(page.text).toContain(`src="${avatarfull}"`);
      steamApi.players = { [steam.steamId]: { personaname: 'Second' } };
      expect((await signIn(openBrowser(named.origin))).text).toContain('Second');
      steamApi.answer = 'fails';
      const kept = await signIn(openBrowser(named.origin));
      expect(kept.text).toContain('Second');
      expect(kept.text).toContain(`src="${avatarfull}"`);
      expect(JSON.stringify(named.log)).not.toContain(steamApi.key);
    } finally {
      await named.stop();
      await steamApi.stop();
    }
  });
});

describe('the session secret', () => {
  test('is made once and kept, so that replicas and restarts share it', async () => {
    const [one, two] = await Promise.all([
      loadSessionSecret(db, undefined),
      loadSessionSecret(db, undefined),
    ]);
    expect(one).toBe(two);
    expect(one).toHaveLength(43);
    expect(await loadSessionSecret(db, undefined)).toBe(one);
  });

  test('of the configuration wins', async () => {
    const configured = 'configured-0123456789-0123456789-0123';
    expect(await loadSessionSecret(db, configured)).toBe(configured);
  });
});

describe('a section of another part', () => {
  test('gets a card and routes, with session, CSRF and headers in place', async () => {
    const extended = startAccountSite({
      db,
      steam,
      sections: ({ signer }) => [
        {
          id: 'sound',
          title: (locale) => (locale === 'pl' ? 'Dźwięk' : 'Sound'),
          render: async (visit) => `<p>for ${visit.user.steamId64}</p>`,
          routes: [
            {
              method: 'POST',
              path: '/sound/:name',
              handle: async (visit, { name }) => {
                const form = await visit.request.formData();
                requireCsrfToken(signer, visit.session, visit.request, String(form.get('csrf_token')));
                return new Response(`${name} ${(form.get('file') as File).size}`);
              },
            },
          ],
        },
      ],
    });
    try {
      const browser = openBrowser(extended.origin, { language: 'pl' });
      const page = await signIn(browser);
      expect(page.text).toContain('<h2 id="sound-title">Dźwięk</h2>');
      expect(page.text).toContain(`<p>for ${steam.steamId}</p>`);
      const send = async (csrfToken: string, cookie = `session=${browser.cookies.get('session')}`) => {
        const body = new FormData();
        body.set('csrf_token', csrfToken);
        body.set('file', new File([new Uint8Array(100_000)], 'a.mp3'));
        return fetch(`${extended.origin}/account/sound/one`, { method: 'POST', body, headers: { cookie } });
      };
      const sent = await send(page.field('csrf_token') ?? '');
      expect([sent.status, await sent.text()]).toEqual([200, 'one 100000']);
      expect(sent.headers.get('content-security-policy')).toContain("default-src 'none'");
      expect((await send('x')).status).toBe(403);
      expect((await send(page.field('csrf_token') ?? '', '')).status).toBe(401);
    } finally {
      await extended.stop();
    }
  });
});

test('a failure of ours is a page with a reference, and its cause only in the log', async () => {
  const broken = startAccountSite({
    db,
    steam,
    sections: () => [
      { id: 'broken', title: () => 'Broken', render: async () => Promise.reject(new Error('secret detail')) },
    ],
  });
  try {
    const page = await signIn(openBrowser(broken.origin));
    expect(page.status).toBe(500);
    expect(page.text).not.toContain('secret detail');
    const reference = /Reference: (\w+)/.exec(page.text)?.[1] ?? 'none';
    expect(
      broken.log.some(
        ({ level, fields }) => level === 'error' && 'errorId' in fields && fields.errorId === reference,
      ),
    ).toBe(true);
  } finally {
    await broken.stop();
  }
});

test('trips to Steam and forms have a limit', async () => {
  const spent = { take: () => ({ isAllowed: false }) };
  const free = { take: () => ({ isAllowed: true }) };
  const limited = startAccountSite({ db, steam, limits: { trips: spent, forms: free } });
  const page = await openBrowser(limited.origin).get('/account/sign-in');
  await limited.stop();
  expect([page.status, page.headers.get('retry-after')]).toEqual([429, '60']);

  const formless = startAccountSite({ db, steam, limits: { trips: free, forms: spent } });
  const browser = openBrowser(formless.origin);
  await signIn(browser);
  const status = (await browser.post('/account/sign-out')).status;
  await formless.stop();
  expect(status).toBe(429);
});
