import { expect, test } from 'bun:test';
import { withPages } from '../../../api/http/page-wrapper.ts';
import { insertUser } from '../../support/database/builders.ts';
import { sendRaw } from '../../support/http/raw-http.ts';
import { openWholeService } from '../../support/service/whole-service.ts';

const { db, service, signInAs } = await openWholeService();
await insertUser(db, 1, { nickname: 'Rzeźnik' });

/** What browsers send with a click on a link. */
const ACCEPT = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8';
const HTML = 'text/html; charset=utf-8';
const OUTSIDE = ['/nope', '/storage/roundsound/76561198000000001.mp3', '/storage/nope', '/favicon.ico'];

const ask = async (path: string, headers: Record<string, string> = { accept: ACCEPT }) => {
  const response = await fetch(service.origin + path, { headers });
  return { status: response.status, type: response.headers.get('content-type'), text: await response.text() };
};

test.each(OUTSIDE)('a browser is shown a page at %s, a program gets JSON', async (path) => {
  const page = await ask(path);
  expect([page.status, page.type]).toEqual([404, HTML]);
  expect(page.text).toContain('<h1 id="error">Page not found</h1>');
  expect(page.text).toContain('href="/"');
  const json = await ask(path, { accept: '*/*' });
  expect([json.status, JSON.parse(json.text)]).toEqual([404, { success: false, message: 'Not found' }]);
});

test.each(['text/html,application/json;q=0.9', 'application/json, text/html;q=0.5'])(
  'a client that accepts %s is a browser too',
  async (accept) => {
    for (const path of OUTSIDE) expect([path, (await ask(path, { accept })).type]).toEqual([path, HTML]);
  },
);

test('an error page is in the browser’s language, and has the security headers of every page', async () => {
  const response = await fetch(`${service.origin}/nope`, {
    headers: { accept: ACCEPT, 'accept-language': 'pl' },
  });
  expect(await response.text()).toContain('<html lang="pl">');
  expect(response.headers.get('content-security-policy')).toContain("default-src 'none'");
  expect(response.headers.get('cache-control')).toBe('no-store');
});

test('no link or redirect of that page leads to another host', async () => {
  // `fetch` would send one slash.
  const askElsewhere = (query: string) =>
    sendRaw(service.origin, `//evil.example/x${query}`, { headers: { accept: ACCEPT } });
  for (const query of ['', `?q=${'a'.repeat(9000)}`]) {
    const { text } = await askElsewhere(query);
    expect(text).toContain('<h1 id="error">');
    expect(text).not.toMatch(/href="(?:\/\/|[a-z]+:)/);
  }
  const { status, headers } = await askElsewhere('?lang=pl');
  expect([status, headers.get('location')]).toEqual([303, '/evil.example/x']);
});

test('the navigation of that page shows who is signed in', async () => {
  const browser = await signInAs(1);
  const page = await browser.get('/nope', { accept: ACCEPT });
  expect(page.status).toBe(404);
  expect(page.text).toContain('<bdi class="menu-name">Rzeźnik</bdi>');
  expect(page.text).toContain('action="/account/sign-out"');
});

test.each(['/api/v1/nope', '/index.php/api/v1/servers/nope', '/api/v1', '/api/v1/penalties'])(
  '%s stays JSON for browsers',
  async (path) => {
    const { type, text } = await ask(path);
    expect(type).toStartWith('application/json');
    expect(JSON.parse(text).success).toBe(false);
  },
);

test.each([
  [404, true],
  [429, true],
  [500, true],
  [503, true],
  [200, false],
  [304, false],
  [400, false],
])('status %d of another part of the service becomes a page: %p', async (status, isPage) => {
  const app = {
    server: null,
    fetch: () =>
      new Response(status === 304 ? null : '{}', { status, headers: { 'content-type': 'application/json' } }),
  };
  const toErrorPage = async (_: unknown, error: Response) => new Response(`page of ${error.status}`);
  const options = { bases: ['/api/v1'], templates: [], recordRequest: () => {}, toErrorPage };
  const { fetch: respond } = withPages(app, options);
  const response = await respond(new Request('http://x/y', { headers: { accept: ACCEPT } }));
  expect((await response.text()) === `page of ${status}`).toBe(isPage);
});
