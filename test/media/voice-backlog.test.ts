import { expect, setDefaultTimeout, test } from 'bun:test';
import { readdir, rename, rm } from 'node:fs/promises';
import { type Ffmpeg, FfmpegError } from '../../media/ffmpeg/ffmpeg.ts';
import { reconcileSounds } from '../../media/reconcile.ts';
import { publishedPath } from '../../media/sound-files.ts';
import { roundSounds } from '../../src/db/schema/round-sounds.ts';
import {
  findRoundSounds,
  listPublishedRoundSounds,
  type RoundSound,
} from '../../src/queries/round-sounds/round-sounds.ts';
import { anAudio, musicLike, toWav } from '../support/audio/audio.ts';
import { createSoundQueue, hashOfFile, PLAYER, QUEUE_LOG, TONE } from '../support/audio/sound-queue.ts';
import { aSteamId } from '../support/database/builders.ts';
import { waitFor } from '../support/wait.ts';

setDefaultTimeout(300_000);

const CLIP = toWav(anAudio({ seconds: 2, shape: musicLike(0.3) }), 's16');

const queue = await createSoundQueue();
const { db, ffmpeg, startWorker, stopWorkers } = queue;

test('a sound from before voice renditions gets the same one as a new upload of it', async () => {
  const published = await publish(CLIP);
  const voice = await Bun.file(publishedPath(queue.folders, PLAYER, 'voice')).bytes();
  await forgetVoice();

  startWorker();
  const ready = await waitForVoice();
  expect(await Bun.file(publishedPath(queue.folders, PLAYER, 'voice')).bytes()).toEqual(voice);
  expect(ready).toMatchObject({
    id: published.id,
    sha256: published.sha256 ?? '',
    voiceSha256: published.voiceSha256 ?? '',
    voiceSizeBytes: voice.length,
    claimedUntil: null,
  });
  await waitFor(async () => (await readdir(queue.folders.inbox)).length === 0);
  expect((await readdir(queue.folders.published)).sort()).toEqual([
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

test('a voice rendition that cannot be rendered now is rendered later; the sound stays published', async () => {
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

test('a sound that is replaced while its voice rendition is rendered keeps that of the new one', async () => {
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
        await queue.upload(TONE);
        startWorker({ moveFile });
        await replaced.promise;
        await waitFor(async () => (await findRoundSounds(db, PLAYER)).ready?.durationMs === 1000);
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
  const path = publishedPath(queue.folders, PLAYER, 'voice');
  for (const damage of [() => rm(path), () => Bun.write(path, 'x')]) {
    await damage();
    await reconcileSounds(db, queue.folders, QUEUE_LOG);
    const [found] = await listPublishedRoundSounds(db, [PLAYER]);
    expect(found).toBeDefined();
    expect(found).not.toHaveProperty('voice');
    startWorker();
    expect((await waitForVoice()).voiceSha256).toBe(published.voiceSha256 ?? '');
    await stopWorkers();
    expect((await describeFile('voice')).sha256).toBe(published.voiceSha256 ?? '');
  }
});

test('a voice rendition is removed with a sound whose file is lost, or that has no row', async () => {
  await publish(CLIP);
  await rm(publishedPath(queue.folders, PLAYER));
  await reconcileSounds(db, queue.folders, QUEUE_LOG);
  expect(await readdir(queue.folders.published)).toEqual(['.published-sounds']);
  expect(await readdir(queue.folders.orphans)).toEqual([expect.stringContaining(`${PLAYER}.voice.mp3`)]);
});

async function publish(bytes: Uint8Array): Promise<RoundSound> {
  await queue.upload(bytes, { fileName: 'clip.wav' });
  startWorker();
  const sound = await waitForVoice();
  await stopWorkers();
  return sound;
}

/** Leaves the database as it was before voice renditions existed. */
async function forgetVoice(): Promise<void> {
  await rm(publishedPath(queue.folders, PLAYER, 'voice'));
  await db.update(roundSounds).set({ voiceSha256: null, voiceSizeBytes: null });
}

async function waitForVoice(): Promise<RoundSound> {
  const find = async () => {
    const { ready: sound } = await findRoundSounds(db, PLAYER);
    return sound?.voiceSha256 ? sound : undefined;
  };
  await waitFor(async () => (await find()) !== undefined);
  const sound = await find();
  if (!sound) throw new Error('the voice rendition went away');
  return sound;
}

async function describeFile(rendition: 'stereo' | 'voice'): Promise<{ sha256: string; sizeBytes: number }> {
  const path = publishedPath(queue.folders, PLAYER, rendition);
  return { sha256: await hashOfFile(path), sizeBytes: Bun.file(path).size };
}
