import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { mkdtemp, rm } from 'node:fs/promises';
import net from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createEndpointRules } from '../../../../src/events/webhooks/endpoint.ts';
import { createPost, type Post } from '../../../../src/events/webhooks/post.ts';
import { type Receiver, startReceiver } from '../../../support/http/webhook-receiver.ts';

/** Of endpoints that never finish: whatever a busy machine adds, they would take for ever. */
const LIMIT_MS = 1000;
const MESSAGE = { headers: { 'content-type': 'application/json' }, body: '{"type":"x"}' };
/** Loopback addresses of this file's own: whoever else listens on a port of 127.0.0.1 is not reached by them. */
const LISTENING = '127.13.0.2';
const DESERTED = '127.13.0.1';
const { mayConnect: loopbackOnly } = createEndpointRules(['127.0.0.1']);
const { mayConnect: internetOnly } = createEndpointRules([]);

const stops: (() => unknown)[] = [];
afterAll(async () => {
  for (const stop of stops) await stop();
});

function aReceiver(options?: Parameters<typeof startReceiver>[0]): Receiver {
  const receiver = startReceiver(options);
  stops.push(receiver.stop);
  return receiver;
}

/** A server of raw TCP, and how many bytes it could write. */
async function aRawServer(serve: (socket: net.Socket) => void) {
  const connections: net.Socket[] = [];
  const server = net.createServer((socket) => {
    connections.push(socket);
    socket.on('error', () => {});
    serve(socket);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  stops.push(() => {
    for (const socket of connections) socket.destroy();
    server.close();
  });
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  return { origin: `http://127.0.0.1:${address.port}`, connections };
}

async function failureOf(sent: Promise<number>): Promise<string> {
  const error: unknown = await sent.then(
    (status) => `status ${status}`,
    (error: unknown) => error,
  );
  return error instanceof Error && 'reason' in error ? String(error.reason) : String(error);
}

describe('where a message goes', () => {
  test('the status of a response decides, and a redirect is not followed', async () => {
    const post = createPost({ mayConnect: loopbackOnly });
    const inner = aReceiver();
    const receiver = aReceiver();
    for (const status of [200, 204, 301, 307, 308, 400, 410, 500]) {
      receiver.respond = () =>
        new Response(null, { status, headers: { location: `${inner.origin}/secret` } });
      expect(await post(`${receiver.origin}/hook?a=b`, MESSAGE)).toBe(status);
    }
    expect(inner.received).toEqual([]);
    expect(receiver.received[0]).toMatchObject({ path: '/hook', text: MESSAGE.body });
  });

  test('an address that is not public gets no connection, in any notation', async () => {
    const { origin, connections } = await aRawServer(() => {});
    const post = createPost({ mayConnect: internetOnly });
    const { port } = new URL(origin);
    for (const host of [
      '127.0.0.1',
      '2130706433',
      '0x7f.1',
      '0177.0.0.1',
      '[::1]',
      '[::ffff:127.0.0.1]',
      '0',
    ]) {
      expect(await failureOf(post(`https://${host}:${port}/`, MESSAGE))).toBe('address-refused');
    }
    expect(await failureOf(post(`http://localhost:${port}/`, MESSAGE))).toBe('address-refused');
    expect(connections).toEqual([]);
  });

  test('a name is judged by the address that the connection is made to, each time', async () => {
    const receiver = aReceiver({ hostname: '127.0.0.2' });
    const { port } = new URL(receiver.origin);
    const inner = await aRawServer(() => {});
    const resolutions = ['127.0.0.2', '127.0.0.1', '::ffff:127.0.0.1', '::1', '127.0.0.2'];
    const post = createPost({
      mayConnect: createEndpointRules(['127.0.0.2']).mayConnect,
      resolvedForMs: 0,
      resolve: async () => {
        const address = resolutions.shift() ?? '127.0.0.1';
        return [{ address, family: address.includes(':') ? 6 : 4 }];
      },
    });
    const results: string[] = [];
    for (const _ of [...resolutions]) {
      results.push(await failureOf(post(`http://hooks.example.test:${port}/`, MESSAGE)));
    }
    const refused = 'address-refused';
    expect(results).toEqual(['status 204', refused, refused, refused, 'status 204']);
    expect(resolutions).toEqual([]);
    expect(inner.connections).toEqual([]);
  });

  test('of several addresses only those that may be connected to are used, and resolved once', async () => {
    const receiver = aReceiver();
    let resolved = 0;
    const post = createPost({
      mayConnect: loopbackOnly,
      resolve: async () => {
        resolved += 1;
        return [
          { address: '10.255.255.1', family: 4 },
          { address: '127.0.0.1', family: 4 },
        ];
      },
    });
    const { port } = new URL(receiver.origin);
    expect(await post(`http://hooks.example.test:${port}/`, MESSAGE)).toBe(204);
    expect(resolved).toBe(1);
  });

  test('no proxy of the environment stands between', async () => {
    const receiver = aReceiver();
    const proxy = await aRawServer((socket) => socket.destroy());
    const script = `
      const { createPost } = await import('./src/events/webhooks/post.ts');
      console.log(await createPost({ mayConnect: () => true })('${receiver.origin}/', { headers: {}, body: '{}' }));`;
    const names = ['HTTP_PROXY', 'http_proxy', 'HTTPS_PROXY', 'https_proxy', 'ALL_PROXY'];
    const child = Bun.spawn(['bun', '-e', script], {
      env: { PATH: process.env.PATH, ...Object.fromEntries(names.map((name) => [name, proxy.origin])) },
      stdout: 'pipe',
    });
    expect(await new Response(child.stdout).text()).toBe('204\n');
    expect(proxy.connections).toEqual([]);
  });
});

describe('connections', () => {
  /** Takes each message, and does something to the connection then. */
  function anEndpoint(afterwards: (socket: net.Socket, messages: number) => void) {
    return aRawServer((socket) => {
      let messages = 0;
      socket.on('data', () => {
        messages += 1;
        afterwards(socket, messages);
      });
    });
  }
  const TAKEN = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok';

  test('are kept for the next message', async () => {
    const endpoint = await anEndpoint((socket) => socket.write(TAKEN));
    const post = createPost({ mayConnect: loopbackOnly });
    for (let message = 0; message < 5; message++)
      expect(await post(`${endpoint.origin}/`, MESSAGE)).toBe(200);
    expect(endpoint.connections).toHaveLength(1);
  });

  test('that the endpoint ends, before a message or with it, cost no try', async () => {
    const post = createPost({ mayConnect: loopbackOnly });
    const ends = await anEndpoint((socket) => socket.end(TAKEN));
    const resets = await anEndpoint((socket, messages) => {
      if (messages === 1) socket.write(TAKEN);
      else socket.destroy();
    });
    for (const { origin, connections } of [ends, resets]) {
      for (let message = 0; message < 3; message++) expect(await post(`${origin}/`, MESSAGE)).toBe(200);
      expect(connections).toHaveLength(3);
    }
  });

  test('are made to the next address of a name where one refuses them', async () => {
    const receiver = aReceiver({ hostname: LISTENING });
    const { port } = new URL(receiver.origin);
    const post = createPost({
      mayConnect: createEndpointRules(['127.0.0.0/8']).mayConnect,
      resolve: async () => [DESERTED, LISTENING].map((address) => ({ address, family: 4 })),
    });
    expect(await post(`http://hooks.example.test:${port}/`, MESSAGE)).toBe(204);
  });

  test('are made to where a name led a moment ago, until a message fails', async () => {
    const receiver = aReceiver({ hostname: LISTENING });
    const { port } = new URL(receiver.origin);
    const url = `http://hooks.example.test:${port}/`;
    let resolved = 0;
    const post = createPost({
      mayConnect: createEndpointRules([LISTENING]).mayConnect,
      resolvedForMs: 60_000,
      resolve: async () => [{ address: resolved++ === 0 ? LISTENING : DESERTED, family: 4 }],
    });
    expect(await post(url, MESSAGE)).toBe(204);
    expect(await post(url, MESSAGE)).toBe(204);
    expect(resolved).toBe(1);
    await receiver.stop();
    expect(await failureOf(post(url, MESSAGE))).toBe('unreachable');
    expect(await failureOf(post(url, MESSAGE))).toBe('address-refused');
    expect(resolved).toBe(2);
  });
});

describe('what does not respond as it should', () => {
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

  test('endless headers are no response', async () => {
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

describe('TLS', () => {
  let folder = '';
  let ca = '';
  let receiver: Receiver;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'community-api-tls-'));
    const names = ['-subj', '/CN=hooks.example.test', '-addext', 'subjectAltName=DNS:hooks.example.test'];
    const files = ['-keyout', `${folder}/key.pem`, '-out', `${folder}/cert.pem`];
    const made = Bun.spawnSync([
      'openssl',
      'req',
      '-x509',
      '-newkey',
      'rsa:2048',
      '-nodes',
      '-days',
      '2',
      ...files,
      ...names,
    ]);
    expect(made.exitCode).toBe(0);
    ca = await Bun.file(`${folder}/cert.pem`).text();
    receiver = aReceiver({ tls: { key: await Bun.file(`${folder}/key.pem`).text(), cert: ca } });
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  const resolve = async () => [{ address: '127.0.0.1', family: 4 }];

  test('the certificate is that of the name, whatever address it has', async () => {
    const post = createPost({ mayConnect: loopbackOnly, resolve, ca });
    const { port } = new URL(receiver.origin);
    expect(await post(`https://hooks.example.test:${port}/`, MESSAGE)).toBe(204);
    expect(await failureOf(post(`https://other.example.test:${port}/`, MESSAGE))).toBe('tls');
    expect(await failureOf(post(`https://127.0.0.1:${port}/`, MESSAGE))).toBe('tls');
  });

  test('a certificate that nobody vouches for is refused', async () => {
    const post = createPost({ mayConnect: loopbackOnly, resolve });
    const { port } = new URL(receiver.origin);
    expect(await failureOf(post(`https://hooks.example.test:${port}/`, MESSAGE))).toBe('tls');
    expect(receiver.received).toHaveLength(1);
  });
});
