import { describe, expect, spyOn, test } from 'bun:test';
import { eq } from 'drizzle-orm';
import { PAGE_TEXTS } from '../../../../api/web/locales/texts.ts';
import { loadSessionSecret } from '../../../../api/web/request/signing.ts';
import { sessions } from '../../../../src/db/schema/accounts.ts';
import { openBrowser, signIn } from '../../../support/web/browser.ts';
import { openMemberSite } from '../../../support/web/member-site.ts';

const { en } = PAGE_TEXTS;

const { db, steam, site, startSite, player, signedIn, userOf } = await openMemberSite();
const DAY_MS = 86_400_000;

describe('a session', () => {
  test('a session has a signed, HttpOnly, SameSite=Lax cookie of thirty days, and is stored as a hash', async () => {
    const browser = await signedIn();
    const line = browser.setCookies.find((cookie) => cookie.startsWith('session='));
    expect(line).toMatch(/^session=[\w-]{43}\.[\w-]{43}; Path=\/; Max-Age=2592000; HttpOnly; SameSite=Lax$/);
    const id = browser.cookies.get('session')?.split('.')[0] ?? '';
    const stored = await db.select({ idHash: sessions.idHash }).from(sessions);
    expect(stored.some(({ idHash }) => idHash.includes(id))).toBe(false);
  });

  test("the session's cookie is Secure with the __Host- prefix, and pages send HSTS, when the public address is https", async () => {
    const browser = openBrowser(startSite({ publicUrl: 'https://community.example' }).origin);
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
  });

  test('a session with a changed id or signature, or sent twice, is not valid', async () => {
    const browser = await signedIn();
    const [id = '', signature = ''] = browser.cookies.get('session')?.split('.') ?? [];
    const session = `${id}.${signature}`;
    for (const value of [
      `${id}x.${signature}`,
      `${session}x`,
      `${id}.`,
      id,
      `${session}.x`,
      `x; session=${session}`,
      '',
    ]) {
      browser.cookies.set('session', value);
      const { text } = await browser.get('/account');
      expect([value, text.includes(en.signIn.button)]).toEqual([value, true]);
    }
  });

  test('an ended session is looked up once, however often its cookie is sent', async () => {
    const browser = await signedIn();
    const cookie = browser.cookies.get('session') ?? '';
    await browser.post('/account/sign-out');
    browser.cookies.set('session', cookie);
    await browser.get('/account');
    using queries = spyOn(db, 'select');
    for (let i = 0; i < 3; i++) expect((await browser.get('/account')).text).toContain(en.signIn.button);
    expect(queries).not.toHaveBeenCalled();
  });

  test('a session is found beside 8 kB of other cookies, and not read among more', async () => {
    const browser = await signedIn();
    const isSignedIn = async () => !(await browser.get('/account')).text.includes(en.signIn.button);
    browser.cookies.set('other', 'x'.repeat(7900));
    expect(await isSignedIn()).toBe(true);
    browser.cookies.set('other', 'x'.repeat(8192));
    expect(await isSignedIn()).toBe(false);
  });

  test('slides: thirty days after the last visit, not after the first', async () => {
    const browser = await signedIn();
    const start = Date.now();
    for (const days of [29, 58, 87]) {
      site.clock.now = new Date(start + days * DAY_MS);
      expect((await browser.get('/account')).text).toContain(steam.steamId);
    }
    site.clock.now = new Date(start + (87 + 30) * DAY_MS + 1000);
    expect((await browser.get('/account')).text).toContain(en.signIn.button);
  });

  test('ends 180 days after the sign-in, however much it is used, and its cookie with it', async () => {
    const browser = await signedIn();
    const start = Date.now();
    for (let days = 20; days < 180; days += 20) {
      site.clock.now = new Date(start + days * DAY_MS);
      expect((await browser.get('/account')).text).toContain(steam.steamId);
    }
    const maxAge = Number(
      /Max-Age=(\d+)/.exec(browser.setCookies.findLast((c) => c.startsWith('session=')) ?? '')?.[1],
    );
    expect(maxAge).toBeWithin(20 * 86_400 - 60, 20 * 86_400 + 60);
    site.clock.now = new Date(start + 180 * DAY_MS + 60_000);
    expect((await browser.get('/account')).text).toContain(en.signIn.button);
  });

  test('ends here on sign-out, and stays elsewhere', async () => {
    const [here, elsewhere] = [await signedIn(), await signedIn()];
    expect((await here.get('/account')).text).toContain(en.sessions.count(2));
    const cookie = here.cookies.get('session') ?? '';
    const out = await here.post('/account/sign-out');
    expect([out.status, out.location]).toEqual([303, '/account']);
    here.cookies.set('session', cookie);
    expect((await here.get('/account')).text).toContain(en.signIn.button);
    expect((await elsewhere.get('/account')).text).toContain(`${en.sessions.count(1)}<`);
  });

  test('ends once its user has a hundred that were used more recently', async () => {
    const browser = await signedIn();
    const { id: userId } = await userOf();
    await db.insert(sessions).values(
      Array.from({ length: 120 }, (_, number) => ({
        idHash: `${player.steamId} ${number}`,
        userId,
        seenAt: new Date(Date.now() - 1000 * (number + 1)),
        expiresAt: new Date(Date.now() + DAY_MS),
      })),
    );
    expect((await browser.get('/account')).text).toContain(en.sessions.count(121));
    const latest = openBrowser(site.origin);
    expect((await signIn(latest)).text).toContain(en.sessions.count(100));
    const rows = await db.select().from(sessions).where(eq(sessions.userId, userId));
    const hashes = rows.map(({ idHash }) => idHash);
    expect(hashes).toContain(`${player.steamId} 97`);
    expect(hashes).not.toContain(`${player.steamId} 98`);
    expect((await browser.get('/account')).text).toContain(player.steamId);
  });

  test('ends everywhere on request', async () => {
    const [here, elsewhere] = [await signedIn(), await signedIn()];
    await here.post('/account/sign-out-everywhere');
    expect((await elsewhere.get('/account')).text).toContain(en.signIn.button);
    expect((await here.get('/account')).text).toContain(en.signIn.button);
  });
});

describe('the session secret', () => {
  test('generates the session secret once and stores it, so that replicas and restarts share it', async () => {
    const [one, two] = await Promise.all([
      loadSessionSecret(db, undefined),
      loadSessionSecret(db, undefined),
    ]);
    expect(one).toBe(two);
    expect(one).toHaveLength(43);
    expect(await loadSessionSecret(db, undefined)).toBe(one);
  });

  test('prefers the session secret of the configuration', async () => {
    const configured = 'configured-0123456789-0123456789-0123';
    expect(await loadSessionSecret(db, configured)).toBe(configured);
  });
});
