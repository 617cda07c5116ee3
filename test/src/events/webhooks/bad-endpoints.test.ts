import { describe, expect, test } from 'bun:test';
import { createPost, type Post } from '../../../../src/events/webhooks/post.ts';
import {
  aRawServer,
  aReceiver,
  failureOf,
  loopbackOnly,
  MESSAGE,
} from '../../../support/http/webhook-endpoints.ts';

/** The time limit for endpoints that never finish. */
const LIMIT_MS = 1000;

describe('an endpoint that does not respond as it should', () => {
  const post: Post = createPost({ mayConnect: loopbackOnly });
  const hastyPost: Post = createPost({ mayConnect: loopbackOnly, limitMs: LIMIT_MS });

  test('nobody listens, or the name has no address', async () => {
    const { origin, connections } = await aRawServer((socket) => socket.destroy());
    expect(await failureOf(post(`${origin}/`, MESSAGE))).toBe('unreachable');
    expect(connections).toHaveLength(1);
    expect(await failureOf(post('http://127.0.0.1:1/', MESSAGE))).toBe('unreachable');
    expect(await failureOf(post('https://hooks.invalid/', MESSAGE))).toBe('name-unresolved');
  });

  test('a silent endpoint, and one that sends its headers slowly, are given up at the limit', async () => {
    const silent = await aRawServer(() => {});
    const slow = await aRawServer((socket) => {
      const timer = setInterval(() => socket.write('H'), 20);
      socket.on('close', () => clearInterval(timer));
    });
    for (const { origin } of [silent, slow]) {
      expect(['timeout', 'unreachable']).toContain(await failureOf(hastyPost(`${origin}/`, MESSAGE)));
    }
  });

  test('a resolver that never returns is given up at the limit', async () => {
    const stuck = createPost({ mayConnect: loopbackOnly, limitMs: 50, resolve: () => new Promise(() => {}) });
    expect(await failureOf(stuck('https://hooks.example.test/', MESSAGE))).toBe('timeout');
  });

  test('an endless response is left after 4 KB, its status counts', async () => {
    let written = 0;
    const endless = await aRawServer((socket) => {
      socket.write('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n');
      const timer = setInterval(() => {
        written += 1024;
        socket.write(`400\r\n${'x'.repeat(1024)}\r\n`);
      }, 5);
      socket.on('close', () => clearInterval(timer));
    });
    expect(await failureOf(post(`${endless.origin}/`, MESSAGE))).toBe('status 200');
    expect(written).toBeLessThan(64 * 1024);
  });

  test('a huge response is not read to its end', async () => {
    let written = 0;
    const huge = await aRawServer((socket) => {
      socket.write('HTTP/1.1 200 OK\r\nContent-Length: 1000000000000\r\n\r\n');
      const chunk = Buffer.alloc(64 * 1024);
      const fill = () => {
        do written += chunk.length;
        while (socket.write(chunk));
      };
      socket.on('drain', fill);
      fill();
    });
    expect(await failureOf(post(`${huge.origin}/`, MESSAGE))).toBe('status 200');
    expect(written).toBeLessThan(64 * 1024 * 1024);
  });

  test('endless headers do not count as a response', async () => {
    let written = 0;
    const endless = await aRawServer((socket) => {
      socket.write('HTTP/1.1 200 OK\r\n');
      const header = `X-A: ${'a'.repeat(16 * 1024)}\r\n`;
      const fill = () => {
        do written += header.length;
        while (!socket.destroyed && socket.write(header));
      };
      socket.on('drain', fill);
      fill();
    });
    expect(await failureOf(post(`${endless.origin}/`, MESSAGE))).toBe('unreachable');
    expect(written).toBeLessThan(64 * 1024 * 1024);
  });

  test('a compressed response is not unpacked', async () => {
    const bomb = Bun.gzipSync(Buffer.alloc(50 * 1024 * 1024));
    const receiver = aReceiver();
    receiver.respond = () => new Response(bomb, { status: 201, headers: { 'content-encoding': 'gzip' } });
    const beforeBytes = process.memoryUsage.rss();
    expect(await post(`${receiver.origin}/`, MESSAGE)).toBe(201);
    expect(process.memoryUsage.rss() - beforeBytes).toBeLessThan(30 * 1024 * 1024);
  });

  test('a body that drips ends with the limit, its status counts', async () => {
    const dripping = await aRawServer((socket) => {
      socket.write('HTTP/1.1 500 No\r\nContent-Length: 1000\r\n\r\n');
      const timer = setInterval(() => socket.write('x'), 50);
      socket.on('close', () => clearInterval(timer));
    });
    expect(await failureOf(hastyPost(`${dripping.origin}/`, MESSAGE))).toBe('status 500');
  });
});
