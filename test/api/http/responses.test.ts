import { afterAll, expect, test } from 'bun:test';
import { Elysia } from 'elysia';
import pino from 'pino';
import { createTokenChecker } from '../../../api/http/authentication.ts';
import { createMemoryRateLimiter } from '../../../api/http/limits/rate-limiter.ts';
import { createPipeline } from '../../../api/http/pipeline.ts';
import { createTestDatabase } from '../../support/database/database.ts';
import { aToken, bearer, NOW } from '../../support/service/service.ts';
import { waitFor } from '../../support/wait.ts';

const { db } = await createTestDatabase();
const { token } = await aToken(db, 1);
const { handleProtected } = createPipeline({
  log: pino({ level: 'silent' }),
  tokens: createTokenChecker(db),
  limiters: { public: createMemoryRateLimiter(10), protected: createMemoryRateLimiter(10) },
  isTrustedProxy: () => false,
  now: () => NOW,
  recordRequest: () => {},
});
let isCancelled = false;
const app = new Elysia()
  .get('/linked', ({ request, server }) =>
    handleProtected({ request, server }, { id: 'test', parameters: {}, scope: 'penalties' }, async () => ({
      json: { success: true },
      headers: { Link: '<https://play.example.org/api/v1/bans?page=2>; rel="next"' },
    })),
  )
  .get('/stream', ({ request, server }) =>
    handleProtected({ request, server }, { id: 'test', parameters: {}, scope: 'penalties' }, async () => ({
      contentType: 'application/x-ndjson',
      stream: new ReadableStream({
        start: (controller) => controller.enqueue(new TextEncoder().encode('{"id":1}\n')),
        cancel: () => {
          isCancelled = true;
        },
      }),
    })),
  )
  .listen({ hostname: '127.0.0.1', port: 0 });
afterAll(() => app.stop(true));
const ask = (path: string, init: RequestInit) => fetch(`http://127.0.0.1:${app.server?.port}${path}`, init);

test('a protected response has the headers of its route beside those of every response', async () => {
  const response = await ask('/linked', bearer(token));
  expect(await response.text()).toBe('{"success":true}');
  expect(Object.fromEntries(response.headers)).toMatchObject({
    link: '<https://play.example.org/api/v1/bans?page=2>; rel="next"',
    'content-type': 'application/json; charset=utf-8',
    'cache-control': 'private, no-cache',
    vary: 'Authorization',
    'x-ratelimit-limit': '10',
  });
});

test('a protected stream is sent as it grows, and is cancelled when the client leaves', async () => {
  const client = new AbortController();
  const response = await ask('/stream', { ...bearer(token), signal: client.signal });
  expect(response.headers.get('content-type')).toBe('application/x-ndjson');
  expect(response.headers.get('x-ratelimit-limit')).toBe('10');
  const first = await response.body?.getReader().read();
  expect(new TextDecoder().decode(first?.value)).toBe('{"id":1}\n');
  client.abort();
  await waitFor(() => isCancelled, { what: 'the stream is cancelled' });
});

test('a stream is refused as any protected response is', async () => {
  const response = await ask('/stream', {});
  expect([response.status, await response.json()]).toEqual([
    401,
    { success: false, message: 'An API token is required' },
  ]);
});
