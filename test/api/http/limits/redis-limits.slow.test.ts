import { afterAll, describe, expect, test } from 'bun:test';
import pino from 'pino';
import { openRedisLimits, type RedisLimits } from '../../../../api/http/limits/redis-limits.ts';
import { startDatabaseProxy } from '../../../support/database/database-proxy.ts';
import { findTestRedis } from '../../../support/database/redis.ts';
import { PATIENCE_MS, waitFor } from '../../../support/wait.ts';

const url = await findTestRedis();
const lines: string[] = [];
const log = pino({}, { write: (line: string) => lines.push(line) });
const opened: RedisLimits[] = [];
const run = crypto.randomUUID();
type Options = Partial<Parameters<typeof openRedisLimits>[0]>;
const open = (options: Options = {}) => {
  // A time limit so long that Redis does not seem to be down on a busy machine.
  const limits = openRedisLimits({ url: url ?? '', log, commandLimitMs: PATIENCE_MS, ...options });
  opened.push(limits);
  return limits;
};
/** A limiter with a separate connection, as in another process. */
const limiter = (limit: number, name: string, options: Options = {}) =>
  allow(open(options), `${run} ${name}`, limit);
const allow = (limits: RedisLimits, name: string, limit: number, options: { windowMs?: number } = {}) => {
  const { take, check } = limits.createLimiter(name, options);
  return { take: (key: string) => take(key, limit), check: (key: string) => check(key, limit) };
};
afterAll(() => {
  for (const limits of opened) limits.close();
});

test('an address at which there is no Redis is one warning at the start, without its password', async () => {
  const said: string[] = [];
  const log = pino({ base: null, timestamp: false }, { write: (line: string) => said.push(line) });
  const limits = open({ url: 'redis://user:hunter2@127.0.0.1:1', log });
  await waitFor(() => said.length > 0);
  expect((await allow(limits, 'none', 5).take('k')).remaining).toBe(4);
  expect(said.map((line) => JSON.parse(line))).toEqual([
    {
      level: 40,
      redis: '127.0.0.1:1',
      reason: expect.stringMatching(/./),
      msg: 'Redis is unreachable: this process applies its own limits',
    },
  ]);
  expect(said.join()).not.toContain('hunter2');
});

test('a response in another shape counts as a failure, and the log quotes it', async () => {
  const hello = '%1\r\n$6\r\nserver\r\n$5\r\nredis\r\n';
  const server = Bun.listen({
    hostname: '127.0.0.1',
    port: 0,
    socket: { data: (socket, bytes) => void socket.write(bytes.includes('HELLO') ? hello : '+QUEUED\r\n') },
  });
  const said: string[] = [];
  const log = pino({}, { write: (line: string) => said.push(line) });
  const one = allow(open({ url: `redis://127.0.0.1:${server.port}`, log }), 'other shape', 5);
  expect(await one.take('k')).toEqual({ isAllowed: true, limit: 5, remaining: 4, resetSeconds: 60 });
  expect(JSON.parse(said[0] ?? '').err.message).toBe(
    'Redis responded to EVAL with "QUEUED" instead of three integers',
  );
  server.stop(true);
});

