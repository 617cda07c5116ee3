import { afterAll, afterEach, beforeEach, expect, setDefaultTimeout, test } from 'bun:test';
import { readdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { createEmbeddedFfmpeg } from '../../media/ffmpeg/embedded.ts';
import { type Ffmpeg, FfmpegError } from '../../media/ffmpeg/ffmpeg.ts';
import type { RoundSoundWorkerDeps } from '../../media/process-upload.ts';
import { reconcileSounds } from '../../media/reconcile.ts';
import { createRoundSoundWorker, type RoundSoundWorker } from '../../media/round-sounds.ts';
import { openSoundFolders, publishedPath, type SoundFolders } from '../../media/sound-folders.ts';
import { storeUpload } from '../../media/uploads.ts';
import { roundSounds } from '../../src/db/schema/round-sounds.ts';
import {
  findReadyRoundSound,
  listPublishedRoundSounds,
  type RoundSound,
} from '../../src/queries/round-sounds/round-sounds.ts';
import { anAudio, musicLike, sine, toWav } from '../support/audio/audio.ts';
import { HAS_NATIVE_FFMPEG, makeFolder, openEngine, SILENT_LOG } from '../support/audio/ffmpeg-engines.ts';
import { aSteamId } from '../support/database/builders.ts';
import { createTestDatabase } from '../support/database/database.ts';
import { waitFor } from '../support/wait.ts';

setDefaultTimeout(300_000);

const PLAYER = aSteamId(1);
const CLIP = toWav(anAudio({ seconds: 2, shape: musicLike(0.3) }), 's16');
const OTHER_CLIP = toWav(anAudio({ seconds: 1, shape: sine(440, 0.3) }), 's16');

const { db } = await createTestDatabase();
const root = await makeFolder('voices');
const ffmpeg = HAS_NATIVE_FFMPEG ? await openEngine('native', root.path) : createEmbeddedFfmpeg();
afterAll(async () => {
  await ffmpeg.close();
  await root.remove();
});

let folders: SoundFolders;
const workers: RoundSoundWorker[] = [];

beforeEach(async () => {
  const home = join(root.path, Bun.randomUUIDv7());
  folders = await openSoundFolders({ dataDir: join(home, 'data'), storageDir: join(home, 'storage') });
  await db.delete(roundSounds);
});
afterEach(stopWorkers);

test('a sound from before the voice rendition gets the one that a new upload of it gets', async () => {
  const published = await publish(CLIP);
  const voice = await Bun.file(publishedPath(folders, PLAYER, 'voice')).bytes();
  await forgetVoice();

  startWorker();
  const ready = await waitForVoice();
  expect(await Bun.file(publishedPath(folders, PLAYER, 'voice')).bytes()).toEqual(voice);
  expect(ready).toMatchObject({
    id: published.id,
    sha256: published.sha256 ?? '',
    voiceSha256: published.voiceSha256 ?? '',
    voiceSizeBytes: voice.length,
    claimedUntil: null,
  });
  await waitFor(async () => (await readdir(folders.inbox)).length === 0);
  expect((await readdir(folders.published)).sort()).toEqual([
    '.published-sounds',
    `${PLAYER}.mp3`,
    `${PLAYER}.voice.mp3`,
  ]);
});

test('the batch leaves the voice out until its file is there, and tells hashes and sizes of the bytes', async () => {
  await publish(CLIP);
  const whole = await listPublishedRoundSounds(db, [PLAYER, aSteamId(2)]);
  const { sha256 = '', sizeBytes } = await describeFile('stereo');
  const voice = await describeFile('voice');
  expect(whole).toEqual([
    {
      steamId64: PLAYER,
      title: 'clip.wav',
      durationMs: 2000,
      loudnessLufs: expect.closeTo(-18, 0),
      updatedAt: expect.any(Date),
      stereo: { sha256, sizeBytes, version: sha256.slice(0, 16) },
      voice: { ...voice, version: voice.sha256.slice(0, 16) },
    },
  ]);
  await forgetVoice();
  const [{ voice: _, ...rest } = {}] = whole;
  expect(await listPublishedRoundSounds(db, [PLAYER])).toEqual([expect.objectContaining(rest)]);
  expect((await listPublishedRoundSounds(db, [PLAYER]))[0]).not.toHaveProperty('voice');
});

test('a voice rendition that cannot be made now is made later; the sound stays published', async () => {
  await publish(CLIP);
  await forgetVoice();
  let failures = 2;
  const flaky: Ffmpeg = {
    ...ffmpeg,
    async run(job, limits) {
      if (failures-- > 0) throw new FfmpegError('missing', 'ffmpeg is gone');
      await ffmpeg.run(job, limits);
    },
  };
  startWorker({ ffmpeg: flaky });
  expect(await waitForVoice()).toMatchObject({ status: 'ready', voiceAttempts: 3 });
});

test('a sound that is replaced while its voice rendition is made keeps that of the new one', async () => {
  await publish(CLIP);
  await forgetVoice();
  const replaced = Promise.withResolvers<void>();
  let isFirst = true;
  const moveFile = async (from: string, to: string): Promise<void> => {
    await rename(from, to);
    replaced.resolve();
  };
  const replacing: Ffmpeg = {
    ...ffmpeg,
    async run(job, limits) {
      if (isFirst) {
        isFirst = false;
        await upload(OTHER_CLIP);
        startWorker({ moveFile });
        await replaced.promise;
        await waitFor(async () => (await findReadyRoundSound(db, PLAYER))?.durationMs === 1000);
      }
      await ffmpeg.run(job, limits);
    },
  };
  startWorker({ ffmpeg: replacing });
  await replaced.promise;
  const ready = await waitForVoice();
  await stopWorkers();
  expect(ready.durationMs).toBe(1000);
  expect((await describeFile('voice')).sha256).toBe(ready.voiceSha256 ?? '');
});

test('a lost or damaged voice rendition is found when disk and rows are compared, and made again', async () => {
  const published = await publish(CLIP);
  const path = publishedPath(folders, PLAYER, 'voice');
  for (const damage of [() => rm(path), () => Bun.write(path, 'x')]) {
    await damage();
    await reconcileSounds(db, folders, log);
    const [found] = await listPublishedRoundSounds(db, [PLAYER]);
    expect(found).toBeDefined();
    expect(found).not.toHaveProperty('voice');
    startWorker();
    expect((await waitForVoice()).voiceSha256).toBe(published.voiceSha256 ?? '');
    await stopWorkers();
    expect((await describeFile('voice')).sha256).toBe(published.voiceSha256 ?? '');
  }
});

test('a voice rendition goes with a sound whose file is lost, or that no row knows', async () => {
  await publish(CLIP);
  await rm(publishedPath(folders, PLAYER));
  await reconcileSounds(db, folders, log);
  expect(await readdir(folders.published)).toEqual(['.published-sounds']);
  expect(await readdir(folders.orphans)).toEqual([expect.stringContaining(`${PLAYER}.voice.mp3`)]);
});

const log: RoundSoundWorkerDeps['log'] = { ...SILENT_LOG, error: () => undefined };

function startWorker(deps: Partial<RoundSoundWorkerDeps> = {}): void {
  const worker = createRoundSoundWorker(
    { db, folders, log, ...deps, ffmpeg: { ...(deps.ffmpeg ?? ffmpeg), close: async () => undefined } },
    { maxSeconds: 10, targetLufs: -18, idleMs: 30, retryMs: 5, graceMs: 200 },
  );
  workers.push(worker);
  worker.start();
}

async function stopWorkers(): Promise<void> {
  await Promise.all(workers.splice(0).map((worker) => worker.stop()));
}

async function publish(bytes: Uint8Array): Promise<RoundSound> {
  await upload(bytes);
  startWorker();
  const sound = await waitForVoice();
  await stopWorkers();
  return sound;
}

async function upload(bytes: Uint8Array): Promise<void> {
  const stream = new Blob([new Uint8Array(bytes)]).stream();
  const details = { steamId64: PLAYER, fileName: 'clip.wav', bytes: stream, actor: 'operator' as const };
  await storeUpload(db, folders, { upload: details, maxBytes: 20_000_000 });
}

/** Leaves the database as it was before voice renditions existed. */
async function forgetVoice(): Promise<void> {
  await rm(publishedPath(folders, PLAYER, 'voice'));
  await db.update(roundSounds).set({ voiceSha256: null, voiceSizeBytes: null });
}

async function waitForVoice(): Promise<RoundSound> {
  const find = async () => {
    const sound = await findReadyRoundSound(db, PLAYER);
    return sound?.voiceSha256 ? sound : undefined;
  };
  await waitFor(async () => (await find()) !== undefined);
  const sound = await find();
  if (!sound) throw new Error('the voice rendition went away');
  return sound;
}

async function describeFile(rendition: 'stereo' | 'voice'): Promise<{ sha256: string; sizeBytes: number }> {
  const bytes = await Bun.file(publishedPath(folders, PLAYER, rendition)).bytes();
  return {
    sha256: new Bun.CryptoHasher('sha256').update(bytes).digest('hex'),
    sizeBytes: bytes.length,
  };
}
