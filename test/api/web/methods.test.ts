import { describe, expect, spyOn, test } from 'bun:test';
import { PAGE_TEXTS } from '../../../api/web/locales/texts.ts';
import { insertServer } from '../../support/database/builders.ts';
import { createTestDatabase } from '../../support/database/database.ts';
import { startTestService } from '../../support/service/service.ts';
import { openBrowser } from '../../support/web/browser.ts';
import { openMemberSite } from '../../support/web/member-site.ts';

const { en } = PAGE_TEXTS;

const { site, signedIn } = await openMemberSite();
const { db, url } = await createTestDatabase();
await insertServer(db, { slug: 'one' });
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

describe('a method that a page does not have is 405 with Allow', () => {
  test.each([
    ['GET, HEAD', READ_ONLY, ['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'PROPFIND']],
    ['POST', FORMS, ['GET', 'HEAD', 'PUT', 'DELETE', 'OPTIONS']],
    ['GET, HEAD, POST', BOTH, ['PUT', 'DELETE', 'OPTIONS']],
  ])('%s', async (allowed, paths, methods) => {
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
    for (const path of [
      '/nope',
      '/servers',
      '/servers/one/nope',
      '/account/nope',
      '/account/tokens/1/nope',
    ]) {
      for (const method of ['GET', 'POST', 'DELETE']) {
        const response = await fetch(service.origin + path, { method, headers: { accept: 'text/html' } });
        expect([method, path, response.status, response.headers.get('allow')]).toEqual([
          method,
          path,
          404,
          null,
        ]);
      }
    }
  });
});

test('a visitor who opens the address of a form is shown the way to it, in their language', async () => {
  const browser = await signedIn();
  const page = await browser.get('/account/tokens');
  expect(page.text).toContain(PAGE_TEXTS.en.errors['only-forms']);
  expect(page.text).toContain('href="/account#tokens"');
  const polish = await browser.get('/account/tokens', { 'accept-language': 'pl' });
  expect(polish.text).toContain(PAGE_TEXTS.pl.errors['only-forms']);
  const visitor = await openBrowser(site.origin).get('/account/tokens');
  expect(visitor.text).not.toContain(en.errors.retry);
  const posted = await browser.post('/servers/one');
  expect(posted.text).toContain(PAGE_TEXTS.en.errors['no-forms']);
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
