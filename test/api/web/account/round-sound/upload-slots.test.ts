import { afterAll, afterEach, beforeAll, expect, test } from 'bun:test';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { openSoundFolders } from '../../../../../media/sound-folders.ts';
import { removeSound, storeUpload } from '../../../../../media/uploads.ts';
import { listRoundSounds } from '../../../../../src/queries/round-sounds/round-sounds.ts';
import { makeFolder } from '../../../../support/audio/ffmpeg-engines.ts';
import { aSteamId } from '../../../../support/database/builders.ts';
import { createTestDatabase } from '../../../../support/database/database.ts';
import { type OpenUpload, openUpload } from '../../../../support/http/open-upload.ts';
import { expectWithin, waitForTimer } from '../../../../support/machine/time-promise.ts';
import { startSteamOpenIdProvider } from '../../../../support/providers/steam-openid-provider.ts';
import { waitFor } from '../../../../support/wait.ts';
import { startAccountSite } from '../../../../support/web/account.ts';
import { openBrowser, signIn } from '../../../../support/web/browser.ts';

/** How many uploads arrive at once. */
const SLOTS = 16;
const FILE = '--x\r\nContent-Disposition: form-data; name="file"; filename="a.mp3"\r\n\r\n';
const END = '\r\n--x--\r\n';
const GAVE_WAY = 'this upload was slower than 32 kB/s, so it was stopped to make room for them';

const { db } = await createTestDatabase();
const root = await makeFolder('upload-slots');
const folders = await openSoundFolders({
  dataDir: join(root.path, 'data'),
  storageDir: join(root.path, 'storage'),
});
const steam = startSteamOpenIdProvider();
steam.approvesAtOnce = true;
/** Delays the response after the last byte. */
let storing: Promise<unknown> = Promise.resolve();
/** Delays the release of a slot. */
let leaving: Promise<unknown> = Promise.resolve();
const openSite = (limits: { slotLimitMs?: number; minRate?: { bytesPerSecond: number; windowMs: number } }) =>
  startAccountSite({
    db,
    steam,
    sounds: {
      limits: { maxSeconds: 10, maxUploadBytes: 8 * 1024 * 1024, ...limits },
      storeUpload: async (upload) => {
        const sound = await storeUpload(db, folders, { upload, maxBytes: 8 * 1024 * 1024 }).finally(
          () => leaving,
        );
        await storing;
        return sound;
      },
      removeSound: (removal) => removeSound(db, folders, removal),
    },
  });
/** One with the defaults, and one that measures the speed over 1.5 s and lets uploads wait for 5 s. */
const site = openSite({});
const quick = openSite({ slotLimitMs: 5000, minRate: { bytesPerSecond: 32 * 1024, windowMs: 1500 } });
const people: Record<string, string>[] = [];
const opened: OpenUpload[] = [];
const timers: ReturnType<typeof setInterval>[] = [];

beforeAll(async () => {
  for (let number = 1; number <= SLOTS + 2; number++) {
    steam.steamId = aSteamId(number);
    const browser = openBrowser(site.origin);
    const page = await signIn(browser);
    people.push({
      Cookie: [...browser.cookies].map(([name, value]) => `${name}=${value}`).join('; '),
      'X-CSRF-Token': page.field('csrf_token') ?? '',
      Accept: 'application/json',
    });
  }
});
afterEach(async () => {
  for (const timer of timers.splice(0)) clearInterval(timer);
  for (const upload of opened.splice(0)) upload.destroy();
  storing = Promise.resolve();
  leaving = Promise.resolve();
  await waitFor(async () => (await listUploadsUnderWay()).length === 0);
});
afterAll(async () => {
  await site.stop();
  await quick.stop();
  await steam.stop();
  await root.remove();
});

test('sixteen trickling uploads lock nobody out: one is evicted for each waiting user, and its user is told why', async () => {
  const slow = await openAll(site.origin, { bytesPerSecond: 4 });
  await waitFor(async () => (await listUploadsUnderWay()).length === SLOTS);
  // The first waiting user keeps their slot until the second has one too, so that it is not passed on to the second.
  const gate = Promise.withResolvers<void>();
  storing = gate.promise;
  const answered = () => slow.filter(({ answer }) => answer !== undefined);
  const waiting = Promise.all([upload(site.origin, SLOTS), upload(site.origin, SLOTS + 1)]);
  await expectWithin(9000, () => waitFor(() => answered().length === 2), waitForTimer);
  gate.resolve();
  expect((await waiting).map(({ status }) => status)).toEqual([202, 202]);
  for (const { answer } of answered()) {
    expect(answer).toStartWith('HTTP/1.1 408');
    expect(answer).toContain(GAVE_WAY);
  }
  await waitFor(async () => (await listUploadsUnderWay()).length === SLOTS - 2);
});

