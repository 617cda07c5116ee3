import { describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import { listSamples } from '../../../../api/web/guide/text.tsx';
import { generateWebhookSecret } from '../../../../src/domain/webhook.ts';
import { sendMessage } from '../../../../src/events/webhooks/message.ts';
import { createPost } from '../../../../src/events/webhooks/post.ts';
import { insertPenalties, insertServer } from '../../../support/database/builders.ts';
import { createTestDatabase } from '../../../support/database/database.ts';
import { startSample } from '../../../support/docs/samples.ts';
import { sendRaw } from '../../../support/http/raw-http.ts';
import { findFreePort } from '../../../support/machine/free-port.ts';
import { createTestFolder } from '../../../support/service/program.ts';
import { aToken, startTestService } from '../../../support/service/service.ts';
import { waitFor } from '../../../support/wait.ts';
import { unescapeHtml } from '../../../support/web/page-text.ts';

const database = await createTestDatabase();
const port = await findFreePort();
const url = `http://127.0.0.1:${port}`;
await insertServer(database.db, { name: 'Only Mirage #1' });
await insertPenalties(database.db, [{ type: 'ban' }, { type: 'ban' }]);
const { token } = await aToken(database.db);
const folder = createTestFolder();
const service = await startTestService({
  databaseUrl: database.url,
  env: { PORT: String(port), PUBLIC_URL: url, RATE_LIMIT_PUBLIC: '31', RATE_LIMIT_PROTECTED: '62' },
});
const pages = await Promise.all(
  ['/swagger', '/swagger/pl'].map(async (path) => (await service.ask(path)).text),
);

/** What a page shows of a sample, as a reader copies it. */
function shown(page: string, id: string): string {
  const [, code = ''] = new RegExp(`<pre id="${id}"[^>]*><code>([^]*?)</code>`).exec(page) ?? [];
  return unescapeHtml(code);
}

const samples = listSamples(url);

test('both languages show every sample, letter by letter', () => {
  for (const page of pages) {
    for (const { id, code } of samples) expect([id, shown(page, id)]).toEqual([id, code]);
  }
});

const SECURITY_HEADERS = [
  'strict-transport-security',
  'referrer-policy',
  'x-content-type-options',
  'x-frame-options',
  'permissions-policy',
];

test('guide and files have the security headers of every page', async () => {
  const secure = await startTestService({
    databaseUrl: database.url,
    env: { PUBLIC_URL: 'https://play.example.org' },
  });
  const page = await secure.ask('/');
  const ofPage = SECURITY_HEADERS.map((name) => page.headers.get(name));
  expect(ofPage).not.toContain(null);
  for (const path of ['/swagger', '/swagger/pl', '/swagger/assets/start.js', '/swagger/assets/none']) {
    const { headers } = await secure.ask(path);
    expect([path, SECURITY_HEADERS.map((name) => headers.get(name))]).toEqual([path, ofPage]);
    expect(headers.get('content-security-policy')).toContain("frame-ancestors 'none'");
  }
  await secure.stop();
});

test('both languages have the same sections, and links within the page that lead somewhere', () => {
  const [english = [], polish] = pages.map((page) =>
    [...page.matchAll(/<section id="([^"]+)"/g)].map((match) => match[1]),
  );
  expect(english.length).toBeGreaterThan(8);
  expect(polish).toEqual(english);
  for (const page of pages) {
    for (const [, target] of page.matchAll(/href="#([^"]+)"/g)) expect(page).toContain(`id="${target}"`);
  }
});

test('the limits are those of this process', () => {
  for (const page of pages) expect(page).toMatch(/31.{1,80}62/s);
});

test('pasted, the samples in TypeScript work', async () => {
  const run = async (id: string) => {
    const file = join(folder, `${id}.ts`);
    await Bun.write(file, `export {};\n${samples.find((sample) => sample.id === id)?.code}`);
    const env = { PATH: process.env.PATH, HOME: process.env.HOME, API_TOKEN: token };
    const child = Bun.spawn([process.execPath, file], { env, stdout: 'pipe' });
    return new Response(child.stdout).text();
  };
  expect(await run('first-typescript')).toBe('Only Mirage #1: 0\n');
  expect(await run('token-typescript')).toBe('2 active bans\n');
});

test('the receiver accepts messages that are signed with its secret, and no others', async () => {
  const secret = generateWebhookSecret();
  await using receiver = await startSample(samples, 'webhook-typescript', { WEBHOOK_SECRET: secret });
  const post = createPost({ mayConnect: () => true });
  const message = {
    id: 'msg_1_5f0c9a1b-7',
    type: 'penalty.created',
    text: '{"type":"penalty.created","timestamp":"","data":{"penalty":{"player_name":"Ala"}}}',
  };
  const send = (key: string) =>
    sendMessage(post, { url: receiver.address, secret: key }, message, { now: () => new Date() });
  const taken = await waitFor(async () => {
    const sent = await send(secret);
    return sent.status === null ? undefined : sent;
  });
  expect(taken.status).toBe(204);
  await waitFor(() => receiver.stdout() === 'msg_1_5f0c9a1b-7 penalty.created Ala\n');
  expect((await send(generateWebhookSecret())).status).toBe(400);
});

describe('the page', () => {
  test('loads everything from our own host, and may load from no other', async () => {
    for (const path of ['/swagger', '/swagger/', '/swagger/pl']) {
      const page = await service.ask(path);
      expect(page.status).toBe(200);
      expect(page.headers.get('content-type')).toBe('text/html; charset=utf-8');
      expect(page.headers.get('content-security-policy')).toStartWith("default-src 'self';");
      const loaded = /<(?:script|link)[^>]* (?:src|href)="([^"]+)"|@import url\(([^)]+)\)/g;
      const addresses = [...page.text.matchAll(loaded)].map(([, link, style]) => link ?? style ?? '');
      expect(addresses).toHaveLength(7);
      for (const address of addresses) {
        expect(address).toMatch(/^\/(swagger|account)\/assets\//);
        const asset = await service.ask(address);
        expect([address, asset.status, asset.text.length > 50]).toEqual([address, 200, true]);
      }
    }
  });

  test('the guide and its files are compressed for clients that accept gzip, and 304 for clients that have them', async () => {
    for (const path of [
      '/swagger',
      '/swagger/pl',
      '/swagger/json',
      '/swagger/assets/guide.css',
      '/swagger/assets/swagger-ui-bundle.js',
    ]) {
      const ask = async (headers: Record<string, string>) => {
        const { status, headers: sent, text } = await sendRaw(service.origin, path, { headers });
        const [encoding, vary, etag] = ['content-encoding', 'vary', 'etag'].map((name) => sent.get(name));
        return { status, encoding, vary, etag, text };
      };
      const plain = await ask({});
      expect(plain).toMatchObject({ status: 200, encoding: null, vary: 'Accept-Encoding' });
      expect(await ask({ 'Accept-Encoding': 'gzip' })).toEqual({ ...plain, encoding: 'gzip' });
      expect(await ask({ 'If-None-Match': plain.etag ?? '' })).toEqual({ ...plain, status: 304, text: '' });
    }
  });

  test('the guide has the header of the site, whose pages lead to the guide in their language', async () => {
    for (const [language, path] of [
      ['en', '/swagger'],
      ['pl', '/swagger/pl'],
    ] as const) {
      const page = await service.ask(path);
      expect(page.text).toMatch(/<title>[^<]+ · 127\.0\.0\.1:\d+</);
      expect(page.text).toContain('<a class="brand" href="/">');
      expect(page.text).toContain(`href="${path}" aria-current="page"`);
      const home = await fetch(service.origin, { headers: { 'accept-language': language } });
      expect(await home.text()).toContain(`<a href="${path}">`);
    }
  });

  test('starts on our own document', async () => {
    const script = await service.ask('/swagger/assets/start.js');
    expect(script.headers.get('content-type')).toBe('text/javascript; charset=utf-8');
    expect(script.text).toContain("url: '/swagger/json'");
    expect(script.text).toContain('validatorUrl: null');
  });

  test('gives no other file of the package', async () => {
    for (const name of ['package.json', '..%2fpackage.json', 'swagger-ui.js.map', '__proto__']) {
      expect((await service.ask(`/swagger/assets/${name}`)).status).toBe(404);
    }
  });
});
