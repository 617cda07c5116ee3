/**
 * The Redis or Valkey that tests may use: `TEST_REDIS_URL`, else one on loopback.
 * Without one the tests that need it say so and are skipped; where CI is set, that is a failure.
 */
export async function findTestRedis(): Promise<string | undefined> {
  const url = process.env.TEST_REDIS_URL ?? 'redis://127.0.0.1:6379';
  const client = new Bun.RedisClient(url, { autoReconnect: false, connectionTimeout: 1000 });
  try {
    await client.connect();
    await client.send('PING', []);
    return url;
  } catch (cause) {
    if (process.env.CI) throw new Error(`No Redis at ${url}: start one`, { cause });
    console.warn(`SKIPPED: no Redis at ${url}, so limits over Redis are not tested`);
    return undefined;
  } finally {
    client.close();
  }
}
