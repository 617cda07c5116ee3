import { describe, expect, test } from 'bun:test';
import { PAGE_TEXTS } from '../../../../api/web/locales/texts.ts';
import { type Browser, openBrowser, type Page, signIn } from '../../../support/web/browser.ts';
import { CONFIGURED_OWNER, openMemberSite } from '../../../support/web/member-site.ts';

const { steam, site } = await openMemberSite({ arePenaltiesPublic: true });

describe('after signing in', () => {
  const OWNER = CONFIGURED_OWNER;

  /** Opens a page, follows its link to the sign-in, and signs in. */
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
    '/account/moderation/audit?page=7',
    `/account/moderation/users/${OWNER}`,
  ])('people land on %s, where they wanted to go', async (path) => {
    steam.steamId = OWNER;
    const back = await signInFrom(openBrowser(site.origin), path);
    expect([back.status, back.location]).toEqual([303, path]);
  });

  test.each([
    ['/servers/mirage', '/servers/mirage'],
    ['/connect/mirage?lang=pl', '/connect/mirage'],
    ['/penalties?q=Rze%C5%BA+%26+co&status=ACTIVE', '/penalties?q=Rze%C5%BA+%26+co&status=ACTIVE'],
    ['/penalties?q=a&lang=pl&page=2', '/penalties?q=a&page=2'],
    ['/servers/nowhere', '/servers/nowhere'],
    // `/` has nothing more for signed-in members; their account page does.
    ['/', '/account'],
  ])('people who sign in from %s come back to it', async (path, end) => {
    steam.steamId = OWNER;
    const browser = openBrowser(site.origin);
    const opened = await browser.get(path);
    const page = opened.status === 303 ? await browser.follow(opened) : opened;
    const link = /class="sign-in" href="([^"]*)"/.exec(page.text)?.[1] ?? '';
    const back = await signInFrom(browser, link.replaceAll('&amp;', '&'));
    expect([back.status, back.location]).toEqual([303, end]);
  });

  test.each([
    [`/account/moderation/users/${OWNER}/block`, `/account/moderation/users/${OWNER}`],
    ['/account/moderation/webhooks', '/account/moderation/webhooks'],
    ['/account/moderation/webhooks/1/test', '/account/moderation/webhooks/1'],
    ['/account/tokens', '/account'],
    ['/account/delete', '/account'],
  ])('people whose session ended before they sent a form to %s land on its page', async (path, end) => {
    steam.steamId = OWNER;
    const browser = openBrowser(site.origin);
    const refused = await browser.post(path);
    expect(refused.status).toBe(401);
    const link = refused.text.includes(`>${PAGE_TEXTS.en.errors.retry}<`)
      ? /href="(\/account\/sign-in[^"]*)"/.exec(refused.text)?.[1]
      : '';
    const back = await browser.follow(
      await browser.follow(await browser.get(link?.replaceAll('&amp;', '&') ?? '')),
    );
    expect([back.status, back.location]).toEqual([303, end]);
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
    steam.steamId = OWNER;
    const back = await signInFrom(openBrowser(site.origin), `/account?${new URLSearchParams({ next })}`);
    expect(back.location).toBe('/account');
    const direct = openBrowser(site.origin);
    const start = await direct.get(`/account/sign-in?${new URLSearchParams({ next })}`);
    expect((await direct.follow(await direct.follow(start))).location).toBe('/account');
    expect((await direct.get(`/account/sign-in?${new URLSearchParams({ next })}`)).location).toBe('/account');
  });

  test('the destination survives the switch to the public address, a cancellation and a failure', async () => {
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

  test.each([
    ['start', 0],
    ['tag', 20],
    ['text', -10],
  ])('a state that was changed in its %s is refused', async (_, index) => {
    const browser = openBrowser(site.origin);
    const start = await browser.get(
      `/account/sign-in?${new URLSearchParams({ next: '/account/moderation' })}`,
    );
    const state = /state%3D([\w-]+)/.exec(start.location)?.[1] ?? '';
    const changed = state
      .split('')
      .with(index, state.at(index) === 'A' ? 'B' : 'A')
      .join('');
    const address = start.location.replace(state, changed);
    expect(address).not.toBe(start.location);
    expect((await browser.follow(await browser.get(address))).status).toBe(400);
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
