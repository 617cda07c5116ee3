import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import net from 'node:net';
import { createEndpointRules } from '../../../../src/events/webhooks/endpoint.ts';
import { createPost } from '../../../../src/events/webhooks/post.ts';
import { CERTIFICATE, KEY } from '../../../support/http/certificate.ts';
import { type Receiver, startReceiver } from '../../../support/http/webhook-receiver.ts';

const MESSAGE = { headers: { 'content-type': 'application/json' }, body: '{"type":"x"}' };
const { mayConnect: loopbackOnly } = createEndpointRules(['127.0.0.1']);

const stops: (() => unknown)[] = [];
afterAll(async () => {
  for (const stop of stops) await stop();
});

/** Stopped after the tests of this file. */
function aReceiver(options?: Parameters<typeof startReceiver>[0]): Receiver {
  const receiver = startReceiver(options);
  stops.push(receiver.stop);
  return receiver;
}

/** A TCP server, and the connections to it; stopped after the tests of this file. */
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

/** Why a message could not be sent, or the status of the response. */
async function failureOf(sent: Promise<number>): Promise<string> {
  const error: unknown = await sent.then(
    (status) => `status ${status}`,
    (error: unknown) => error,
  );
  return error instanceof Error && 'reason' in error ? String(error.reason) : String(error);
}

/** Loopback addresses that only this file uses: they do not reach other programs that listen on 127.0.0.1. */
const LISTENING = '127.13.0.2';
const DESERTED = '127.13.0.1';
const SILENT = '127.13.0.3';
const { mayConnect: internetOnly } = createEndpointRules([]);

