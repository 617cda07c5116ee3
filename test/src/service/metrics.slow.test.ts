import { afterAll, describe, expect, test } from 'bun:test';
import { createTestDatabase } from '../../support/database/database.ts';
import { findTestRedis } from '../../support/database/redis.ts';
import { startReplicatedPostgres } from '../../support/database/replicated-postgres.ts';
import { readMetrics } from '../../support/service/metrics.ts';
import { startTestService } from '../../support/service/service.ts';
import { waitFor } from '../../support/wait.ts';

const { url } = await createTestDatabase();
const redisUrl = await findTestRedis();

test.skipIf(!redisUrl)('Redis has its state and its time', async () => {
  const limited = await startTestService({
    databaseUrl: url,
    env: { REDIS_URL: redisUrl ?? '', ROLES: 'api' },
  });
  await limited.ask('/api/v1/servers');
  await waitFor(async () => {
    await limited.ask('/api/v1/servers');
    return (await readMetrics(limited)).redis_up === 1;
  });
  expect((await readMetrics(limited)).redis_command_duration_seconds_count).toBeGreaterThan(0);
  await limited.stop();

  const alone = await startTestService({
    databaseUrl: url,
    env: { REDIS_URL: 'redis://127.0.0.1:1', ROLES: 'api' },
  });
  await alone.ask('/api/v1/servers');
  expect((await readMetrics(alone)).redis_up).toBe(0);
  await alone.stop();
});

describe('with a read replica', async () => {
  const { primary, replicas } = await startReplicatedPostgres({ replicas: 1 });
  const [replica] = replicas;
  const name = `${new URL(replica?.url ?? '').host}/postgres`;
  const replicated = await startTestService({
    databaseUrl: primary.url,
    hasRealClock: true,
    env: { DATABASE_REPLICA_URLS: replica?.url ?? '', ROLES: 'api' },
  });
  afterAll(replicated.stop);

  test('the metrics of a read replica tell its state and its lag', async () => {
    await waitFor(async () => (await readMetrics(replicated))[`replica_read{replica="${name}"}`] === 1, {
      limitMs: 30_000,
    });
    const samples = await readMetrics(replicated);
    expect(samples[`replica_lag_seconds{replica="${name}"}`]).toBeLessThan(5);
    // There before it is first dropped, since Prometheus sees no increase where a series begins.
    expect(samples[`replica_changes_total{replica="${name}",change="left"}`] ?? Number.NaN).toBeWithin(0, 10);
    await replica?.kill();
    await waitFor(async () => (await readMetrics(replicated))[`replica_read{replica="${name}"}`] === 0, {
      limitMs: 30_000,
    });
  });
});
