import { afterAll, afterEach, expect, test } from 'bun:test';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { createOpenDownloads } from '../../../api/storage/open-downloads.ts';
import { storage } from '../../../api/storage/storage.ts';
import { makeFolder } from '../../support/audio/ffmpeg-engines.ts';
import { listenOnLoopback } from '../../support/service/listen-on-loopback.ts';
import { waitFor } from '../../support/wait.ts';

const LARGE = '/storage/roundsound/76561198000000001.mp3';
const SMALL = '/storage/roundsound/76561198000000002.mp3';
/** More than the system buffers for a connection, so that a download stays open while nobody reads it. */
const LARGE_BYTES = 16 * 1024 * 1024;

const folder = await makeFolder('downloads');
await Bun.write(join(folder.path, '76561198000000001.mp3'), new Uint8Array(LARGE_BYTES).fill(7));
await Bun.write(join(folder.path, '76561198000000002.mp3'), new Uint8Array(1000));
const { port } = listenOnLoopback(
  storage({
    soundFolder: folder.path,
    clientKey: ({ request }) => request.headers.get('x-client') ?? 'somebody',
  }),
);
afterAll(() => folder.remove());

const sockets = new Set<Socket>();
afterEach(() => {
  for (const socket of sockets) socket.destroy();
  sockets.clear();
});

const get = (path: string, client: string, init: RequestInit = {}) =>
  fetch(`http://127.0.0.1:${port}${path}`, { ...init, headers: { ...init.headers, 'x-client': client } });

/** Begins a download, and reads nothing after the first bytes. */
async function beginDownload(client: string, path = LARGE): Promise<Socket> {
  const socket = connect({ port, host: '127.0.0.1' });
  sockets.add(socket);
  socket.on('error', () => undefined);
  socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\nX-Client: ${client}\r\n\r\n`);
  await new Promise((begun) => socket.once('data', begun));
  socket.pause();
  return socket;
}

test('a client has at most 16 downloads open; others, HEAD and 304 are not affected', async () => {
  const open = await Promise.all(Array.from({ length: 16 }, () => beginDownload('a')));
  const refused = await get(SMALL, 'a');
  expect([refused.status, await refused.json()]).toEqual([
    429,
    { success: false, message: 'Too many downloads at once: an address may have 16 open' },
  ]);
  expect(Object.fromEntries(refused.headers)).toMatchObject({
    'retry-after': '5',
    'cache-control': 'no-store',
    'access-control-allow-origin': '*',
  });
  const head = await get(LARGE, 'a', { method: 'HEAD' });
  expect([head.status, head.headers.get('content-length')]).toEqual([200, String(LARGE_BYTES)]);
  expect((await get(LARGE, 'a', { headers: { 'if-none-match': '*' } })).status).toBe(304);
  expect((await (await get(SMALL, 'b')).bytes()).length).toBe(1000);

  // A client that leaves makes room, and so does one that reads to the end.
  open[0]?.destroy();
  await waitFor(async () => (await get(SMALL, 'a')).status === 200);
  await beginDownload('a');
  expect((await get(SMALL, 'a')).status).toBe(429);
  open[1]?.resume();
  await waitFor(async () => (await get(SMALL, 'a')).status === 200);
});

test('downloads that are read count no longer: a hundred one after another pass', async () => {
  for (let i = 0; i < 100; i++) {
    const response = await get(SMALL, 'c', i % 2 ? { headers: { range: 'bytes=0-9' } } : {});
    expect((await response.bytes()).length).toBe(i % 2 ? 10 : 1000);
  }
});

test('downloads that nobody reads share the bytes, and keep nobody waiting', async () => {
  await (await get(LARGE, 'warm')).bytes();
  Bun.gc(true);
  const before = process.memoryUsage().rss;
  for (let client = 0; client < 60; client++) await beginDownload(`unread ${client}`);
  expect((await (await get(SMALL, 'reader')).bytes()).length).toBe(1000);
  const grownMb = (process.memoryUsage().rss - before) / 1024 / 1024;
  // Sixty copies would be 960 MB.
  expect(grownMb).toBeLessThan(200);
});

test('what a client had open is forgotten once it has ended, client by client', () => {
  const downloads = createOpenDownloads(2);
  const open = new Set<string>();
  const begin = (client: string, name: string) => {
    open.add(name);
    return downloads.begin(client, () => open.has(name));
  };
  expect([begin('a', 'a1'), begin('a', 'a2'), begin('a', 'a3'), begin('b', 'b1')]).toEqual([
    true,
    true,
    false,
    true,
  ]);
  // Many others come and go; what is still open survives each look at all of them.
  for (let i = 0; i < 10_000; i++) {
    begin(`client ${i}`, `download ${i}`);
    open.delete(`download ${i}`);
  }
  expect(begin('a', 'a4')).toBe(false);
  open.delete('a1');
  expect(begin('a', 'a5')).toBe(true);
  expect(begin('a', 'a6')).toBe(false);
});