describe('the destination of a message', () => {
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

  test('an address that is not public is refused in any notation', async () => {
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
    await expect(post(`https://127.0.0.1:${port}/`, MESSAGE)).rejects.toThrow(
      /^127\.0\.0\.1 is outside the networks of WEBHOOK_ALLOW$/,
    );
    await expect(post(`https://localhost:${port}/`, MESSAGE)).rejects.toThrow(
      /^localhost resolves to (::1|127\.0\.0\.1)(, (::1|127\.0\.0\.1))*, which is outside the networks of WEBHOOK_ALLOW$/,
    );
    expect(connections).toEqual([]);
  });

  test('a name is judged for each message, by the address that is connected to', async () => {
    const receiver = aReceiver({ hostname: '127.0.0.2' });
    const { port } = new URL(receiver.origin);
    const inner = await aRawServer(() => {});
    const resolutions = ['127.0.0.2', '127.0.0.1', '::ffff:127.0.0.1', '::1', '127.0.0.2'];
    const post = createPost({
      mayConnect: createEndpointRules(['127.0.0.2']).mayConnect,
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

  test('connects only to the allowed ones of several addresses', async () => {
    const receiver = aReceiver();
    const post = createPost({
      mayConnect: loopbackOnly,
      resolve: async () => ['10.255.255.1', '127.0.0.1'].map((address) => ({ address, family: 4 })),
    });
    const { port } = new URL(receiver.origin);
    expect(await post(`http://hooks.example.test:${port}/`, MESSAGE)).toBe(204);
  });

  test('proxies of the environment are not used', async () => {
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
  /** Accepts each message, and then does something to the connection. */
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

  test('keeps a connection for the next message', async () => {
    const endpoint = await anEndpoint((socket) => socket.write(TAKEN));
    const post = createPost({ mayConnect: loopbackOnly });
    for (let message = 0; message < 5; message++)
      expect(await post(`${endpoint.origin}/`, MESSAGE)).toBe(200);
    expect(endpoint.connections).toHaveLength(1);
  });

  test('loses no attempt when the endpoint closes a kept connection', async () => {
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

  test('tries the next address of a name when one refuses the connection', async () => {
    const receiver = aReceiver({ hostname: LISTENING });
    const { port } = new URL(receiver.origin);
    const post = createPost({
      mayConnect: createEndpointRules(['127.0.0.0/8']).mayConnect,
      resolve: async () => [DESERTED, LISTENING].map((address) => ({ address, family: 4 })),
    });
    expect(await post(`http://hooks.example.test:${port}/`, MESSAGE)).toBe(204);
  });

  test('begins each further attempt with another address of the name', async () => {
    const receiver = aReceiver({ hostname: LISTENING });
    const { port } = new URL(receiver.origin);
    const silent = net.createServer((socket) => socket.on('error', () => {}));
    await new Promise<void>((resolve) => silent.listen(Number(port), SILENT, resolve));
    const url = `http://hooks.example.test:${port}/`;
    const post = createPost({
      mayConnect: createEndpointRules(['127.0.0.0/8']).mayConnect,
      resolve: async () => [SILENT, LISTENING].map((address) => ({ address, family: 4 })),
      limitMs: 300,
    });
    expect(await failureOf(post(url, { ...MESSAGE, failures: 0 }))).toBe('timeout');
    expect(await failureOf(post(url, { ...MESSAGE, failures: 1 }))).toBe('status 204');
    expect(await failureOf(post(url, { ...MESSAGE, failures: 2 }))).toBe('timeout');
    silent.close();
  });
});

describe('TLS', () => {
  const ca = CERTIFICATE;
  let receiver: Receiver;
  beforeAll(() => {
    receiver = aReceiver({ tls: { key: KEY, cert: CERTIFICATE } });
  });

  const resolve = async () => [{ address: '127.0.0.1', family: 4 }];

  test('the certificate must be that of the name, whatever the address', async () => {
    const post = createPost({ mayConnect: loopbackOnly, resolve, ca });
    const { port } = new URL(receiver.origin);
    expect(await post(`https://hooks.example.test:${port}/`, MESSAGE)).toBe(204);
    expect(await failureOf(post(`https://other.example.test:${port}/`, MESSAGE))).toBe('tls');
    expect(await failureOf(post(`https://127.0.0.1:${port}/`, MESSAGE))).toBe('tls');
  });

  test('a certificate of an unknown authority is refused', async () => {
    const post = createPost({ mayConnect: loopbackOnly, resolve });
    const { port } = new URL(receiver.origin);
    expect(await failureOf(post(`https://hooks.example.test:${port}/`, MESSAGE))).toBe('tls');
    expect(receiver.received).toHaveLength(1);
  });
});

function drip(socket: net.Socket, text: string, everyMs: number): void {
  const timer = setInterval(() => socket.write(text), everyMs);
  socket.on('close', () => clearInterval(timer));
}

describe('an endpoint that does not respond as it should', () => {
  const post = createPost({ mayConnect: loopbackOnly });
  const hastyPost = createPost({ mayConnect: loopbackOnly, limitMs: 1000 });

  test('nobody listens, or the name has no address', async () => {
    const { origin, connections } = await aRawServer((socket) => socket.destroy());
    expect(await failureOf(post(`${origin}/`, MESSAGE))).toBe('unreachable');
    expect(connections).toHaveLength(1);
    expect(await failureOf(post('http://127.0.0.1:1/', MESSAGE))).toBe('unreachable');
    expect(await failureOf(post('https://hooks.invalid/', MESSAGE))).toBe('name-unresolved');
  });

  test('a silent endpoint and one whose headers drip time out', async () => {
    const silent = await aRawServer(() => {});
    const slow = await aRawServer((socket) => drip(socket, 'H', 20));
    for (const { origin } of [silent, slow]) {
      expect(['timeout', 'unreachable']).toContain(await failureOf(hastyPost(`${origin}/`, MESSAGE)));
    }
  });

  test('a resolver that never returns times out', async () => {
    const stuck = createPost({ mayConnect: loopbackOnly, limitMs: 50, resolve: () => new Promise(() => {}) });
    expect(await failureOf(stuck('https://hooks.example.test/', MESSAGE))).toBe('timeout');
  });

  test('an endless response is read to 4 KB, and its status counts', async () => {
    const endless = await aRawServer((socket) => {
      socket.write('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n');
      drip(socket, `400\r\n${'x'.repeat(1024)}\r\n`, 5);
    });
    expect(await failureOf(post(`${endless.origin}/`, MESSAGE))).toBe('status 200');
    expect(endless.connections[0]?.bytesWritten).toBeWithin(1024, 64 * 1024);
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

  test('a compressed response is not decompressed', async () => {
    const bomb = Bun.gzipSync(Buffer.alloc(50 * 1024 * 1024));
    const receiver = aReceiver();
    receiver.respond = () => new Response(bomb, { status: 201, headers: { 'content-encoding': 'gzip' } });
    const beforeBytes = process.memoryUsage.rss();
    expect(await post(`${receiver.origin}/`, MESSAGE)).toBe(201);
    expect(process.memoryUsage.rss() - beforeBytes).toBeLessThan(30 * 1024 * 1024);
  });

  test('a body that drips is read until the limit, and its status counts', async () => {
    const dripping = await aRawServer((socket) => {
      socket.write('HTTP/1.1 500 No\r\nContent-Length: 1000\r\n\r\n');
      drip(socket, 'x', 50);
    });
    expect(await failureOf(hastyPost(`${dripping.origin}/`, MESSAGE))).toBe('status 500');
  });
});
