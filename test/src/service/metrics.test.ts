import { expect, test } from 'bun:test';
import { inTransaction } from '../../../src/db/client.ts';
import { serverSnapshots } from '../../../src/db/schema/servers.ts';
import { insertServer } from '../../support/database/builders.ts';
import { createTestDatabase } from '../../support/database/database.ts';
import { readMetrics } from '../../support/service/metrics.ts';
import { aToken, bearer, startTestService } from '../../support/service/service.ts';
import { waitFor } from '../../support/wait.ts';

const { db, url } = await createTestDatabase();
const { id: serverId } = await insertServer(db, { slug: 'only-mirage' });
await db
  .insert(serverSnapshots)
  .values({ serverId, isOnline: true, playersCount: 7, maxPlayers: 10, polledAt: new Date() });
const service = await startTestService({
  databaseUrl: url,
  hasRealClock: true,
  env: { RATE_LIMIT_PUBLIC: '20', POLL_INTERVAL_SECONDS: '3600', ROLES: 'api,sync' },
});
const { token } = await aToken(db, 1, { now: new Date() });

test('requests are counted by route, never by path, with a histogram of their time', async () => {
  for (const path of ['servers', 'servers/only-mirage', 'servers/nope', 'nothing/at/all']) {
    await service.ask(`/api/v1/${path}`);
  }
  for (const path of ['/servers/only-mirage', '/made/up', '/made/otherwise']) await service.ask(path);
  await service.ask('/made/up', { method: 'HEAD' });
  await service.ask('/api/v1/nothing', { method: 'PUT' });
  await service.ask('/api/v1/penalties', bearer(token));
  const metrics = await readMetrics(service);
  expect(metrics).toMatchObject({
    'http_requests_total{kind="public",method="GET",route="listServers",status="200"}': 1,
    'http_requests_total{kind="public",method="GET",route="getServer",status="200"}': 1,
    'http_requests_total{kind="public",method="GET",route="getServer",status="404"}': 1,
    'http_requests_total{kind="public",method="GET",route="unknown",status="404"}': 1,
    'http_requests_total{kind="page",method="GET",route="/servers/:slug",status="200"}': 1,
    'http_requests_total{kind="page",method="GET",route="unknown",status="404"}': 2,
    'http_requests_total{kind="page",method="HEAD",route="unknown",status="404"}': 1,
    'http_requests_total{kind="public",method="other",route="unknown",status="404"}': 1,
    'http_requests_total{kind="protected",method="GET",route="listPenalties",status="200"}': 1,
    'http_request_duration_seconds_count{route="getServer"}': 2,
    'http_request_duration_seconds_bucket{route="getServer",le="+Inf"}': 2,
  });
  expect(metrics['http_request_duration_seconds_sum{route="listPenalties"}']).toBeGreaterThan(0);
  expect(Object.keys(metrics).filter((name) => /nope|made|only-mirage/.test(name))).toEqual([
    'server_online{server="only-mirage"}',
    'server_players{server="only-mirage"}',
    'server_max_players{server="only-mirage"}',
  ]);
});

test('each listed server has its state and its players', async () => {
  expect(await readMetrics(service)).toMatchObject({
    'server_online{server="only-mirage"}': 1,
    'server_players{server="only-mirage"}': 7,
    'server_max_players{server="only-mirage"}': 10,
  });
});

test('queries are timed under their names', async () => {
  const metrics = await readMetrics(service);
  // A query prepared by Drizzle, one prepared by us, and one that is not prepared.
  expect(metrics['database_query_duration_seconds_count{query="live_api_token"}']).toBeGreaterThan(0);
  expect(metrics['database_query_duration_seconds_count{query="server_statuses"}']).toBeGreaterThan(0);
  const names = Object.keys(metrics).flatMap((name) => /_count\{query="([^"]+)"/.exec(name)?.[1] ?? []);
  expect(names).toContain('transaction');
  // The metrics contain neither values nor the text of a statement.
  expect(names.filter((name) => !/^[a-z_]+( [a-z_]+)?$/.test(name))).toEqual([]);
});

test('background work that waits for its two connections is counted', async () => {
  expect(await readMetrics(service)).toMatchObject({
    database_connections_max: 9,
    database_queries_waiting: 0,
  });
  const { database } = service.service;
  let settled: Promise<unknown> = Promise.resolve();
  await inTransaction(db, async (tx) => {
    await tx.execute('lock table users in access exclusive mode');
    settled = Promise.all(
      Array.from({ length: 10 }, () => database.db.execute('select count(*) from users')),
    );
    await waitFor(async () => {
      const metrics = await readMetrics(service);
      return metrics.database_connections_in_use === 2 && metrics.database_queries_waiting === 8;
    });
  });
  await settled;
  await waitFor(async () => (await readMetrics(service)).database_queries_waiting === 0);
});

test('refusals of limits, hits of caches and the delay of the event loop are counted', async () => {
  for (let request = 0; request < 25; request++) await service.ask('/api/v1/servers');
  const metrics = await readMetrics(service);
  expect(metrics['rate_limit_refusals_total{limiter="public"}']).toBeGreaterThan(0);
  expect(metrics['rate_limit_refusals_total{limiter="forms"}']).toBe(0);
  expect(metrics['cache_lookups_total{cache="bodies",result="hit"}']).toBeGreaterThan(0);
  expect(metrics['cache_lookups_total{cache="bodies",result="miss"}']).toBeGreaterThan(0);
  await service.ask('/api/v1/penalties', bearer(token));
  expect((await readMetrics(service))['cache_lookups_total{cache="tokens",result="miss"}']).toBeGreaterThan(
    0,
  );

  const before = metrics['event_loop_delay_seconds_bucket{le="0.25"}'] ?? 0;
  const counted = metrics.event_loop_delay_seconds_count ?? 0;
  const untilMs = performance.now() + 800;
  while (performance.now() < untilMs);
  await waitFor(async () => {
    const after = await readMetrics(service);
    const slow =
      (after.event_loop_delay_seconds_count ?? 0) -
      (after['event_loop_delay_seconds_bucket{le="0.25"}'] ?? 0);
    return slow > counted - before;
  });
});

test('the process that runs a part says so', async () => {
  await waitFor(async () => (await readMetrics(service))['leader{part="retention"}'] === 1);
  const standby = await startTestService({
    databaseUrl: url,
    hasRealClock: true,
    env: { ROLES: 'api,sync', POLL_INTERVAL_SECONDS: '3600' },
  });
  await waitFor(async () => (await readMetrics(standby))['leader{part="retention"}'] === 0);
  await standby.stop();
});
