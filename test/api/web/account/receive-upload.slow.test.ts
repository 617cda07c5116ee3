import { afterAll, expect, test } from 'bun:test';
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { createTestDatabase } from '../../../support/database/database.ts';
import { openUpload } from '../../../support/http/open-upload.ts';
import { findFreePort } from '../../../support/machine/free-port.ts';
import { startSteamOpenIdProvider } from '../../../support/providers/steam-openid-provider.ts';
import { createTestFolder, startProgram } from '../../../support/service/program.ts';
import { waitFor } from '../../../support/wait.ts';
import { openBrowser, signIn } from '../../../support/web/browser.ts';

const MEGABYTE = 1024 * 1024;
const MAX_MB = 128;
const END = '\r\n--x--\r\n';

const { url } = await createTestDatabase();
const folder = createTestFolder();
const inbox = join(folder, 'data/inbox');
const steam = startSteamOpenIdProvider();
const port = String(findFreePort());
const origin = `http://127.0.0.1:${port}`;
// In a separate process, so that its memory can be measured.
const service = startProgram('src/main.ts', {
  HOST: '127.0.0.1',
  PORT: port,
  PUBLIC_URL: origin,
  DATABASE_URL: url,
  DATA_DIR: join(folder, 'data'),
  STORAGE_DIR: join(folder, 'storage'),
  STEAM_OPENID_URL: steam.url,
  SOUND_MAX_UPLOAD_MB: String(MAX_MB),
  ROLES: 'api',
});
await service.waitFor('HTTP server listening');
const browser = openBrowser(origin);
await signIn(browser);
const headers = {
  Cookie: browser.cookieLine(),
  Accept: 'application/json',
  'X-CSRF-Token': (await browser.get('/account')).field('csrf_token') ?? '',
};
afterAll(async () => {
  service.kill('SIGTERM');
  expect(await service.exited).toBe(0);
  await steam.stop();
});

test('a large file goes to the disk, not into memory, while it arrives', async () => {
  const warm = await open('warm'.length);
  await warm.write(`warm${END}`);
  expect(await warm.answered).toStartWith('HTTP/1.1 202');
  const before = await readMemoryBytes();
  const uploadedBytes = await countInboxBytes();
  const sizeBytes = MAX_MB * MEGABYTE;
  const upload = await open(sizeBytes);
  const piece = new Uint8Array(MEGABYTE).fill(7);
  let most = 0;
  for (let sent = 0; sent < MAX_MB; sent++) {
    await upload.write(piece);
    if (sent % 16 === 0) most = Math.max(most, await readMemoryBytes());
  }
  // The last piece may still be on its way; all others are on disk before the form has ended.
  await waitFor(async () => (await countInboxBytes()) > uploadedBytes + sizeBytes - MEGABYTE);
  most = Math.max(most, await readMemoryBytes());
  await upload.write(END);
  expect(await upload.answered).toStartWith('HTTP/1.1 202');
  // It replaces the one that waited.
  expect(await countInboxBytes()).toBe(sizeBytes);
  expect(most - before).toBeLessThan((MAX_MB / 2) * MEGABYTE);
});

/** Begins a form, and sends everything before the first byte of the file. */
async function open(fileBytes: number) {
  const head = '--x\r\nContent-Disposition: form-data; name="file"; filename="a.mp3"\r\n\r\n';
  const length = head.length + fileBytes + END.length;
  const upload = await openUpload(origin, { ...headers, 'Content-Length': String(length) });
  await upload.write(head);
  return upload;
}

async function readMemoryBytes(): Promise<number> {
  const text = await (await fetch(`${origin}/metrics`)).text();
  return Number(/^process_resident_memory_bytes (\d+)$/m.exec(text)?.[1]);
}

async function countInboxBytes(): Promise<number> {
  let bytes = 0;
  for (const name of await readdir(inbox, { recursive: true })) {
    const file = await stat(join(inbox, name));
    if (file.isFile()) bytes += file.size;
  }
  return bytes;
}
