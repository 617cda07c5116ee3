import { describe, expect, test } from 'bun:test';
import { connect } from 'node:net';
import { aSteamId } from '../../../../support/database/builders.ts';
import { waitFor } from '../../../../support/wait.ts';
import { openBrowser, signIn } from '../../../../support/web/browser.ts';
import { openMemberSite } from '../../../../support/web/member-site.ts';

const { steam, site, startSite, player, signedIn } = await openMemberSite();

describe('every POST', () => {
  const paths = ['tokens', 'sign-out', 'sign-out-everywhere', 'discord/unlink'];

  test('needs the CSRF token of its session', async () => {
    const [browser, other] = [openBrowser(site.origin), openBrowser(site.origin)];
    await signIn(browser);
    steam.steamId = aSteamId(500);
    const foreign = (await signIn(other)).field('csrf_token') ?? '';
    for (const path of paths) {
      for (const token of ['', 'x', foreign]) {
        const page = await browser.post(`/account/${path}`, { name: 'x', csrf_token: token });
        expect([path, token, page.status]).toEqual([path, token, 403]);
      }
    }
    expect((await browser.get('/account')).text).toContain(player.steamId);
  });

  test('a form from another site is refused although its token is right', async () => {
    const browser = await signedIn();
    for (const from of ['cross-site', 'same-site', 'none']) {
      const page = await browser.post('/account/sign-out', {}, { 'sec-fetch-site': from });
      expect([from, page.status]).toEqual([from, 403]);
    }
    const sameOrigin = await browser.post('/account/sign-out', {}, { 'sec-fetch-site': 'same-origin' });
    expect(sameOrigin.status).toBe(303);
  });

  test('a form whose sender aborts it is not logged as a failure', async () => {
    let arrived = Promise.withResolvers<void>();
    const take = () => {
      arrived.resolve();
      return { isAllowed: true, resetSeconds: 60 };
    };
    const probed = startSite({ limits: { attempts: { take }, forms: { take } } });
    const browser = openBrowser(probed.origin);
    await signIn(browser);
    for (const framing of ['Content-Length: 1000\r\n\r\n', 'Transfer-Encoding: chunked\r\n\r\nff\r\n']) {
      arrived = Promise.withResolvers();
      const socket = connect(Number(new URL(probed.origin).port), '127.0.0.1');
      const head = `POST /account/tokens HTTP/1.1\r\nHost: x\r\nCookie: session=${browser.cookies.get('session')}\r\n`;
      await new Promise<void>((sent) => socket.write(`${head}${framing}name=half a na`, () => sent()));
      await arrived.promise;
      socket.destroy();
      await waitFor(() => probed.countPending() === 0);
    }
    // Once another request is answered, the broken ones have been handled too.
    expect((await browser.get('/account')).status).toBe(200);
    expect(probed.log).toEqual([]);
  });

  test('a form that is large, of another type, or repeats a field is refused', async () => {
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
    expect((await send(`csrf_token=${token}&x=${'x'.repeat(40_000)}`)).status).toBe(400);
    expect((await send(JSON.stringify({ csrf_token: token }), 'application/json')).status).toBe(400);
    expect((await send(`csrf_token=${token}&csrf_token=${token}`)).status).toBe(400);
    expect((await send(`csrf_token=${token}`)).status).toBe(303);
  });
});