describe.skipIf(url === undefined)('limits over Redis', () => {
  test('the first Redis commands of a process wait for its connection beyond the time limit of commands', async () => {
    const other = limiter(1, 'opening');
    await other.take('k');
    const proxy = await startDatabaseProxy(url ?? '');
    const connection = proxy.hold();
    const first = limiter(1, 'opening', { url: proxy.url, commandLimitMs: 200 }).take('k');
    await Bun.sleep(300);
    connection.release();
    expect((await first).isAllowed).toBe(false);
  });

  test('two processes together let exactly the limit through', async () => {
    const [a, b] = [limiter(30, 'exact'), limiter(30, 'exact')];
    await Promise.all([a.take('warm'), b.take('warm')]);
    const decisions = await Promise.all(
      Array.from({ length: 100 }, (_, i) => (i % 2 ? a : b).take('10.0.0.1')),
    );
    const remaining = decisions.filter(({ isAllowed }) => isAllowed).map((decision) => decision.remaining);
    expect(remaining.sort((x, y) => x - y)).toEqual(Array.from({ length: 30 }, (_, i) => i));
    const refused = decisions.find(({ isAllowed }) => !isAllowed);
    expect(refused).toMatchObject({ limit: 30, remaining: 0, resetSeconds: 60 });
  });

  test('a limit over Redis can be checked without counting a request', async () => {
    const [a, b] = [limiter(1, 'checked'), limiter(1, 'checked')];
    for (let turn = 0; turn < 3; turn++)
      expect(await a.check('10.0.0.1')).toMatchObject({ isAllowed: true, remaining: 1 });
    expect(await b.take('10.0.0.1')).toMatchObject({ isAllowed: true, remaining: 0 });
    expect(await a.check('10.0.0.1')).toMatchObject({ isAllowed: false, remaining: 0 });
  });

  test('a process allows no more than the limit when Redis loses its data', async () => {
    const one = limiter(5, 'emptied');
    for (let i = 0; i < 3; i++) await one.take('k');
    const client = new Bun.RedisClient(url);
    await client.del(`community-api:${run} emptied:k`);
    const decisions = [await one.take('k'), await one.take('k'), await one.take('k')];
    expect(decisions).toMatchObject([
      { isAllowed: true, remaining: 1 },
      { isAllowed: true, remaining: 0 },
      { isAllowed: false, remaining: 0, resetSeconds: 60 },
    ]);
    // What this process refuses costs the other processes nothing.
    expect((await limiter(5, 'emptied').check('k')).remaining).toBe(3);
    client.close();
  });

  test('a window may be longer than a minute', async () => {
    const hourly = allow(open(), `${run} hourly`, 2, { windowMs: 3_600_000 });
    const decisions = [await hourly.take('a'), await hourly.take('a'), await hourly.take('a')];
    expect(decisions.map(({ isAllowed }) => isAllowed)).toEqual([true, true, false]);
    expect(decisions[2]?.resetSeconds).toBeGreaterThan(3590);
  });

  test('a high limit is exact as well', async () => {
    const one = limiter(500, 'high');
    await one.take('warm');
    const decisions = await Promise.all(Array.from({ length: 600 }, () => one.take('10.0.0.2')));
    expect(decisions.filter((decision) => decision.isAllowed)).toHaveLength(500);
  });

  for (const limit of [30, 500]) {
    test(`a limit of ${limit} drops marks that lie ahead of Redis's clock, and keeps those it rounded up`, async () => {
      const one = limiter(limit, 'ahead');
      await one.take('warm');
      const client = new Bun.RedisClient(url);
      const mark =
        "redis.call('SET', KEYS[1], cmsgpack.pack({ redis.call('TIME')[1] * 1000 + 3600000, 9999 }))";
      await client.send('EVAL', [mark, '1', `community-api:${run} ahead:10.0.0.3`]);
      client.close();
      expect(await one.take('10.0.0.3')).toMatchObject({ isAllowed: true, remaining: limit - 1 });
      const { remaining, resetSeconds } = await one.take('10.0.0.3');
      expect(remaining).toBe(limit - 2);
      expect(resetSeconds).toBeLessThanOrEqual(62);
    });
  }

  test('limits of other names count apart, over the same connection', async () => {
    const limits = open();
    const [one, other] = [allow(limits, `${run} one`, 5), allow(limits, `${run} other`, 7)];
    await one.take('warm');
    expect([await one.take('k'), await other.take('k')]).toMatchObject([{ remaining: 4 }, { remaining: 6 }]);
  });

  test('limits are shared again by a command after the pause, not by one that was sent before another failed', async () => {
    const said: string[] = [];
    let nowMs = 0;
    const log = pino({}, { write: (line: string) => said.push(line) });
    const one = limiter(5, 'failing', { log, clockMs: () => nowMs });
    await one.take('warm');
    const client = new Bun.RedisClient(url);
    const unreadable = `community-api:${run} failing:unreadable`;
    await client.send('LPUSH', [unreadable, 'not a log']);
    await Promise.all([one.take('unreadable'), one.take('k')]);
    await client.del(unreadable);
    client.close();
    expect(said.map((line) => JSON.parse(line).msg)).toEqual([
      'Redis is unreachable: this process applies its own limits',
    ]);
    nowMs += 1001;
    expect((await one.take('k')).remaining).toBe(3);
    expect(JSON.parse(said[1] ?? '').msg).toBe('Redis is back: limits are shared again');
  });

  test('allows the limit less what it allowed itself while Redis hangs, and shares again when it responds', async () => {
    const proxy = await startDatabaseProxy(url ?? '');
    let nowMs = 0;
    const one = limiter(5, 'hanging', { url: proxy.url, clockMs: () => nowMs, commandLimitMs: 50 });
    expect((await one.take('k')).remaining).toBe(4);
    proxy.freeze();
    const alone = [];
    for (let i = 0; i < 5; i++) alone.push(await one.take('k'));
    expect(alone.map(({ remaining }) => remaining)).toEqual([3, 2, 1, 0, 0]);
    expect(alone[4]?.isAllowed).toBe(false);
    proxy.restore();
    nowMs += 5000;
    const isBack = () => lines.some((line) => line.includes('Redis is back'));
    // Each try stands for one after the pause; the client reconnects in its own time.
    for (let tries = 0; tries < 2000 && !isBack(); tries++) {
      nowMs += 5000;
      await one.take('k');
    }
    expect(isBack()).toBe(true);
    expect(lines.filter((line) => line.includes('unreachable'))).toHaveLength(1);
  });
});
