import { describe, expect, spyOn, test } from 'bun:test';
import { loadAssets } from '../../../api/web/layout/assets.ts';
import { en } from '../../../api/web/locales/en.ts';
import { pl } from '../../../api/web/locales/pl.ts';
import { createPublicResponse } from '../../../api/web/public-response.ts';
import type { Visit } from '../../../api/web/request/visit.ts';
import { users } from '../../../src/db/schema/accounts.ts';
import { insertServer } from '../../support/database/builders.ts';
import { createTestDatabase } from '../../support/database/database.ts';
import { startTestService } from '../../support/service/service.ts';
import { openBrowser, signIn } from '../../support/web/browser.ts';
import { openUserSite } from '../../support/web/user-site.ts';

const { db, site, startSite, signedIn } = await openUserSite();

test('visitors are sent to the sign-in from a page, and get 401 for a form', async () => {
  const browser = openBrowser(site.origin);
  const page = await browser.get('/account/moderation');
  expect([page.status, page.location]).toEqual([303, '/account?next=%2Faccount%2Fmoderation']);
  expect((await browser.follow(page)).text).toContain(en.notices['sign-in-first']);
  expect((await browser.get('/account')).text).not.toContain(en.notices['sign-in-first']);
  expect((await browser.post('/account/tokens', { name: 'x' })).status).toBe(401);
});

test('an address that is too long gives a page that says so', async () => {
  const browser = openBrowser(site.origin);
  expect((await browser.get(`/account?${'a&'.repeat(4096)}`)).status).toBe(200);
  const page = await browser.get(`/account?a&${'a&'.repeat(4096)}`);
  expect([page.status, page.headers.get('content-type')]).toEqual([400, 'text/html; charset=utf-8']);
  expect(page.text).toContain(en.errors['address-too-long']);
});

