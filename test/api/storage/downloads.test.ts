import { afterAll, afterEach, expect, test } from 'bun:test';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { storage } from '../../../api/storage/storage.ts';
import { openSoundStore } from '../../../media/sound-store.ts';
import { makeFolder } from '../../support/audio/ffmpeg-engines.ts';
import { listenOnLoopback } from '../../support/service/listen-on-loopback.ts';

const LARGE = '/storage/roundsound/76561198000000001.mp3';
const SMALL = '/storage/roundsound/76561198000000002.mp3';
/** More than the system buffers for a connection, so that a download stays open while nobody reads it. */
const LARGE_BYTES = 16 * 1024 * 1024;

const folder = await makeFolder('downloads');
const sounds = await openSoundStore({ dataDir: folder.path, storageDir: folder.path });
await Bun.write(
  join(folder.path, 'roundsound', '76561198000000001.mp3'),
  new Uint8Array(LARGE_BYTES).fill(7),
);
await Bun.write(join(folder.path, 'roundsound', '76561198000000002.mp3'), new Uint8Array(1000));
const { port } = listenOnLoopback(storage({ open: sounds.open }));
afterAll(() => folder.remove());

const sockets = new Set<Socket>();
afterEach(() => {
  for (const socket of sockets) socket.destroy();
  sockets.clear();
});

/** Begins a download, and reads nothing after the first bytes. */
async function beginDownload(): Promise<void> {
  const socket = connect({ port, host: '127.0.0.1' });
  sockets.add(socket);
  socket.on('error', () => undefined);
  socket.write(`GET ${LARGE} HTTP/1.1\r\nHost: x\r\n\r\n`);
  await new Promise((begun) => socket.once('data', begun));
  socket.pause();
}

const download = async (path: string) => (await fetch(`http://127.0.0.1:${port}${path}`)).bytes();

test('downloads that nobody reads share the bytes, and keep nobody waiting', async () => {
  await download(LARGE);
  Bun.gc(true);
  const before = process.memoryUsage().rss;
  for (let client = 0; client < 60; client++) await beginDownload();
  expect((await download(SMALL)).length).toBe(1000);
  const grownMb = (process.memoryUsage().rss - before) / 1024 / 1024;
  // Sixty copies would be 960 MB.
  expect(grownMb).toBeLessThan(200);
});

test('a sound that many ask for at once is read once', async () => {
  const reads = Array.from({ length: 100 }, () => sounds.open('76561198000000002.mp3'));
  const files = await Promise.all(reads);
  expect(files[0]?.blob.size).toBe(1000);
  expect(new Set(files).size).toBe(1);
});
