import { describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import packageJson from '../../package.json';
import { writeBackup } from '../../src/backup/write-backup.ts';
import { findCommit } from '../../src/runtime/commit.ts';
import { insertServer } from '../support/database/builders.ts';
import { createTestDatabase } from '../support/database/database.ts';
import { sendRaw } from '../support/http/raw-http.ts';
import { openSoundsIn } from '../support/service/backups.ts';
import { readMetrics } from '../support/service/metrics.ts';
import { createTestFolder } from '../support/service/program.ts';
import { startTestService } from '../support/service/service.ts';
import { waitFor } from '../support/wait.ts';

const FORWARDING = [
  ['X-Forwarded-For', '203.0.113.7'],
  ['X-Forwarded-For', '127.0.0.1'],
  ['X-Forwarded-Host', 'localhost'],
  ['x-forwarded-proto', 'https'],
  ['X-Real-IP', '203.0.113.7'],
  ['Forwarded', 'for=203.0.113.7'],
  ['Via', '1.1 proxy'],
  ['CF-Connecting-IP', '203.0.113.7'],
  ['CF-RAY', '1'],
  ['CF-Visitor', '{"scheme":"https"}'],
] as const;

const database = await createTestDatabase();
await insertServer(database.db);
const service = await startTestService({
  databaseUrl: database.url,
  env: {
    RATE_LIMIT_PUBLIC: '',
    RATE_LIMIT_PROTECTED: '',
    SECURITY_CONTACT: 'mailto:security@play.example',
    PUBLIC_URL: '',
    METRICS_ALLOW: '',
  },
});

test('/healthz says that the process is alive', async () => {
  const { status, body, headers } = await service.ask('/healthz');
  expect([status, body, headers.get('cache-control')]).toEqual([200, { status: 'ok' }, 'no-store']);
});

test('/readyz says that the database is reachable and migrated, and tells the state of each part', async () => {
  const { status, body, headers } = await service.ask('/readyz');
  expect([status, headers.get('cache-control'), headers.get('retry-after')]).toEqual([200, 'no-store', null]);
  expect(body).toMatchObject({
    status: 'ready',
    version: packageJson.version,
    commit: findCommit(),
    database: 'up',
  });
});

test('/readyz and /metrics tell when the last backup was made, and its size', async () => {
  expect((await service.ask('/readyz')).body).not.toHaveProperty('backup');
  const folder = createTestFolder();
  const file = join(folder, 'backup.tar.gz');
  const { takenAt } = await writeBackup(file, {
    databaseUrl: database.url,
    ...(await openSoundsIn(folder)),
  });
  const later = await startTestService({ databaseUrl: database.url });
  const readBackup = async () => Object((await later.ask('/readyz')).body).backup;
  await waitFor(async () => (await readBackup()) !== undefined);
  const bytes = Bun.file(file).size;
  expect(await readBackup()).toEqual({ at: new Date(takenAt).toISOString(), bytes });
  expect(await readMetrics(later)).toMatchObject({
    last_backup_timestamp_seconds: Date.parse(takenAt) / 1000,
    last_backup_bytes: bytes,
  });
});

test('/readyz names a proxy that is not trusted until the restart', async () => {
  const behind = await startTestService({ databaseUrl: database.url });
  const proxyOf = async (path: string, headers: Record<string, string> = {}) => {
    await behind.ask(path, { headers });
    return Object((await behind.ask('/readyz')).body).proxy;
  };
  expect(await proxyOf('/api/v1/servers')).toBeUndefined();
  expect(await proxyOf('/', { 'X-Forwarded-For': '198.51.100.7' })).toBe('not in TRUSTED_PROXIES');
  expect(await proxyOf('/')).toBe('not in TRUSTED_PROXIES');
});

test('/metrics gives Prometheus text, with the version and the process', async () => {
  const { status, text, headers } = await service.ask('/metrics');
  expect(status).toBe(200);
  expect(headers.get('content-type')).toStartWith('text/plain; version=0.0.4');
  for (const line of [
    /^community_api_servers_online 0$/m,
    /^community_api_build_info\{version="[0-9.]+(-dev)?"\} 1$/m,
    /^process_resident_memory_bytes [0-9]+$/m,
    /^process_start_time_seconds 1[0-9]{9}(\.[0-9]+)?$/m,
    /^process_cpu_seconds_total [0-9.]+$/m,
  ]) {
    expect(text).toMatch(line);
  }
});

describe('/metrics of a peer that METRICS_ALLOW does not name', () => {
  const HIDDEN = [404, '{"success":false,"message":"Not found"}'];
  const ask = async (headers: Record<string, string>) => {
    const { status, text } = await sendRaw(service.origin, '/metrics', { headers });
    return status === 200 ? 'shown' : [status, text];
  };

  test('/metrics is hidden when a proxy forwarded the request, even a trusted one', async () => {
    for (const [name, value] of FORWARDING)
      expect([name, await ask({ Host: 'localhost', [name]: value })]).toEqual([name, HIDDEN]);
  });

  test('/metrics is hidden under any Host that is not loopback: a proxy on this machine may add no header at all', async () => {
    const names = 'play.example.org play.example.org:3000 api localhost.example.org 127.0.0.1.example.org';
    for (const host of `${names} 10.0.0.1 128.0.0.1 [::2]`.split(' '))
      expect([host, await ask({ Host: host })]).toEqual([host, HIDDEN]);
    for (const host of 'localhost LOCALHOST:80 localhost. 127.0.0.1 127.8.9.10:3000 [::1]:3000'.split(' '))
      expect([host, await ask({ Host: host })]).toEqual([host, 'shown']);
  });
});

test('/metrics is open to every request of a peer that METRICS_ALLOW names', async () => {
  const open = await startTestService({ databaseUrl: database.url, env: { METRICS_ALLOW: '127.0.0.0/8' } });
  for (const [name, value] of [...FORWARDING, ['Host', 'play.example.org']] as const) {
    const { status } = await sendRaw(open.origin, '/metrics', { headers: { [name]: value } });
    expect([name, status]).toEqual([name, 200]);
  }
});

test.each([
  ['https://play.example.org', '', 404],
  ['https://play.example.org', '10.0.0.0/8', 404],
  ['https://play.example.org', '127.0.0.1', 200],
  ['http://127.0.0.1:8080', '', 200],
])(
  '/metrics with PUBLIC_URL %s and METRICS_ALLOW "%s" is %d for this machine',
  async (publicUrl, allow, expected) => {
    const env = { PUBLIC_URL: publicUrl, METRICS_ALLOW: allow };
    const { origin } = await startTestService({ databaseUrl: database.url, env });
    expect((await sendRaw(origin, '/metrics', { headers: { Host: 'localhost' } })).status).toBe(expected);
  },
);

test('HEAD works for them too', async () => {
  for (const path of ['/healthz', '/readyz', '/swagger', '/swagger/json']) {
    const { status, text } = await service.ask(path, { method: 'HEAD' });
    expect([path, status, text]).toEqual([path, 200, '']);
  }
});

test('a request to /metrics with another method is 405 with Allow', async () => {
  const paths =
    '/healthz /readyz /metrics /swagger /swagger/pl /swagger/json /swagger/assets/start.js /robots.txt';
  for (const path of [...paths.split(' '), '/.well-known/security.txt']) {
    for (const method of ['POST', 'DELETE', 'OPTIONS']) {
      const { status, headers, body } = await service.ask(path, { method });
      expect([method, path, status, headers.get('allow')]).toEqual([method, path, 405, 'GET, HEAD']);
      expect(body).toEqual({ success: false, message: 'Method not allowed: use GET, HEAD' });
    }
  }
  expect((await service.ask('/swagger/none', { method: 'POST' })).status).toBe(404);
});

test('/robots.txt and /.well-known/security.txt say which paths not to crawl, and where to report vulnerabilities', async () => {
  const robots = await service.ask('/robots.txt');
  expect([robots.status, robots.text]).toEqual([200, expect.stringContaining('\nDisallow: /account\n')]);
  const { status, text } = await service.ask('/.well-known/security.txt');
  expect(status).toBe(200);
  expect(text).toMatch(/^Contact: mailto:security@play\.example\nExpires: 20\S+Z\nCanonical: http\S+\n$/);
});
