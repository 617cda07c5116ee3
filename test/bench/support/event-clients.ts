import { connect } from 'node:net';

/**
 * Streams of `/events` in a separate process: `bun event-clients.ts ORIGIN TOKENS_FILE STREAMS`. Prints its port when all
 * are open; `GET /` tells how many messages came, and their delays in milliseconds. Every fiftieth client parses what it
 * receives, the others only read it: otherwise their parsing would be measured too.
 */
const [origin = '', tokensFile = '', wanted] = process.argv.slice(2);
const headers: { Authorization: string }[] = await Bun.file(tokensFile).json();
const count = Number(wanted);
const SAMPLE_EVERY = 50;

const delaysMs: number[] = [];

async function openStream(index: number): Promise<void> {
  const { hostname, port } = new URL(origin);
  const socket = connect(Number(port), hostname);
  const token = headers[index % headers.length]?.Authorization;
  socket.write(
    `GET /api/v1/events?types=penalty.created HTTP/1.1\r\nHost: ${hostname}\r\nAuthorization: ${token}\r\n\r\n`,
  );
  const opened = Promise.withResolvers<void>();
  let rest = '';
  socket.once('data', (head) => {
    if (!head.toString('latin1', 0, 15).includes(' 200')) throw new Error(head.toString());
    opened.resolve();
  });
  socket.on('data', (chunk) => {
    if (index % SAMPLE_EVERY !== 0) return;
    const text = rest + chunk.toString('latin1');
    const now = Date.now();
    for (const [, sentMs] of text.matchAll(/"reason":"sent (\d+) end"/g)) delaysMs.push(now - Number(sentMs));
    rest = text.slice(text.lastIndexOf('\n') + 1);
  });
  await opened.promise;
}

for (let index = 0; index < count; index += 50) {
  await Promise.all(Array.from({ length: 50 }, (_, number) => openStream(index + number)));
}
const server = Bun.serve({
  port: 0,
  hostname: '127.0.0.1',
  fetch: () => Response.json({ received: delaysMs.length, delaysMs }),
});
console.log(JSON.stringify({ port: server.port }));
