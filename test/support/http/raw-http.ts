import { once } from 'node:events';
import { connect } from 'node:net';

type RawAnswer = { status: number; headers: Headers; text: string };

/** Sends one request as it is written, byte for byte: what `fetch` would refuse or tidy up. A compressed body is unpacked. */
export async function sendRaw(
  origin: string,
  target: string | Uint8Array,
  {
    method = 'GET',
    version = '1.1',
    headers = {},
  }: {
    method?: string;
    version?: '1.0' | '1.1';
    /** Besides `Host: test` and `Connection: close`; null leaves one of them out. */
    headers?: Record<string, string | null>;
  } = {},
): Promise<RawAnswer> {
  const { hostname, port } = new URL(origin);
  const lines = Object.entries({ Host: 'test', Connection: 'close', ...headers }).map(([name, value]) =>
    value === null ? '' : `${name}: ${value}\r\n`,
  );
  const request = Buffer.concat([
    Buffer.from(`${method} `),
    Buffer.from(target),
    Buffer.from(` HTTP/${version}\r\n${lines.join('')}\r\n`),
  ]);
  const bytes = await new Promise<Buffer>((settle, reject) => {
    const chunks: Buffer[] = [];
    const socket = connect(Number(port), hostname, () => socket.write(request));
    socket.on('data', (chunk) => chunks.push(Buffer.from(chunk)));
    socket.on('end', () => settle(Buffer.concat(chunks)));
    socket.on('error', reject);
  });
  const end = bytes.indexOf('\r\n\r\n');
  const [statusLine = '', ...headerLines] = bytes.toString('utf8', 0, end).split('\r\n');
  const received = new Headers(
    headerLines.map((line): [string, string] => {
      const colon = line.indexOf(':');
      return [line.slice(0, colon), line.slice(colon + 1).trim()];
    }),
  );
  const body = bytes.subarray(end + 4);
  const isCompressed = received.get('content-encoding') === 'gzip' && body.length > 0;
  return {
    status: Number(statusLine.split(' ')[1]),
    headers: received,
    text: new TextDecoder().decode(isCompressed ? Bun.gunzipSync(new Uint8Array(body)) : body),
  };
}

/** A client that requests an address and reads nothing until it is told to. */
export function openUnread(origin: string, target: string, headers: Record<string, string> = {}) {
  const { hostname, port } = new URL(origin);
  const socket = connect(Number(port), hostname).pause();
  const lines = Object.entries({ Host: 'test', ...headers }).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.write(`GET ${target} HTTP/1.1\r\n${lines.join('')}\r\n`);
  let text = '';
  socket.on('data', (bytes) => {
    text += bytes.toString('latin1');
  });
  socket.on('error', () => undefined);
  const closed = new Promise((settle) => socket.once('close', settle));
  // A listener for data makes it flow.
  socket.pause();
  return {
    readBeginning: async () => {
      await once(socket.resume(), 'data');
      socket.pause();
    },
    /** @returns all that came until the connection was closed, a character a byte. */
    readToEnd: async () => {
      socket.resume();
      await closed;
      return text;
    },
    destroy: () => socket.destroy(),
  };
}
