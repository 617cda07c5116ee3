import { connect } from 'node:net';

/**
 * Streams of `/events` in a separate process: `bun event-clients.ts PORT TOKENS_FILE STREAMS`. Prints `open` when
 * all are open; at the end of its input, the delays in milliseconds as JSON. Every fiftieth client parses what it receives,
 * the others only read it: otherwise their parsing would be measured too.
 */
const [port, tokensFile, wanted] = process.argv.slice(2);
const tokens: string[] = JSON.parse(await Bun.file(tokensFile ?? '').text());
const count = Number(wanted);
const STREAMS_A_TOKEN = 5;
const SAMPLE_EVERY = 50;

const delaysMs: number[] = [];
let open = 0;
let received = 0;

function openStream(index: number): void {
  const socket = connect(Number(port), '127.0.0.1');
  const token = tokens[Math.floor(index / STREAMS_A_TOKEN)];
  socket.write(
    `GET /api/v1/events?types=penalty.created HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer ${token}\r\n\r\n`,
  );
  let isOpen = false;
  let rest = '';
  socket.on('data', (chunk) => {
    if (!isOpen) {
      isOpen = true;
      open += 1;
      if (!chunk.toString('latin1', 0, 15).includes(' 200')) throw new Error(chunk.toString());
      if (open === count) console.log('open');
    }
    if (index % SAMPLE_EVERY !== 0) return;
    const text = rest + chunk.toString('latin1');
    const now = Date.now();
    for (const [, sentMs] of text.matchAll(/"reason":"sent (\d+) end"/g)) {
      delaysMs.push(now - Number(sentMs));
      received += 1;
    }
    rest = text.slice(text.lastIndexOf('\n') + 1);
  });
}

for (let index = 0; index < count; index++) {
  openStream(index);
  if (index % 50 === 49) await Bun.sleep(20);
}
for await (const _ of process.stdin);
console.log(JSON.stringify({ delaysMs, received }));
process.exit(0);