test('while an evicted upload still holds its slot, no other upload is evicted in its place', async () => {
  const gate = Promise.withResolvers<void>();
  leaving = gate.promise;
  const slow = await openAll(quick.origin, { bytesPerSecond: 4 });
  await waitFor(async () => (await listUploadsUnderWay()).length === SLOTS);
  const waiting = upload(quick.origin, SLOTS);
  // Its speed has been checked several times by then.
  await Bun.sleep(2500);
  gate.resolve();
  expect((await waiting).status).toBe(202);
  await waitFor(() => slow.some(({ answer }) => answer !== undefined));
  expect(slow.filter(({ answer }) => answer !== undefined)).toHaveLength(1);
});

test('the slowest is evicted first; a fast enough upload is not, and nobody is while no user waits', async () => {
  const fast = await openAll(quick.origin, { bytesPerSecond: 160 * 1024, people: SLOTS - 2 });
  const slower = await openOne(quick.origin, SLOTS - 2, { bytesPerSecond: 8 * 1024 });
  const slowest = await openOne(quick.origin, SLOTS - 1, { bytesPerSecond: 100 });
  await waitFor(async () => (await listUploadsUnderWay()).length === SLOTS);
  await Bun.sleep(2500);
  const everybody = [...fast, slower, slowest];
  expect(everybody.map(({ answer }) => answer)).toEqual(everybody.map(() => undefined));

  expect((await upload(quick.origin, SLOTS)).status).toBe(202);
  await waitFor(() => slowest.answer?.includes(GAVE_WAY));
  expect(slower.answer).toBeUndefined();
  await openOne(quick.origin, SLOTS - 1, { bytesPerSecond: 160 * 1024 });
  await waitFor(async () => (await listUploadsUnderWay()).length === SLOTS);
  expect((await upload(quick.origin, SLOTS)).status).toBe(202);
  await waitFor(() => slower.answer?.includes(GAVE_WAY));

  await openOne(quick.origin, SLOTS - 2, { bytesPerSecond: 160 * 1024 });
  await waitFor(async () => (await listUploadsUnderWay()).length === SLOTS);
  expect((await upload(quick.origin, SLOTS)).status).toBe(503);
  expect(fast.map(({ answer }) => answer)).toEqual(fast.map(() => undefined));
});

test('an upload whose bytes have all arrived keeps its slot, however long it takes to be stored', async () => {
  const gate = Promise.withResolvers<void>();
  storing = gate.promise;
  const arrived = people.slice(0, SLOTS).map((_, person) => upload(quick.origin, person));
  await waitFor(async () => (await listRoundSounds(db)).length >= SLOTS);
  expect((await upload(quick.origin, SLOTS)).status).toBe(503);
  gate.resolve();
  expect((await Promise.all(arrived)).map(({ status }) => status)).toEqual(arrived.map(() => 202));
});

test('a stalled upload is evicted for the next one of the same person', async () => {
  const still = await openOne(quick.origin, 0, { bytesPerSecond: 4 });
  await waitFor(async () => (await listUploadsUnderWay()).length === 1);
  expect((await upload(quick.origin, 0)).status).toBe(202);
  await waitFor(() => still.answer?.includes(GAVE_WAY));
});

type Watched = { answer: string | undefined };

/** An upload whose file arrives at this rate until it is cut off. */
async function openOne(
  origin: string,
  person: number,
  options: { bytesPerSecond: number },
): Promise<Watched> {
  const headers = { ...people[person], 'Content-Length': String(7 * 1024 * 1024) };
  const open = await openUpload(origin, headers);
  opened.push(open);
  await open.write(FILE);
  // Ten times a second, or as often as there is a byte to send.
  const everyMs = Math.max(100, 1000 / options.bytesPerSecond);
  const piece = new Uint8Array(Math.round((options.bytesPerSecond * everyMs) / 1000)).fill(7);
  timers.push(setInterval(() => void open.write(piece), everyMs));
  const watched: Watched = { answer: undefined };
  open.answered.then(
    (answer) => {
      watched.answer = answer;
    },
    () => undefined,
  );
  return watched;
}

function openAll(
  origin: string,
  { bytesPerSecond, people: count = SLOTS }: { bytesPerSecond: number; people?: number },
): Promise<Watched[]> {
  return Promise.all(
    Array.from({ length: count }, (_, person) => openOne(origin, person, { bytesPerSecond })),
  );
}

/** Sends a small file whole. */
function upload(origin: string, person: number): Promise<Response> {
  return fetch(`${origin}/account/roundsound`, {
    method: 'POST',
    body: `${FILE}bytes${END}`,
    headers: { ...people[person], 'content-type': 'multipart/form-data; boundary=x' },
  });
}

async function listUploadsUnderWay(): Promise<string[]> {
  const names = await readdir(folders.inbox, { recursive: true });
  return names.filter((name) => name.endsWith('upload.part'));
}
