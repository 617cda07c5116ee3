import { expect, test } from 'bun:test';
import { BASES } from '../../../api/app.ts';
import { insertServer } from '../../support/database/builders.ts';
import { createTestDatabase } from '../../support/database/database.ts';
import { sendRaw } from '../../support/http/raw-http.ts';
import { aToken, startTestService } from '../../support/service/service.ts';

const { db, url: databaseUrl } = await createTestDatabase();
const server = await insertServer(db, { slug: 'one', name: 'One' });
const { token } = await aToken(db, 1);
const service = await startTestService({ databaseUrl, env: { PUBLIC_URL: '', METRICS_ALLOW: '' } });

const USE = 'give the name or address of this service, such as play.example.org or 127.0.0.1:3000';
const MALFORMED = `The Host header is malformed: ${USE}`;
const MISSING = `The Host header is missing: ${USE}`;

const BAD_HOSTS = [
  ...'user@h a/b a?b a#b a\\b a"b a{b <script> :80 a:99999 a:x a:1:2 % [::zz] [::1 ż'.split(' '),
  'a b',
  'a, b',
  'x'.repeat(300),
];
const TARGETS = [
  '/',
  '/account',
  `/account?api_token=${token}`,
  '/account/assets/pages.css',
  ...BASES.map((base) => `${base}/servers`),
  ...BASES.map((base) => `${base}/bans?api_token=${token}`),
  '/api/v1/nope',
  '/healthz',
  '/readyz',
  '/metrics',
  '/aaaaaa/metrics',
  '/swagger',
  '/storage/roundsound/76561198000000001.mp3',
  '/connect/one',
];

/** The status of requests whose host is well-formed. */
const STATUSES = [
  ['/api/v1/servers', 200],
  ['/index.php/api/v1/servers/one', 200],
  [`/api/v1/servers/${server.id}/players`, 200],
  [`/api/v1/bans?api_token=${token}`, 200],
  ['/api/v1/bans', 401],
  ['/api/v1/nope', 404],
  ['/aaaaaa/metrics', 404],
  ['/healthz', 200],
  ['/account', 200],
  ['/storage/roundsound/76561198000000001.mp3?v=x', 404],
] as const;

test('a malformed Host is 400 in JSON on every path, whatever the method, and echoes nothing', async () => {
  for (const host of BAD_HOSTS) {
    for (const target of TARGETS) {
      const response = await sendRaw(service.origin, target, { headers: { Host: host } });
      expect([host, target, response.status]).toEqual([host, target, 400]);
      expect(JSON.parse(response.text)).toEqual({ success: false, message: MALFORMED });
    }
    for (const method of ['POST', 'PUT', 'DELETE', 'OPTIONS', 'HEAD', 'TRACE']) {
      const response = await sendRaw(service.origin, '/api/v1/bans', { method, headers: { Host: host } });
      expect([host, method, response.status]).toEqual([host, method, 400]);
    }
  }
});

test('the response to a wrong host is not cached and may be read by any origin', async () => {
  const { headers } = await sendRaw(service.origin, '/api/v1/servers', { headers: { Host: 'a b' } });
  expect(headers.get('content-type')).toBe('application/json; charset=utf-8');
  expect(headers.get('cache-control')).toBe('no-store');
  expect(headers.get('access-control-allow-origin')).toBe('*');
});

test('an empty Host, and none with HTTP/1.0, are 400 with different messages', async () => {
  for (const target of TARGETS) {
    const empty = await sendRaw(service.origin, target, { headers: { Host: '' } });
    const absent = await sendRaw(service.origin, target, { version: '1.0', headers: { Host: null } });
    for (const response of [empty, absent]) {
      expect([target, response.status]).toEqual([target, 400]);
      expect(JSON.parse(response.text)).toEqual({ success: false, message: MISSING });
    }
  }
  const named = await sendRaw(service.origin, '/api/v1/servers', { version: '1.0' });
  expect(named.status).toBe(200);
});

test('an unusual Host that is well-formed is accepted by every route', async () => {
  for (const host of ['x'.repeat(250), ...'a api x:1 a: .. a_b A.EXAMPLE [::1] [::1]:3000'.split(' ')]) {
    for (const [target, status] of STATUSES) {
      const response = await sendRaw(service.origin, target, { headers: { Host: host } });
      expect([host, target, response.status]).toEqual([host, target, status]);
    }
    const post = await sendRaw(service.origin, '/api/v1/bans', { method: 'POST', headers: { Host: host } });
    expect([host, post.status]).toEqual([host, 405]);
  }
});

test('exactly the printable characters that a request URL can have in its host are accepted', async () => {
  for (let code = 0x20; code < 0x7f; code++) {
    const host = `a${String.fromCharCode(code)}b`;
    const { status } = await sendRaw(service.origin, '/account', { headers: { Host: host } });
    expect([host, status]).toEqual([host, /^a[\w.~!$&'()*+,;=-]b$/.test(host) ? 200 : 400]);
  }
});

test('a request target that is a whole URL, as proxies send it, is routed by its path; the host is that of the Host header', async () => {
  for (const authority of ['play.example.org', 'other.example:8080', '[::1]']) {
    for (const [path, status] of [...STATUSES, ['/metrics', 404] as const]) {
      const target = `http://${authority}${path}`;
      const response = await sendRaw(service.origin, target, { headers: { Host: 'play.example.org' } });
      expect([target, response.status]).toEqual([target, status]);
    }
  }
  const target = 'http://play.example.org/api/v1/servers';
  const malformed = await sendRaw(service.origin, target, { headers: { Host: 'a b' } });
  expect([malformed.status, JSON.parse(malformed.text).message]).toEqual([400, MALFORMED]);
  const missing = await sendRaw(service.origin, target, { version: '1.0', headers: { Host: null } });
  expect([missing.status, JSON.parse(missing.text).message]).toEqual([400, MISSING]);
});