test('the language of a page follows Accept-Language with its qualities', async () => {
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

test.each([
  ['/account?lang=pl', '/account'],
  ['/account?next=%2Fpenalties&lang=pl', '/account?next=%2Fpenalties'],
  ['/account/nothing?lang=en&page=2', '/account/nothing?page=2'],
])('%s sets the cookie and leads to %s', async (path, location) => {
  for (const method of ['GET', 'HEAD']) {
    const { status, headers } = await fetch(site.origin + path, { method, redirect: 'manual' });
    expect([status, headers.get('location')]).toEqual([303, location]);
    expect(headers.get('cache-control')).toBe('no-store');
  }
});

test('an address with a language chooses nothing for a form, and nothing by an unknown language', async () => {
  const browser = openBrowser(site.origin);
  expect((await browser.post('/account/tokens?lang=pl')).status).toBe(401);
  expect((await browser.get('/account?lang=xx')).status).toBe(200);
});

test('somebody who is blocked is told so, and led only to what they can open', async () => {
  const browser = await signedIn();
  await db.update(users).set({ blockedAt: new Date(), blockReason: 'Spam' });
  for (const path of ['/account', '/account/moderation', '/account/data']) {
    const { status, text } = await browser.get(path);
    const error = /<section class="card narrow".*?<\/section>/s.exec(text)?.[0] ?? '';
    expect([status, error.match(/href="[^"]*"/g)]).toEqual([403, ['href="/"']]);
    expect(error).toContain(en.errors.because('Spam'));
  }
});

test('the status page of a member is kept by their browser alone, which asks each time whether it has changed', async () => {
  const browser = await signedIn();
  const { headers } = await browser.get('/');
  expect(headers.get('cache-control')).toBe('private, no-cache');
  const again = await browser.get('/', { 'if-none-match': headers.get('etag') ?? '' });
  expect([again.status, again.headers.get('cache-control')]).toEqual([304, 'private, no-cache']);
});

test.each<[who: string, visit: Partial<Visit>, cacheControl: string]>([
  ['a visitor', {}, 'public, max-age=5'],
  ['somebody whose session cannot be looked up', { isUnidentified: true }, 'private, no-cache'],
  ['a visitor who gets a cookie', { cookies: ['notice='] }, 'private, no-cache'],
  ['a visitor of the demo', { isDemo: true }, 'private, no-cache'],
])('the page of %s is kept by whom it may', async (_, visit, cacheControl) => {
  const respond = createPublicResponse(loadAssets(undefined));
  const request = new Request('http://localhost/');
  const visitor = { request, url: new URL(request.url), language: 'en', cookies: [] as string[] } as Visit;
  const { headers } = await respond({ ...visitor, ...visit }, async () => 'page' as never);
  expect(headers.get('cache-control')).toBe(cacheControl);
});

describe('every response', () => {
  test('responses are compressed unless they contain a secret', async () => {
    const browser = openBrowser(site.origin);
    const encodingOf = async (path: string) => {
      const { headers } = await browser.get(path, { 'accept-encoding': 'gzip' });
      return [headers.get('content-encoding'), headers.get('vary')];
    };
    const paths = ['/account', '/account/nothing'];
    expect(await Promise.all(paths.map(encodingOf))).toEqual(paths.map(() => ['gzip', 'Accept-Encoding']));
    await signIn(browser);
    expect(await Promise.all(paths.map(encodingOf))).toEqual(paths.map(() => [null, 'Accept-Encoding']));
  });

  test('carries the security headers, pages and failures alike', async () => {
    const browser = await signedIn();
    for (const path of ['/account', '/account/nothing', '/account/moderation']) {
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

  test('needs nothing inline but the stylesheet that the policy names: no script, style or handler attribute', async () => {
    const browser = openBrowser(site.origin);
    const visitor = await browser.get('/account');
    const [element = '', styles = ''] = /<style>([^<]+)<\/style>/.exec(visitor.text) ?? [];
    const hash = new Bun.CryptoHasher('sha256').update(styles).digest('base64');
    expect(visitor.headers.get('content-security-policy')).toContain(`style-src 'self' 'sha256-${hash}';`);
    for (const text of [visitor.text.replace(element, ''), (await signIn(browser)).text]) {
      expect(text).not.toMatch(/<script(?![^>]* src=)/);
      expect(text).not.toMatch(/<style|\sstyle=|\son\w+=/);
    }
  });

  test('names stylesheet and script by the hash of their bytes, to be kept for ever', async () => {
    const browser = openBrowser(site.origin);
    const [visitor, member] = [await browser.get('/account'), await signIn(browser)].map(({ text }) =>
      [...text.matchAll(/(?:href|src)="(\/account\/assets\/[^"]+)"/g)].map(([, path]) => path ?? ''),
    );
    expect(visitor?.map((path) => path.slice(path.lastIndexOf('.')))).toEqual(['.svg', '.js']);
    expect(member?.map((path) => path.slice(path.lastIndexOf('.')))).toEqual(['.svg', '.css', '.js', '.js']);
    for (const path of [...(visitor ?? []), ...(member ?? [])]) {
      const response = await fetch(site.origin + path);
      expect(response.status).toBe(200);
      expect(response.headers.get('cache-control')).toBe('public, max-age=31536000, immutable');
      expect(response.headers.get('x-content-type-options')).toBe('nosniff');
      const etag = response.headers.get('etag') ?? '';
      const known = await fetch(site.origin + path, { headers: { 'if-none-match': etag } });
      expect(known.status).toBe(304);
    }
    expect((await fetch(`${site.origin}/account/assets/pages.css`)).status).toBe(404);
    expect((await fetch(`${site.origin}/account/assets/..%2faccount.tsx`)).status).toBe(404);
  });
});

test('a failure of ours is a page with an error ID, and its cause only in the log', async () => {
  const broken = startSite({
    sounds: {
      limits: { maxSeconds: 10, maxUploadBytes: 1024, audience: 'everyone' },
      receiveUpload: async () => 'key',
      queueUpload: async () => {},
      removeSound: () => Promise.reject(new Error('secret detail')),
    },
  });
  const browser = openBrowser(broken.origin);
  await signIn(browser);
  const page = await browser.post('/account/roundsound/delete');
  expect(page.status).toBe(500);
  expect(page.text).not.toContain('secret detail');
  const requestId = new RegExp(en.errors.requestId('([\\w-]+)')).exec(page.text)?.[1] ?? 'none';
  expect(page.headers.get('x-request-id') ?? requestId).toBe(requestId);
  expect(broken.log).toContainEqual(
    expect.objectContaining({ level: 'error', fields: expect.objectContaining({ requestId }) }),
  );
});

const spent = { take: () => ({ isAllowed: false, resetSeconds: 17 }) };

test('sign-in attempts have a limit, and its page costs less than what it refuses: it is small, and neither compressed nor with its styles', async () => {
  const browser = openBrowser(startSite({ limits: { attempts: spent } }).origin);
  const { status, headers, text } = await browser.get('/account/sign-in', { 'accept-encoding': 'gzip' });
  expect([status, headers.get('retry-after'), headers.get('cache-control')]).toEqual([429, '17', 'no-store']);
  expect(text).toContain(en.errors['too-many-requests'](17));
  expect(text).toContain(`<h1 id="error">${en.errors.titles.tooMany}</h1>`);
  expect(headers.get('content-encoding')).toBeNull();
  expect(text.length).toBeLessThan(8000);
  const [, styles = ''] = /<link rel="stylesheet" href="([^"]+)"/.exec(text) ?? [];
  expect((await browser.get(styles)).headers.get('content-type')).toStartWith('text/css');
});

test('forms have a limit', async () => {
  const browser = await signedIn(undefined, { at: startSite({ limits: { forms: spent } }) });
  expect((await browser.post('/account/sign-out')).status).toBe(429);
});

test('pages that a signed-in user opens have a separate limit, towards which forms do not count', async () => {
  let allowed = Number.POSITIVE_INFINITY;
  const keys = new Set<string>();
  const take = (key: string) => {
    keys.add(key);
    allowed -= 1;
    return { isAllowed: allowed >= 0, resetSeconds: 17 };
  };
  const limited = startSite({ limits: { userPages: { take } } });
  const [member, visitor] = [openBrowser(limited.origin), openBrowser(limited.origin)];
  await signIn(member);
  allowed = 2;
  const opened = [
    await member.get('/account'),
    await member.get('/account/data'),
    await member.get('/account'),
  ];
  const others = [await visitor.get('/account'), await member.post('/account/sign-out')];
  expect(opened.map(({ status }) => status)).toEqual([200, 200, 429]);
  expect(opened[2]?.headers.get('retry-after')).toBe('17');
  expect(others.map(({ status }) => status)).toEqual([200, 303]);
  expect([...keys]).toEqual([expect.stringMatching(/^user \d+$/)]);
});

const { db: servicesDb, url } = await createTestDatabase();
await insertServer(servicesDb, { slug: 'one' });
const service = await startTestService({ databaseUrl: url, env: { PUBLIC_PENALTIES: '1' } });

const READ_ONLY = [
  '/',
  '/servers/one',
  '/servers/one/',
  '/servers/nope',
  '/servers/one/banner.png',
  '/connect/one',
  '/penalties',
  '/account',
  '/account/',
  '/account/sign-in',
  '/account/sign-in/return',
  '/account/assets/pages.css',
  '/account/moderation',
  '/account/moderation/users/76561198000000001',
];
const FORMS = [
  '/account/tokens',
  '/account/tokens/1/revoke',
  '/account/sign-out',
  '/account/roundsound',
  '/account/moderation/webhooks/1/test',
];
const BOTH = ['/account/moderation/webhooks'];

test.each([
  ['GET, HEAD', READ_ONLY, ['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'PROPFIND']],
  ['POST', FORMS, ['GET', 'HEAD', 'PUT', 'DELETE', 'OPTIONS']],
  ['GET, HEAD, POST', BOTH, ['PUT', 'DELETE', 'OPTIONS']],
])('a method that a page does not have is 405 with Allow: %s', async (allowed, paths, methods) => {
  for (const origin of [service.origin, site.origin]) {
    // The other site shows no penalties.
    for (const path of paths.filter((path) => origin === service.origin || path !== '/penalties')) {
      for (const method of methods) {
        const response = await fetch(origin + path, { method, redirect: 'manual' });
        const found = [method, path, response.status, response.headers.get('allow')];
        expect(found).toEqual([method, path, 405, allowed]);
        expect(response.headers.get('content-type')).toBe('text/html; charset=utf-8');
        expect(response.headers.get('cache-control')).toBe('no-store');
      }
    }
  }
});

test('a path without a page gives 404 for every method', async () => {
  for (const path of ['/nope', '/servers', '/servers/one/nope', '/account/nope', '/account/tokens/1/nope']) {
    for (const method of ['GET', 'POST', 'DELETE']) {
      const response = await fetch(service.origin + path, { method, headers: { accept: 'text/html' } });
      const facts = ['allow', 'content-type'].map((name) => response.headers.get(name));
      const expected = [404, null, 'text/html; charset=utf-8'];
      expect([method, path, response.status, ...facts]).toEqual([method, path, ...expected]);
    }
  }
});

test('a visitor who opens the address of a form is shown the way to it, in their language', async () => {
  const browser = await signedIn();
  const page = await browser.get('/account/tokens');
  expect(page.text).toContain(en.errors['only-forms']);
  expect(page.text).toContain('href="/account#tokens"');
  const polish = await browser.get('/account/tokens', { 'accept-language': 'pl' });
  expect(polish.text).toContain(pl.errors['only-forms']);
  const visitor = await openBrowser(site.origin).get('/account/tokens');
  expect(visitor.text).not.toContain(en.errors.retry);
  const posted = await browser.post('/servers/one');
  expect(posted.text).toContain(en.errors['no-forms']);
});

test('no header is parsed before the limits: many cookies would take longer than the page', async () => {
  // Elysia converts the headers, then parses query and cookies, for a handler that it gives its whole context.
  using parsing = spyOn(Headers.prototype, 'toJSON');
  for (const path of [...READ_ONLY, ...FORMS, ...BOTH, '/account/nope']) {
    for (const method of ['GET', 'HEAD', 'POST', 'PUT']) {
      await fetch(service.origin + path, { method, redirect: 'manual' });
      expect([method, path, parsing.mock.calls.length]).toEqual([method, path, 0]);
    }
  }
});
