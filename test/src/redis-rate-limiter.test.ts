import { afterAll, describe, expect, test } from 'bun:test';
import { connect, createServer, type Socket } from 'node:net';
import pino from 'pino';
import type { RateLimiter } from '../../src/rate-limiter.ts';
import { createRedisRateLimiter } from '../../src/redis-rate-limiter.ts';
import { findTestRedis } from '../support/redis.ts';

const url = await findTestRedis();
const lines: string[] = [];
const log = pino({}, { write: (line: string) => lines.push(line) });
const limiters: RateLimiter[] = [];
const run = crypto.randomUUID();
const limiter = (limit: number, name = 'test', at = url ?? '') => {
  const created = createRedisRateLimiter({ url: at, limit, name: `${run} ${name}`, log });
  limiters.push(created);
  return created;
};
afterAll(() => Promise.all(limiters.map((one) => one.close?.())));

describe.skipIf(url === undefined)('limits over Redis', () => {
  test('two processes together let exactly the limit through', async () => {
    const [a, b] = [limiter(30), limiter(30)];
    await Promise.all([a.take('warm', Date.now()), b.take('warm', Date.now())]);
    const verdicts = await Promise.all(
      Array.from({ length: 100 }, (_, i) => (i % 2 ? a : b).take('10.0.0.1', Date.now())),
    );
    expect(verdicts.filter((verdict) => verdict.isAllowed)).toHaveLength(30);
    expect(
      verdicts
        .filter((verdict) => verdict.isAllowed)
        .map((verdict) => verdict.remaining)
        .sort((x, y) => x - y),
    ).toEqual(Array.from({ length: 30 }, (_, i) => i));
    expect(verdicts.find((verdict) => !verdict.isAllowed)).toMatchObject({
      limit: 30,
      remaining: 0,
      resetSeconds: 60,
    });
  });

  test('a high limit is exact as well', async () => {
    const one = limiter(500, 'high');
    await one.take('warm', Date.now());
    const verdicts = await Promise.all(Array.from({ length: 600 }, () => one.take('10.0.0.2', Date.now())));
    expect(verdicts.filter((verdict) => verdict.isAllowed)).toHaveLength(500);
  });

  test('goes on alone while Redis hangs, and shares again when it answers', async () => {
    let isHanging = false;
    const target = new URL(url ?? '');
    const sockets = new Set<Socket>();
    const proxy = createServer((socket) => {
      sockets.add(socket);
      const upstream = connect(Number(target.port || 6379), target.hostname);
      socket.on('data', (chunk) => isHanging || upstream.write(chunk));
      upstream.on('data', (chunk: Buffer) => isHanging || socket.write(chunk));
      for (const end of [socket, upstream]) end.on('error', () => undefined);
      socket.on('close', () => upstream.destroy());
    });
    await new Promise<void>((ready) => proxy.listen(0, '127.0.0.1', () => ready()));
    const address = proxy.address();
    const port = typeof address === 'object' && address ? address.port : 0;
    const one = limiter(5, 'hanging', `redis://127.0.0.1:${port}`);
    let nowMs = Date.now();
    expect((await one.take('k', nowMs)).remaining).toBe(4);
    isHanging = true;
    const startedAt = performance.now();
    const alone = await one.take('k', nowMs);
    expect(alone.isAllowed).toBe(true);
    expect(performance.now() - startedAt).toBeLessThan(1000);
    // On a loaded machine the first answer of Redis may be late too: then this limiter has counted one more.
    expect((await one.take('k', nowMs)).remaining).toBe(alone.remaining - 1);
    isHanging = false;
    for (const socket of sockets) socket.destroy();
    nowMs += 5000;
    const isBack = () => lines.some((line) => line.includes('Redis is back'));
    // Each try stands for one after the pause; the client reconnects in its own time.
    for (let tries = 0; tries < 2000 && !isBack(); tries++) {
      nowMs += 5000;
      await one.take('k', nowMs);
    }
    proxy.close();
    for (const socket of sockets) socket.destroy();
    expect(isBack()).toBe(true);
    expect(lines.filter((line) => line.includes('out of reach'))).toHaveLength(1);
  });
});
