import { beforeAll, describe, expect, test } from 'bun:test';
import net from 'node:net';
import { createEndpointRules } from '../../../../src/events/webhooks/endpoint.ts';
import { createPost, type Post, PostFailure } from '../../../../src/events/webhooks/post.ts';
import { atEnd } from '../../../support/cleanup.ts';
import { CERTIFICATE, KEY } from '../../../support/http/certificate.ts';
import { type Receiver, startReceiver } from '../../../support/http/webhook-receiver.ts';

const MESSAGE = { headers: { 'content-type': 'application/json' }, body: '{"type":"x"}' };
const { mayConnect: loopbackOnly } = createEndpointRules(['127.0.0.1']);
const { mayConnect: anyLoopback } = createEndpointRules(['127.0.0.0/8']);
const post = createPost({ mayConnect: loopbackOnly });

/** A TCP server, and the connections to it; stopped after the tests of this file. */
async function aRawServer(serve: (socket: net.Socket) => void) {
  const connections: net.Socket[] = [];
  const server = net.createServer((socket) => {
    connections.push(socket);
    socket.on('error', () => {});
    serve(socket);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  atEnd(() => {
    for (const socket of connections) socket.destroy();
    server.close();
  });
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  return { origin: `http://127.0.0.1:${address.port}`, connections };
}

/** A resolver that finds these addresses for any name. */
const resolveTo =
  (...addresses: string[]) =>
  async () =>
    addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }));
/** The address of a name that only such a resolver knows, at the port of a receiver. */
const atName = ({ origin }: Receiver, name = 'hooks.example.test') =>
  Object.assign(new URL(origin), { hostname: name }).href;

/** The status of the response to a message, or why it could not be sent. */
async function send(
  url: string,
  { by = post, failures = 0 }: { by?: Post; failures?: number } = {},
): Promise<unknown> {
  return by(url, { ...MESSAGE, failures }).catch((error: unknown) =>
    error instanceof PostFailure ? error.reason : error,
  );
}

/** Loopback addresses that only this file uses: they do not reach other programs that listen on 127.0.0.1. */
const LISTENING = '127.13.0.2';
const DESERTED = '127.13.0.1';
const SILENT = '127.13.0.3';
const { mayConnect: internetOnly } = createEndpointRules([]);

describe('the destination of a message', () => {
  test('the status of a response decides, and a redirect is not followed', async () => {
    const inner = startReceiver();
    const receiver = startReceiver();
    for (const status of [200, 204, 301, 307, 308, 400, 410, 500]) {
      receiver.respond = () =>
        new Response(null, { status, headers: { location: `${inner.origin}/secret` } });
      expect(await send(`${receiver.origin}/hook?a=b`)).toBe(status);
    }
    expect(inner.received).toEqual([]);
    expect(receiver.received[0]).toMatchObject({ path: '/hook', text: MESSAGE.body });
  });

  test('an address that is not public is refused in any notation', async () => {
    const { origin, connections } = await aRawServer(() => {});
    const post = createPost({ mayConnect: internetOnly });
    const { port } = new URL(origin);
    const otherNotations = ['2130706433', '0x7f.1', '0177.0.0.1', '0'];
    for (const host of ['127.0.0.1', ...otherNotations, '[::1]', '[::ffff:127.0.0.1]', 'localhost']) {
      expect([host, await send(`https://${host}:${port}/`, { by: post })]).toEqual([host, 'address-refused']);
    }
    await expect(post(`https://127.0.0.1:${port}/`, MESSAGE)).rejects.toThrow(
      /^127\.0\.0\.1 is outside the networks of WEBHOOK_ALLOW$/,
    );
    await expect(post(`https://localhost:${port}/`, MESSAGE)).rejects.toThrow(
      /^localhost resolves to (::1|127\.0\.0\.1)(, (::1|127\.0\.0\.1))*, which is outside the networks of WEBHOOK_ALLOW$/,
    );
    expect(connections).toEqual([]);
  });

  test('a name is judged for each message, by the address that is connected to', async () => {
    const receiver = startReceiver({ hostname: '127.0.0.2' });
    const inner = await aRawServer(() => {});
    const { mayConnect } = createEndpointRules(['127.0.0.2']);
    let address = '';
    const by = createPost({ mayConnect, resolve: () => resolveTo(address)() });
    const results: unknown[] = [];
    for (address of ['127.0.0.2', '127.0.0.1', '::ffff:127.0.0.1', '::1', '127.0.0.2']) {
      results.push(await send(atName(receiver), { by }));
    }
    const refused = 'address-refused';
    expect(results).toEqual([204, refused, refused, refused, 204]);
    expect(inner.connections).toEqual([]);
  });

  test('connects only to the allowed ones of several addresses', async () => {
    const by = createPost({ mayConnect: loopbackOnly, resolve: resolveTo('10.255.255.1', '127.0.0.1') });
    expect(await send(atName(startReceiver()), { by })).toBe(204);
  });

  test('proxies of the environment are not used', async () => {
    const receiver = startReceiver();
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
    for (let message = 0; message < 5; message++) expect(await send(endpoint.origin)).toBe(200);
    expect(endpoint.connections).toHaveLength(1);
  });

  test('loses no attempt when the endpoint closes a kept connection', async () => {
    const ends = await anEndpoint((socket) => socket.end(TAKEN));
    const resets = await anEndpoint((socket, messages) => {
      if (messages === 1) socket.write(TAKEN);
      else socket.destroy();
    });
    for (const { origin, connections } of [ends, resets]) {
      for (let message = 0; message < 3; message++) expect(await send(origin)).toBe(200);
      expect(connections).toHaveLength(3);
    }
  });

  test('tries the next address of a name when one refuses the connection', async () => {
    const receiver = startReceiver({ hostname: LISTENING });
    const by = createPost({ mayConnect: anyLoopback, resolve: resolveTo(DESERTED, LISTENING) });
    expect(await send(atName(receiver), { by })).toBe(204);
  });

  test('begins each further attempt with another address of the name', async () => {
    const receiver = startReceiver({ hostname: LISTENING });
    const { port } = new URL(receiver.origin);
    const silent = net.createServer((socket) => socket.on('error', () => {}));
    await new Promise<void>((resolve) => silent.listen(Number(port), SILENT, resolve));
    const url = atName(receiver);
    const resolve = resolveTo(SILENT, LISTENING);
    const by = createPost({ mayConnect: anyLoopback, resolve, limitMs: 300 });
    expect(await send(url, { by })).toBe('timeout');
    expect(await send(url, { by, failures: 1 })).toBe(204);
    expect(await send(url, { by, failures: 2 })).toBe('timeout');
    silent.close();
  });
});

