import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'bun:test';
import { readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { roundSounds } from '../../../../../src/db/schema/round-sounds.ts';
import { listRoundSounds } from '../../../../../src/queries/round-sounds/round-sounds.ts';
import { createTestDatabase } from '../../../../support/database/database.ts';
import { type OpenUpload, openUpload } from '../../../../support/http/open-upload.ts';
import { findFreePort } from '../../../../support/machine/free-port.ts';
import { startSteamOpenIdProvider } from '../../../../support/providers/steam-openid-provider.ts';
import { createTestFolder, type Program, startProgram } from '../../../../support/service/program.ts';
import { waitFor } from '../../../../support/wait.ts';
import { openBrowser, signIn } from '../../../../support/web/browser.ts';

const MEGABYTE = 1024 * 1024;
const MAX_MB = 128;
const FORM = 'multipart/form-data; boundary=x';
const FILE = '--x\r\nContent-Disposition: form-data; name="file"; filename="a.mp3"\r\n\r\n';
const END = '\r\n--x--\r\n';

const { db, url } = await createTestDatabase();
const folder = createTestFolder();
const inbox = join(folder.path, 'data/inbox');
const steam = startSteamOpenIdProvider();
steam.approvesAtOnce = true;
const origin = `http://127.0.0.1:${findFreePort()}`;
let service: Program;
let cookie: string;
let token: string;
const opened: OpenUpload[] = [];

// In a process of its own, so that its memory can be measured and a crash is noticed.
beforeAll(async () => {
  service = startProgram('src/main.ts', {
    HOST: '127.0.0.1',
    PORT: new URL(origin).port,
    PUBLIC_URL: origin,
    DATABASE_URL: url,
    DATA_DIR: join(folder.path, 'data'),
    STORAGE_DIR: join(folder.path, 'storage'),
    STEAM_OPENID_URL: steam.url,
    SOUND_MAX_UPLOAD_MB: String(MAX_MB),
    ROLES: 'api',
  });
  await service.waitFor('HTTP server listening');
  const browser = openBrowser(origin);
  await signIn(browser);
  token = (await browser.get('/account')).field('csrf_token') ?? '';
  cookie = [...browser.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
});
afterAll(async () => {
  service.kill('SIGTERM');
  expect(await service.exited).toBe(0);
  await steam.stop();
  await folder.remove();
});

beforeEach(async () => {
  await db.delete(roundSounds);
  await emptyInbox();
});

afterEach(() => {
  for (const upload of opened.splice(0)) upload.destroy();
});

describe('while it arrives', () => {
  test('a large file goes to the disk, not into memory', async () => {
    expect((await post(`${TOKEN() + FILE}warm${END}`)).status).toBe(202);
    await db.delete(roundSounds);
    await emptyInbox();
    const before = await readMemoryBytes();
    const sizeBytes = MAX_MB * MEGABYTE;
    const upload = await open(TOKEN(), sizeBytes);
    const piece = new Uint8Array(MEGABYTE).fill(7);
    let most = 0;
    for (let sent = 0; sent < MAX_MB; sent++) {
      await upload.write(piece);
      if (sent % 16 === 0) most = Math.max(most, await readMemoryBytes());
    }
    // The last piece may still be on its way; all others are on disk before the form has ended.
    await waitFor(async () => (await countInboxBytes()) > sizeBytes - MEGABYTE);
    most = Math.max(most, await readMemoryBytes());
    expect(await listRoundSounds(db)).toEqual([]);
    await upload.write(END);
    expect(await upload.answered).toStartWith('HTTP/1.1 202');
    expect(await countInboxBytes()).toBe(sizeBytes);
    expect(most - before).toBeLessThan((MAX_MB / 2) * MEGABYTE);
  });

  test('the token is checked before the file if it comes first', async () => {
    const upload = await open(field('csrf_token', 'wrong'), MEGABYTE);
    await upload.write('the first bytes');
    expect(await upload.answered).toStartWith('HTTP/1.1 403');
    expect(await readdir(inbox)).toEqual([]);
  });
});

describe('at its end', () => {
  test('the file is dropped if the session ended while it arrived', async () => {
    const other = openBrowser(origin);
    await signIn(other);
    const otherToken = (await other.get('/account')).field('csrf_token') ?? '';
    const form = `${field('csrf_token', otherToken)}${FILE}bytes${END}`;
    const upload = await openUpload(origin, {
      ...headers(),
      Cookie: `session=${other.cookies.get('session')}`,
      'Content-Length': String(form.length),
    });
    opened.push(upload);
    await upload.write(form.slice(0, -END.length));
    await waitFor(async () => (await readdir(inbox)).length > 0);
    await other.post('/account/sign-out');
    await upload.write(END);
    expect(await upload.answered).toStartWith('HTTP/1.1 401');
    expect(await readdir(inbox)).toEqual([]);
    expect(await listRoundSounds(db)).toEqual([]);
  });

  test('the token is checked if it comes after the file', async () => {
    const file = `${FILE}bytes`;
    expect((await post(`${file}\r\n${field('csrf_token', 'wrong')}--x--\r\n`)).status).toBe(403);
    expect((await post(`${file}\r\n${field('other', token)}--x--\r\n`)).status).toBe(403);
    expect(await readdir(inbox)).toEqual([]);
    expect(await listRoundSounds(db)).toEqual([]);
    expect((await post(`${file}\r\n${TOKEN()}--x--\r\n`)).status).toBe(202);
    expect(await countInboxBytes()).toBe('bytes'.length);
  });

  const MISSING = /^Choose a file first/;
  const EMPTY = /^This file is empty/;
  const TOO_LARGE = new RegExp(`^The file is larger than ${MAX_MB} MB`);
  const WRONG = /^Something in the form is not valid/;
  test.each<[string, number, RegExp, () => string | ReadableStream, string]>([
    ['without a file', 400, MISSING, () => `${TOKEN()}--x--\r\n`, FORM],
    ['with text for a file', 400, MISSING, () => `${TOKEN()}${field('file', 'text')}--x--\r\n`, FORM],
    ['with another file', 400, MISSING, () => TOKEN() + FILE.replace('"file"', '"other"') + END, FORM],
    ['with an empty file', 400, EMPTY, () => TOKEN() + FILE + END, FORM],
    ['with no file chosen', 400, MISSING, () => TOKEN() + FILE.replace('a.mp3', '') + END, FORM],
    ['with two files', 400, WRONG, () => `${TOKEN()}${FILE}one\r\n${FILE}two${END}`, FORM],
    ['that ends in the file', 400, WRONG, () => `${TOKEN()}${FILE}bytes`, FORM],
    ['that ends in a head', 400, WRONG, () => `${TOKEN()}${FILE}bytes\r\n--x\r\nContent-`, FORM],
    ['that ends in its end', 400, WRONG, () => `${TOKEN()}${FILE}bytes\r\n--x`, FORM],
    ['with another boundary', 400, WRONG, () => `${TOKEN()}${FILE}bytes${END}`, `${FORM}y`],
    ['without a boundary', 400, WRONG, () => `${TOKEN()}${FILE}bytes${END}`, 'multipart/form-data'],
    ['of another type', 400, WRONG, () => `${TOKEN()}${FILE}bytes${END}`, 'audio/mpeg'],
    ['without anything', 400, WRONG, () => '', FORM],
    ['that is too large and does not say so', 413, TOO_LARGE, tooLarge, FORM],
  ])(
    'a form %s is refused with a reason, and leaves nothing behind',
    async (_, status, words, form, type) => {
      const answer = await post(form(), type);
      expect([answer.status, answer.message]).toEqual([status, expect.stringMatching(words)]);
      expect(await readdir(inbox)).toEqual([]);
      expect(await listRoundSounds(db)).toEqual([]);
    },
  );
});

function field(name: string, value: string): string {
  return `--x\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`;
}

function TOKEN(): string {
  return field('csrf_token', token);
}

function tooLarge(): ReadableStream {
  let sent = 0;
  return new ReadableStream({
    pull(controller) {
      if (sent === 0) controller.enqueue(Buffer.from(TOKEN() + FILE));
      if (sent++ <= MAX_MB) return controller.enqueue(new Uint8Array(MEGABYTE));
      controller.enqueue(Buffer.from(END));
      controller.close();
    },
  });
}

function headers(): Record<string, string> {
  return { Cookie: cookie, Accept: 'application/json' };
}

/** Begins a form, and sends everything before the first byte of the file. */
async function open(before: string, fileBytes: number): Promise<OpenUpload> {
  const head = before + FILE;
  const length = head.length + fileBytes + END.length;
  const upload = await openUpload(origin, { ...headers(), 'Content-Length': String(length) });
  opened.push(upload);
  await upload.write(head);
  return upload;
}

/** Sends a whole form. @returns the message of the JSON response, or of the page. */
async function post(body: string | ReadableStream, type = FORM) {
  const response = await fetch(`${origin}/account/roundsound`, {
    method: 'POST',
    body,
    headers: { ...headers(), 'content-type': type },
  });
  const text = await response.text();
  const message: unknown = text.startsWith('{') ? JSON.parse(text).message : text;
  return { status: response.status, message };
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

async function emptyInbox(): Promise<void> {
  for (const name of await readdir(inbox)) await rm(join(inbox, name), { recursive: true });
}
