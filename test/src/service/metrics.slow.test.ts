import { expect, test } from 'bun:test';
import { createTestDatabase } from '../../support/database/database.ts';
import { findTestRedis } from '../../support/database/redis.ts';
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
