import { afterAll, expect, test } from 'bun:test';
import { mkdir, symlink } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';
import { storage } from '../../../api/storage/storage.ts';
import { openSoundStore } from '../../../media/sound-store.ts';
import { makeFolder } from '../../support/audio/ffmpeg-engines.ts';
import { listenOnLoopback } from '../../support/service/listen-on-loopback.ts';

const ID = '76561198000000001';
const BYTES = Uint8Array.from({ length: 1000 }, (_, index) => index % 256);

const folder = await makeFolder('storage');
const soundFolder = join(folder.path, 'roundsound');
const sounds = await openSoundStore({ dataDir: folder.path, storageDir: folder.path });
await mkdir(join(soundFolder, '76561198000000008.mp3'), { recursive: true });
await Bun.write(join(soundFolder, `${ID}.mp3`), BYTES);
await Bun.write(join(soundFolder, '.7.partial'), 'half');
await Bun.write(join(soundFolder, 'note.txt'), 'note');
await Bun.write(join(folder.path, 'secret.mp3'), 'secret');
await symlink(join(folder.path, 'secret.mp3'), join(soundFolder, '76561198000000009.mp3'));
const { port, origin } = listenOnLoopback(storage({ open: sounds.open }));
afterAll(() => folder.remove());

test('serves a sound whole, as MP3, to every origin, with an ETag', async () => {
  const response = await get();
  expect(response.status).toBe(200);
  expect(await response.bytes()).toEqual(BYTES);
  expect(response.headers.get('content-type')).toBe('audio/mpeg');
  expect(response.headers.get('content-length')).toBe('1000');
  expect(response.headers.get('accept-ranges')).toBe('bytes');
  expect(response.headers.get('access-control-allow-origin')).toBe('*');
  expect(response.headers.get('cache-control')).toBe('public, max-age=60, must-revalidate');
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
    expect(await cacheControlOf(other)).toBe('public, max-age=60, must-revalidate');
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
    const head = await get({ range }, 'HEAD');
    expect([head.status, head.headers.get('content-length'), head.headers.get('content-range')]).toEqual([
      200,
      '1000',
      null,
    ]);
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
  expect([late.status, late.headers.get('cache-control')]).toEqual([
    200,
    'public, max-age=60, must-revalidate',
  ]);
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
  const answer = await raw(`GET ${path} HTTP/1.1`);
  expect(answer).toStartWith('HTTP/1.1 404');
  expect(answer).not.toContain('secret');
});

test('a 304 to HEAD has no length, as one to GET has none', async () => {
  for (const method of ['GET', 'HEAD']) {
    const { status, headers } = await get({ 'if-none-match': '*' }, method);
    expect([method, status, headers.get('content-length')]).toEqual([method, 304, null]);
  }
});

test('HEAD of a sound that does not exist is 404', async () => {
  const response = await fetch(`${origin}/storage/roundsound/76561198000000002.mp3`, { method: 'HEAD' });
  expect([response.status, response.headers.get('content-type')]).toEqual([
    404,
    'application/json; charset=utf-8',
  ]);
});

test('accepts a preflight, and refuses other methods', async () => {
  expect((await get({}, 'OPTIONS')).status).toBe(204);
  const refused = await get({}, 'POST');
  expect(refused.status).toBe(405);
  expect(refused.headers.get('allow')).toBe('GET, HEAD, OPTIONS');
});

function get(headers: Record<string, string> = {}, method = 'GET'): Promise<Response> {
  return fetch(`${origin}/storage/roundsound/${ID}.mp3`, { method, headers });
}

/** The path unchanged; `fetch` would normalise it. */
function raw(line: string): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  let text = '';
  const socket = connect(port, '127.0.0.1', () =>
    socket.write(`${line}\r\nHost: x\r\nConnection: close\r\n\r\n`),
  );
  socket.on('data', (chunk) => {
    text += chunk.toString('latin1');
  });
  socket.on('end', () => resolve(text));
  socket.on('error', reject);
  return promise;
}
