import { expect, test } from 'bun:test';
import { insertServer } from '../support/builders.ts';
import { createTestDatabase } from '../support/database.ts';
import { startTestService } from '../support/service.ts';

const database = await createTestDatabase();
await insertServer(database.db);
const service = await startTestService({
  databaseUrl: database.url,
  env: { RATE_LIMIT_PUBLIC: '', RATE_LIMIT_PROTECTED: '' },
});

test('/healthz says that the process lives', async () => {
  const { status, body, headers } = await service.ask('/healthz');
  expect([status, body, headers.get('cache-control')]).toEqual([200, { status: 'ok' }, 'no-store']);
});

test('/readyz says that the database is reachable and migrated, and how the parts are', async () => {
  const { status, body, headers } = await service.ask('/readyz');
  expect([status, headers.get('cache-control')]).toEqual([200, 'no-store']);
  expect(body).toMatchObject({ status: 'ready', database: 'up' });
});

test('/metrics gives Prometheus text that counts answers by kind and status', async () => {
  await service.ask('/api/v1/servers');
  await service.ask('/api/v1/servers/nope');
  await service.ask('/api/v1/bans');
  const { status, text, headers } = await service.ask('/metrics');
  expect([status, headers.get('content-type')]).toEqual([
    200,
    expect.stringMatching(/^text\/plain; version=0\.0\.4/),
  ]);
  for (const line of [
    /^community_api_http_answers_total\{kind="public",status="200"\} 1$/m,
    /^community_api_http_answers_total\{kind="public",status="404"\} 1$/m,
    /^community_api_http_answers_total\{kind="protected",status="401"\} 1$/m,
    /^community_api_servers_online 0$/m,
    /^community_api_resident_memory_bytes [0-9]+$/m,
  ]) {
    expect(text).toMatch(line);
  }
});

test('/metrics is for loopback alone: what a proxy forwards, even a trusted one, is not', async () => {
  for (const [name, value] of [
    ['X-Forwarded-For', '203.0.113.7'],
    ['X-Forwarded-For', '127.0.0.1'],
    ['X-Real-IP', '203.0.113.7'],
    ['Forwarded', 'for=203.0.113.7'],
    ['Via', '1.1 proxy'],
  ] as const) {
    const { status, body } = await service.ask('/metrics', { headers: { [name]: value } });
    expect([name, status, body]).toEqual([name, 404, { success: false, message: 'Not found' }]);
  }
});

test('HEAD works for them too', async () => {
  for (const path of ['/healthz', '/readyz', '/swagger', '/swagger/json']) {
    const { status, text } = await service.ask(path, { method: 'HEAD' });
    expect([path, status, text]).toEqual([path, 200, '']);
  }
});
