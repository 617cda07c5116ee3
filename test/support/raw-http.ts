import { connect } from 'node:net';

export type RawAnswer = { status: number; headers: Headers; text: string };

/** Sends one request as it is written, byte for byte: what `fetch` would refuse or tidy up. */
export async function sendRaw(
  origin: string,
  target: string | Uint8Array,
  { method = 'GET', headers = {} }: { method?: string; headers?: Record<string, string> } = {},
): Promise<RawAnswer> {
  const { hostname, port } = new URL(origin);
  const lines = Object.entries({ Host: 'test', Connection: 'close', ...headers }).map(
    ([name, value]) => `${name}: ${value}\r\n`,
  );
  const request = Buffer.concat([
    Buffer.from(`${method} `),
    Buffer.from(target),
    Buffer.from(` HTTP/1.1\r\n${lines.join('')}\r\n`),
  ]);
  const bytes = await new Promise<Buffer>((settle, reject) => {
    const chunks: Buffer[] = [];
    const socket = connect(Number(port), hostname, () => socket.write(request));
    socket.on('data', (chunk) => chunks.push(Buffer.from(chunk)));
    socket.on('end', () => settle(Buffer.concat(chunks)));
    socket.on('error', reject);
  });
  const text = bytes.toString('utf8');
  const end = text.indexOf('\r\n\r\n');
  const [statusLine = '', ...headerLines] = text.slice(0, end).split('\r\n');
  return {
    status: Number(statusLine.split(' ')[1]),
    headers: new Headers(
      headerLines.map((line): [string, string] => {
        const colon = line.indexOf(':');
        return [line.slice(0, colon), line.slice(colon + 1).trim()];
      }),
    ),
    text: text.slice(end + 4),
  };
}