describe('TLS', () => {
  const resolve = resolveTo('127.0.0.1');
  let receiver: Receiver;
  beforeAll(() => {
    receiver = startReceiver({ tls: { key: KEY, cert: CERTIFICATE } });
  });

  test('the certificate must be that of the name, whatever the address', async () => {
    const by = createPost({ mayConnect: loopbackOnly, resolve, ca: CERTIFICATE });
    expect(await send(atName(receiver), { by })).toBe(204);
    expect(await send(atName(receiver, 'other.example.test'), { by })).toBe('tls');
    expect(await send(atName(receiver, '127.0.0.1'), { by })).toBe('tls');
  });

  test('a certificate of an unknown authority is refused', async () => {
    const by = createPost({ mayConnect: loopbackOnly, resolve });
    expect(await send(atName(receiver), { by })).toBe('tls');
    expect(receiver.received).toHaveLength(1);
  });
});

function drip(socket: net.Socket, text: string, everyMs: number): void {
  const timer = setInterval(() => socket.write(text), everyMs);
  socket.on('close', () => clearInterval(timer));
}

describe('an endpoint that does not respond as it should', () => {
  const hastyPost = createPost({ mayConnect: loopbackOnly, limitMs: 1000 });

  test('nobody listens, or the name has no address', async () => {
    const { origin, connections } = await aRawServer((socket) => socket.destroy());
    expect(await send(origin)).toBe('unreachable');
    expect(connections).toHaveLength(1);
    expect(await send('http://127.0.0.1:1/')).toBe('unreachable');
    expect(await send('https://hooks.invalid/')).toBe('name-unresolved');
  });

  test('a silent endpoint and one whose headers drip time out', async () => {
    const silent = await aRawServer(() => {});
    const slow = await aRawServer((socket) => drip(socket, 'H', 20));
    for (const { origin } of [silent, slow]) {
      expect(await send(origin, { by: hastyPost })).toBeOneOf(['timeout', 'unreachable']);
    }
  });

  test('a resolver that never returns times out', async () => {
    const stuck = createPost({ mayConnect: loopbackOnly, limitMs: 50, resolve: () => new Promise(() => {}) });
    expect(await send('https://hooks.example.test/', { by: stuck })).toBe('timeout');
  });

  test('an endless response is read to 4 KB, and its status counts', async () => {
    const endless = await aRawServer((socket) => {
      socket.write('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n');
      drip(socket, `400\r\n${'x'.repeat(1024)}\r\n`, 5);
    });
    expect(await send(endless.origin)).toBe(200);
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
    expect(await send(endless.origin)).toBe('unreachable');
    expect(written).toBeLessThan(64 * 1024 * 1024);
  });

  test('a compressed response is not decompressed', async () => {
    const bomb = Bun.gzipSync(Buffer.alloc(50 * 1024 * 1024));
    const receiver = startReceiver();
    receiver.respond = () => new Response(bomb, { status: 201, headers: { 'content-encoding': 'gzip' } });
    const beforeBytes = process.memoryUsage.rss();
    expect(await send(receiver.origin)).toBe(201);
    expect(process.memoryUsage.rss() - beforeBytes).toBeLessThan(30 * 1024 * 1024);
  });

  test('a body that drips is read until the limit, and its status counts', async () => {
    const dripping = await aRawServer((socket) => {
      socket.write('HTTP/1.1 500 No\r\nContent-Length: 1000\r\n\r\n');
      drip(socket, 'x', 50);
    });
    expect(await send(dripping.origin, { by: hastyPost })).toBe(500);
  });
});
