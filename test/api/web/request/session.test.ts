import { describe, expect, spyOn, test } from 'bun:test';
import { eq } from 'drizzle-orm';
import { en } from '../../../../api/web/locales/en.ts';
import { pl } from '../../../../api/web/locales/pl.ts';
import { createSigner, loadSessionSecret } from '../../../../api/web/request/signing.ts';
import { auditLog, sessions } from '../../../../src/db/schema/accounts.ts';
import { aSteamId } from '../../../support/database/builders.ts';
import { type Browser, openBrowser, signIn } from '../../../support/web/browser.ts';
import { cardOf, noticesOf, rowsOf } from '../../../support/web/page-text.ts';
import { openUserSite } from '../../../support/web/user-site.ts';

const { device, current, end } = en.sessions;

const { db, steam, site, startSite, player, signedIn, userOf } = await openUserSite();
const DAY_MS = 86_400_000;
const FIREFOX = 'Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:140.0) Gecko/20100101 Firefox/140.0';
const SAFARI =
  'Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.0 Mobile/15E148 Safari/604.1';

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
    const browser = openBrowser(startSite({ settings: { publicUrl: 'https://community.example' } }).origin);
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
    const out = await here.follow(await here.post('/account/sign-out-everywhere'));
    expect(out.text).toContain(en.signIn.button);
    expect(noticesOf(out.text)).toEqual([[undefined, en.notices['signed-out-everywhere']]]);
    expect((await elsewhere.get('/account')).text).toContain(en.signIn.button);
  });
});

async function openBrowserAs(agent: string): Promise<Browser> {
  const browser = openBrowser(site.origin, { agent });
  await signIn(browser);
  return browser;
}

/** The text of each cell in the list of sessions; the last column is the button. */
async function listRows(browser: Browser, language = 'en'): Promise<string[]> {
  const { text } = await browser.get('/account', { 'accept-language': language });
  return rowsOf(cardOf(text, 'sessions'));
}

describe('the list of sessions', () => {
  test('names each by browser, system and time, this one first', async () => {
    const phone = await openBrowserAs(SAFARI);
    const computer = await openBrowserAs(FIREFOX);
    const daysAgo = (days: number) => new Date(Date.now() - days * DAY_MS);
    await db
      .update(sessions)
      .set({ createdAt: daysAgo(3), seenAt: daysAgo(1) })
      .where(eq(sessions.browser, 'Safari'));
    await db
      .update(sessions)
      .set({ createdAt: daysAgo(2) })
      .where(eq(sessions.browser, 'Firefox'));
    expect(await listRows(computer)).toEqual([
      `${device('Firefox', 'Windows')} ${current} now 2 days ago`,
      `${device('Safari', 'iOS')} 1 day ago 3 days ago ${end}`,
    ]);
    expect(await listRows(phone, 'pl')).toEqual([
      `${pl.sessions.device('Safari', 'iOS')} ${pl.sessions.current} teraz 3 dni temu`,
      `${pl.sessions.device('Firefox', 'Windows')} teraz 2 dni temu ${pl.sessions.end}`,
    ]);
  });

  test('says how long a session lasts', async () => {
    const { text } = await (await openBrowserAs(FIREFOX)).get('/account');
    expect(text).toContain(en.sessions.lead({ unused: 30, most: 180 }));
  });

  test('stores no text of an unknown user agent', async () => {
    for (const agent of ['curl/8.5.0', '', '<script>alert(1)</script>/1 x', 'x'.repeat(4000)]) {
      const [row] = await listRows(await openBrowserAs(agent));
      expect([agent, row]).toEqual([agent, `${device(null, null)} ${current} now now`]);
    }
  });

  test('ends the one that is chosen, and says so there', async () => {
    const lost = await openBrowserAs(SAFARI);
    const other = await openBrowserAs(FIREFOX);
    const here = await openBrowserAs(FIREFOX);
    const { text } = await here.get('/account');
    const ids = [...text.matchAll(/name="session" value="([^"]+)"/g)].map(([, id]) => id ?? '');
    expect(ids).toHaveLength(2);
    // The most recently used session comes first.
    const ended = await here.post('/account/sessions/end', { session: ids[1] ?? '' });
    expect([ended.status, ended.location]).toEqual([303, '/account#sessions']);
    const after = (await here.get('/account')).text;
    expect(noticesOf(after)).toEqual([['sessions', en.notices['session-ended']]]);
    expect(rowsOf(cardOf(after, 'sessions'))).toHaveLength(2);
    expect((await lost.get('/account')).text).toContain(en.signIn.button);
    expect((await other.get('/account')).text).toContain(player.steamId);
    const entries = await db.select().from(auditLog).where(eq(auditLog.action, 'user.session-ended'));
    expect(entries).toMatchObject([
      { subject: player.steamId, details: { browser: 'Safari', system: 'iOS' } },
    ]);
  });

  test('ends nobody else’s, and none without the CSRF token', async () => {
    const victim = await openBrowserAs(SAFARI);
    const helper = await openBrowserAs(SAFARI);
    const id = (await helper.get('/account')).field('session') ?? '';
    steam.steamId = aSteamId(700);
    const stranger = await openBrowserAs(FIREFOX);
    expect((await stranger.post('/account/sessions/end', { session: id })).status).toBe(303);
    expect((await helper.post('/account/sessions/end', { session: id, csrf_token: 'x' })).status).toBe(403);
    expect((await victim.get('/account')).text).toContain(player.steamId);
  });

  test("ends nothing for an id that is not a session's", async () => {
    const browser = await openBrowserAs(SAFARI);
    for (const session of ['', '\0', 'x'.repeat(5000)]) {
      expect((await browser.post('/account/sessions/end', { session })).status).toBe(303);
    }
    expect(site.log.filter(({ level }) => level === 'error')).toEqual([]);
  });
});

test('generates the session secret once and stores it, so that replicas and restarts share it', async () => {
  const [one, two] = await Promise.all([loadSessionSecret(db, undefined), loadSessionSecret(db, undefined)]);
  expect(one).toBe(two);
  expect(one).toHaveLength(43);
  expect(await loadSessionSecret(db, undefined)).toBe(one);
});

test('prefers the session secret of the configuration', async () => {
  const configured = 'configured-0123456789-0123456789-0123';
  expect(await loadSessionSecret(db, configured)).toBe(configured);
});

describe('the signer', () => {
  const signer = createSigner('s'.repeat(32));

  test('opens what it sealed for the same purpose only', () => {
    const sealed = signer.seal('one', 'żółw');
    expect(signer.open('one', sealed)).toBe('żółw');
    expect(signer.open('other', sealed)).toBeUndefined();
    expect(createSigner('t'.repeat(32)).open('one', sealed)).toBeUndefined();
  });

  test('refuses a sealed value that was changed in any way', () => {
    // 31 bytes, whose last character of base64url has two spare bits.
    const sealed = signer.seal('one', 'abc');
    const changed = [...sealed].flatMap((character, at) =>
      ['A', 'B', 'C', 'D', '-', '=', ''].flatMap((other) =>
        other === character ? [] : [sealed.slice(0, at) + other + sealed.slice(at + 1)],
      ),
    );
    for (const other of [
      ...changed,
      `${sealed}=`,
      `${sealed} `,
      `${sealed}\n`,
      `${sealed}!`,
      `.${sealed}`,
      '',
    ]) {
      expect([other, signer.open('one', other)]).toEqual([other, undefined]);
    }
  });
});
