import { describe, expect, test } from 'bun:test';
import { eq } from 'drizzle-orm';
import { PAGE_TEXTS } from '../../../../api/web/locales/texts.ts';
import { auditLog, sessions } from '../../../../src/db/schema/accounts.ts';
import { aSteamId } from '../../../support/database/builders.ts';
import { type Browser, openBrowser, signIn } from '../../../support/web/browser.ts';
import { openMemberSite } from '../../../support/web/member-site.ts';
import { textOf } from '../../../support/web/page-text.ts';

const { en, pl } = PAGE_TEXTS;
const { device, current, end } = en.sessions;

const { db, steam, site, player } = await openMemberSite();
const DAY_MS = 86_400_000;
const FIREFOX = 'Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:140.0) Gecko/20100101 Firefox/140.0';
const SAFARI =
  'Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.0 Mobile/15E148 Safari/604.1';

async function openBrowserAs(agent: string): Promise<Browser> {
  const browser = openBrowser(site.origin, { agent });
  await signIn(browser);
  return browser;
}

/** The text of each cell in the list of sessions; the last column is the button. */
async function listRows(browser: Browser, language = 'en'): Promise<string[]> {
  const { text } = await browser.get('/account', { 'accept-language': language });
  const card = /<section class="card" id="sessions".*?<\/section>/s.exec(text)?.[0] ?? '';
  return [...card.matchAll(/<tr>(.*?)<\/tr>/gs)].slice(1).map(([, row = '']) => textOf(row));
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
    expect(await listRows(here)).toHaveLength(2);
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
