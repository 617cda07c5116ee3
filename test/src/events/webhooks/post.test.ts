import { beforeAll, describe, expect, test } from 'bun:test';
import net from 'node:net';
import { createEndpointRules } from '../../../../src/events/webhooks/endpoint.ts';
import { createPost } from '../../../../src/events/webhooks/post.ts';
import { CERTIFICATE, KEY } from '../../../support/http/certificate.ts';
import {
  aRawServer,
  aReceiver,
  failureOf,
  loopbackOnly,
  MESSAGE,
} from '../../../support/http/webhook-endpoints.ts';
import type { Receiver } from '../../../support/http/webhook-receiver.ts';

/** Loopback addresses that only this file uses: they do not reach other programs that listen on 127.0.0.1. */
const LISTENING = '127.13.0.2';
const DESERTED = '127.13.0.1';
const SILENT = '127.13.0.3';
const { mayConnect: internetOnly } = createEndpointRules([]);

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
    await expect(post(`https://127.0.0.1:${port}/`, MESSAGE)).rejects.toThrow(
      /^127\.0\.0\.1 is outside the networks of WEBHOOK_ALLOW$/,
    );
    await expect(post(`https://localhost:${port}/`, MESSAGE)).rejects.toThrow(
      /^localhost resolves to (::1|127\.0\.0\.1)(, (::1|127\.0\.0\.1))*, which is outside the networks of WEBHOOK_ALLOW$/,
    );
    expect(connections).toEqual([]);
  });

  test('a name is judged by the address that the connection is made to, each time', async () => {
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

  test('of each further attempt begin at another address of the name', async () => {
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
