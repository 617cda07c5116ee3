import { expect, test } from 'bun:test';
import { mkdir, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import pino from 'pino';
import { createApp } from '../../../api/app.ts';
import { createErrorMapper } from '../../../api/http/error-handler.ts';
import { listen } from '../../../api/http/listen.ts';
import { storage } from '../../../api/storage/storage.ts';
import { openSoundStore } from '../../../media/sound-store.ts';
import { atEnd } from '../../support/cleanup.ts';
import { openUnread, sendRaw } from '../../support/http/raw-http.ts';
import { createTestFolder } from '../../support/service/program.ts';

const ID = '76561198000000001';
/** Of two other sounds: a large one, and one of 1000 bytes. */
const [LARGE, SMALL] = ['76561198000000003.mp3', '76561198000000004.mp3'];
const BYTES = Uint8Array.from({ length: 1000 }, (_, index) => index % 256);

const REVALIDATED = 'public, max-age=60, must-revalidate';

const folder = createTestFolder();
const soundFolder = join(folder, 'roundsound');
const sounds = await openSoundStore({ dataDir: folder, storageDir: folder });
await mkdir(join(soundFolder, '76561198000000008.mp3'), { recursive: true });
await Bun.write(join(soundFolder, `${ID}.mp3`), BYTES);
// More than the system buffers for a connection, so that a download stays open while nobody reads it.
await Bun.write(join(soundFolder, LARGE), new Uint8Array(16 * 1024 * 1024).fill(7));
await Bun.write(join(soundFolder, SMALL), new Uint8Array(1000));
await Bun.write(join(soundFolder, '.7.partial'), 'half');
await Bun.write(join(soundFolder, 'note.txt'), 'note');
await Bun.write(join(folder, 'secret.mp3'), 'secret');
await symlink(join(folder, 'secret.mp3'), join(soundFolder, '76561198000000009.mp3'));
const log = pino({ level: 'silent' });
const server = listen(
  createApp(createErrorMapper(log))
    .use(storage({ open: sounds.open }))
    .compile(),
  {
    host: '127.0.0.1',
    port: 0,
    maxBodyBytes: 1024,
    log,
    isStopping: () => false,
  },
);
atEnd(() => server.stop(true));
const origin = `http://127.0.0.1:${server.port}`;

test('serves a sound whole, as MP3, to every origin, with an ETag', async () => {
  const response = await get();
  expect(response.status).toBe(200);
  expect(await response.bytes()).toEqual(BYTES);
  expect(response.headers.get('content-type')).toBe('audio/mpeg');
  expect(response.headers.get('content-length')).toBe('1000');
  expect(response.headers.get('accept-ranges')).toBe('bytes');
  expect(response.headers.get('access-control-allow-origin')).toBe('*');
  expect(response.headers.get('cache-control')).toBe(REVALIDATED);
  expect(response.headers.get('etag')).toMatch(/^"[\w-]+"$/);
  expect(response.headers.get('x-content-type-options')).toBe('nosniff');
});

test('a link with the current version may be cached for ever, a link with another version may not', async () => {
  const cacheControlOf = async (version: string) => {
    const response = await fetch(`${origin}/storage/roundsound/${ID}.mp3?v=${version}`);
    expect(await response.bytes()).toEqual(BYTES);
    return response.headers.get('cache-control');
  };
  const version = new Bun.CryptoHasher('sha256').update(BYTES).digest('hex').slice(0, 16);
  expect(await cacheControlOf(version)).toBe('public, max-age=31536000, immutable');
  for (const other of ['', 'abc', version.slice(0, 4), version.replace(/^./, 'x')]) {
    expect(await cacheControlOf(other)).toBe(REVALIDATED);
  }
});

test('HEAD responds as GET does, without the body', async () => {
  const [head, whole] = [await get({}, 'HEAD'), await get()];
  expect(head.status).toBe(200);
  expect((await head.bytes()).length).toBe(0);
  for (const name of ['content-length', 'content-type', 'etag', 'last-modified', 'accept-ranges']) {
    expect(head.headers.get(name)).toBe(whole.headers.get(name));
  }
});

test('HEAD ignores ranges: RFC 9110 defines them only for GET', async () => {
  for (const range of ['bytes=0-9', 'bytes=5000-']) {
    const { status, headers } = await get({ range }, 'HEAD');
    expect([range, status, headers.get('content-length')]).toEqual([range, 200, '1000']);
    expect(headers.get('content-range')).toBeNull();
  }
});

test.each([
  ['bytes=0-0', 0, 0],
  ['bytes=10-19', 10, 19],
  ['bytes=990-', 990, 999],
  ['bytes=990-5000', 990, 999],
  ['bytes=-5', 995, 999],
  ['bytes=-5000', 0, 999],
])('responds with the range %s', async (range, start, end) => {
  const response = await get({ range });
  expect(response.status).toBe(206);
  expect(response.headers.get('content-range')).toBe(`bytes ${start}-${end}/1000`);
  expect(await response.bytes()).toEqual(BYTES.subarray(start, end + 1));
});

test.each(['bytes=1000-', 'bytes=-0', 'bytes=5000-6000'])(
  'refuses the range %s with the length',
  async (range) => {
    const response = await get({ range });
    expect(response.status).toBe(416);
    expect(response.headers.get('content-range')).toBe('bytes */1000');
    expect(response.headers.get('cache-control')).toBe('no-store');
  },
);

test.each(['bytes=20-10', 'bytes=2000-1500', 'bytes=0-1,5-6', 'bytes=-', 'lines=0-1', 'bytes=a-b'])(
  'ignores the range %s',
  async (range) => {
    expect((await get({ range })).status).toBe(200);
  },
);

test('If-Range gives the part of the same file, and the whole of another', async () => {
  const etag = (await get()).headers.get('etag') ?? '';
  expect((await get({ range: 'bytes=0-9', 'if-range': etag })).status).toBe(206);
  expect((await get({ range: 'bytes=0-9', 'if-range': '"old"' })).status).toBe(200);
});

test.each(['GET', 'HEAD'])('%s refuses the rest of a file that was replaced meanwhile', async (method) => {
  const { headers } = await get();
  const etag = headers.get('etag') ?? '';
  const modified = headers.get('last-modified') ?? '';
  const before = new Date(Date.parse(modified) - 1000).toUTCString();
  const statusOf = async (conditions: Record<string, string>) =>
    (await get({ range: 'bytes=500-', ...conditions }, method)).status;
  const status = method === 'GET' ? 206 : 200;
  for (const tags of [etag, `"x", ${etag}`, '*']) expect(await statusOf({ 'if-match': tags })).toBe(status);
  for (const tags of ['"old"', `W/${etag}`, '']) expect(await statusOf({ 'if-match': tags })).toBe(412);
  expect(await statusOf({ 'if-unmodified-since': modified })).toBe(status);
  expect(await statusOf({ 'if-unmodified-since': 'yesterday' })).toBe(status);
  expect(await statusOf({ 'if-unmodified-since': before })).toBe(412);
  expect(await statusOf({ 'if-unmodified-since': before, 'if-match': etag })).toBe(status);
});

test('reads 8 kB of a list of tags and of a query, no more', async () => {
  const etag = (await get()).headers.get('etag') ?? '';
  expect((await get({ 'if-none-match': etag.padStart(8192, ',') })).status).toBe(304);
  expect((await get({ 'if-none-match': etag.padStart(8193, ',') })).status).toBe(200);
  const version = new Bun.CryptoHasher('sha256').update(BYTES).digest('hex');
  const late = await fetch(`${origin}/storage/roundsound/${ID}.mp3?${'a&'.repeat(4096)}v=${version}`);
  expect([late.status, late.headers.get('cache-control')]).toEqual([200, REVALIDATED]);
});

test('responds 304 to a client that has the sound, and 200 after it was replaced', async () => {
  const first = await get();
  const etag = first.headers.get('etag') ?? '';
  for (const tag of [etag, `W/${etag}`, `"x", ${etag}`, '*']) {
    expect((await get({ 'if-none-match': tag })).status).toBe(304);
  }
  expect((await get({ 'if-modified-since': first.headers.get('last-modified') ?? '' })).status).toBe(304);
  await Bun.write(join(soundFolder, 'next'), new Uint8Array(1000));
  await Bun.$`mv ${join(soundFolder, 'next')} ${join(soundFolder, `${ID}.mp3`)}`;
  expect((await get({ 'if-none-match': etag })).status).toBe(200);
  await Bun.write(join(soundFolder, `${ID}.mp3`), BYTES);
});

test.each([
  '/storage/roundsound/76561198000000002.mp3',
  '/storage/roundsound/76561198000000008.mp3',
  '/storage/roundsound/76561198000000009.mp3',
  '/storage/roundsound/.7.partial',
  '/storage/roundsound/note.txt',
  '/storage/roundsound/',
  '/storage/roundsound',
  '/storage/roundsound/../secret.mp3',
  '/storage/roundsound/..%2fsecret.mp3',
  '/storage/roundsound/%2e%2e%2fsecret.mp3',
  '/storage/roundsound/..%5csecret.mp3',
  '/storage/roundsound//etc/passwd',
  `/storage/roundsound/x/../${ID}.mp3/../../secret.mp3`,
  `/storage/roundsound/${ID}.mp3%00.txt`,
  `/storage/roundsound/${ID}.MP3`,
  '/storage/secret.mp3',
])('reaches nothing else: %s', async (path) => {
  const { status, text } = await sendRaw(origin, path);
  expect([status, JSON.parse(text)]).toEqual([404, { success: false, message: 'Not found' }]);
});

test('a 304 to HEAD has no length, as one to GET has none', async () => {
  for (const method of ['GET', 'HEAD']) {
    const { status, headers } = await get({ 'if-none-match': '*' }, method);
    expect([method, status, headers.get('content-length')]).toEqual([method, 304, null]);
  }
});

test('HEAD of a sound that does not exist is 404', async () => {
  const path = '/storage/roundsound/76561198000000002.mp3';
  const { status, headers } = await fetch(origin + path, { method: 'HEAD' });
  expect([status, headers.get('content-type')]).toEqual([404, 'application/json; charset=utf-8']);
});

test('accepts a preflight, and refuses other methods', async () => {
  expect((await get({}, 'OPTIONS')).status).toBe(204);
  const refused = await get({}, 'POST');
  expect(refused.status).toBe(405);
  expect(refused.headers.get('allow')).toBe('GET, HEAD, OPTIONS');
});

const download = async (file: string) => (await fetch(`${origin}/storage/roundsound/${file}`)).bytes();

test('downloads that nobody reads share the bytes, and keep nobody waiting', async () => {
  await download(LARGE);
  Bun.gc(true);
  const before = process.memoryUsage().rss;
  const clients = Array.from({ length: 60 }, () => openUnread(origin, `/storage/roundsound/${LARGE}`));
  for (const client of clients) await client.readBeginning();
  expect((await download(SMALL)).length).toBe(1000);
  const grownMb = (process.memoryUsage().rss - before) / 1024 / 1024;
  // Sixty copies would be 960 MB.
  expect(grownMb).toBeLessThan(200);
  for (const client of clients) client.destroy();
});

test('a sound that many ask for at once is read once', async () => {
  const reads = Array.from({ length: 100 }, () => sounds.open(SMALL));
  const files = await Promise.all(reads);
  expect(files[0]?.blob.size).toBe(1000);
  expect(new Set(files).size).toBe(1);
});

function get(headers: Record<string, string> = {}, method = 'GET'): Promise<Response> {
  return fetch(`${origin}/storage/roundsound/${ID}.mp3`, { method, headers });
}
