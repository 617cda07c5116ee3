import { describe, expect, setDefaultTimeout, test } from 'bun:test';
import { mkdir, readdir, rename, rm } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { eq } from 'drizzle-orm';
import { type Ffmpeg, FfmpegError } from '../../media/ffmpeg/ffmpeg.ts';
import { roundSounds } from '../../src/db/schema/round-sounds.ts';
import { UPLOAD_NAME } from '../../src/domain/round-sound.ts';
import { findRoundSounds } from '../../src/queries/round-sounds/round-sounds.ts';
import { encode, openEngine, USUAL_ENGINE } from '../support/audio/ffmpeg-engines.ts';
import { stagedPath } from '../support/audio/sound-folders.ts';
import { createSoundQueue, QUEUE_LOG as log, PLAYER, TONE } from '../support/audio/sound-queue.ts';
import { waitFor } from '../support/wait.ts';

setDefaultTimeout(60_000);

const queue = await createSoundQueue();
const { db, ffmpeg, upload, startWorker, settled } = queue;

describe('failures of the service', () => {
  test.each(['missing', 'timed-out'] as const)(
    'an ffmpeg that is %s twice postpones the upload',
    async (failure) => {
      let failures = 2;
      const directories = new Set<string>();
      const flaky: Ffmpeg = {
        ...ffmpeg,
        async run(job, limits) {
          directories.add(job.directory);
          if (failures-- > 0) throw new FfmpegError(failure, 'not now');
          await ffmpeg.run(job, limits);
        },
      };
      await upload(TONE);
      startWorker({ ffmpeg: flaky });
      expect((await settled(PLAYER)).ready).toMatchObject({ status: 'ready', attempts: 3 });
      // A worker whose lease was taken over may still write into the folder of its attempt.
      expect(directories.size).toBe(3);
    },
  );

  test.each([
    ['missing', 'unavailable', 5],
    ['timed-out', 'timed-out', 3],
  ] as const)(
    'an ffmpeg that is always %s fails the upload as %s, after %d attempts',
    async (cause, failure, attempts) => {
      await upload(TONE);
      const run = () => Promise.reject(new FfmpegError(cause, 'not now'));
      startWorker({ ffmpeg: { ...ffmpeg, run } });
      const { latest } = await settled(PLAYER);
      expect(latest).toMatchObject({ status: 'failed', failure, attempts });
      await waitFor(async () => (await readdir(queue.folders.inbox)).length === 0);
    },
  );

  test('a full disk postpones the upload, and leaves no partial file', async () => {
    const move = failOnFullDisk();
    await upload(TONE);
    startWorker({ sounds: await queue.open({ move }) });
    expect((await settled(PLAYER)).ready).toMatchObject({ status: 'ready', attempts: 2 });
  });

  test('a Matroska file that ends too early is unreadable at once, not a failing disk', async () => {
    const options = ['-c:a', 'libvorbis', '-f', 'matroska'];
    const whole = await encode(TONE, 'mka', options);
    await upload(whole.subarray(0, 500));
    startWorker();
    expect((await settled(PLAYER)).latest).toMatchObject({
      status: 'failed',
      failure: 'unreadable',
      attempts: 1,
    });
  });

  test('kills of the process do not count as failures', async () => {
    const move = failOnFullDisk();
    await upload(TONE);
    await db.update(roundSounds).set({ attempts: 5 });
    startWorker({ sounds: await queue.open({ move }) });
    expect((await settled(PLAYER)).ready).toMatchObject({ status: 'ready', attempts: 7, failures: 1 });
  });

  test('a file that cannot be removed stops no upload, and is logged once', async () => {
    // A folder cannot be removed as a file.
    await mkdir(stagedPath(queue.folders, 12345));
    const errors: string[] = [];
    await upload(TONE);
    startWorker({ log: { ...log, error: (_, message) => errors.push(message) } });
    expect((await settled(PLAYER)).ready).toMatchObject({ status: 'ready', attempts: 1 });
    expect(errors).toEqual(['sound files cannot be compared with the database: retrying in an hour']);
  });

  test('an upload whose file vanished fails as lost', async () => {
    const { uploadKey } = await upload(TONE);
    await rm(join(queue.folders.inbox, uploadKey), { recursive: true });
    startWorker();
    expect((await settled(PLAYER)).latest).toMatchObject({ status: 'failed', failure: 'lost' });
  });

  test('an upload_key that is a path, from a dump of others, removes no folder outside the inbox', async () => {
    const { id } = await upload(TONE);
    const victim = join(queue.root, 'victim');
    await mkdir(victim);
    await db
      .update(roundSounds)
      .set({ uploadKey: relative(queue.folders.inbox, victim) })
      .where(eq(roundSounds.id, id));
    startWorker();
    expect((await settled(PLAYER)).latest).toMatchObject({ status: 'failed', failure: 'lost' });
    expect(await readdir(queue.root)).toContain('victim');
  });

  test('a worker that lost its lease leaves the upload to the one that holds it', async () => {
    const { id, uploadKey } = await upload(TONE);
    const overtaken: Ffmpeg = {
      ...ffmpeg,
      async run() {
        await db.update(roundSounds).set({ attempts: 2 }).where(eq(roundSounds.id, id));
        throw new FfmpegError('overran', 'ffmpeg took too long');
      },
    };
    const warned = Promise.withResolvers<void>();
    const worker = startWorker({ ffmpeg: overtaken, log: { ...log, warn: () => warned.resolve() } });
    await warned.promise;
    await worker.stop();
    expect(await readdir(join(queue.folders.inbox, uploadKey))).toEqual([UPLOAD_NAME]);
    expect((await findRoundSounds(db, PLAYER)).latest).toMatchObject({ status: 'measuring', attempts: 2 });
  });

  test('a graceful stop returns the upload to the queue without counting an attempt', async () => {
    const entered = Promise.withResolvers<void>();
    const engine = await openEngine(USUAL_ENGINE);
    const stuck: Ffmpeg = {
      ...engine,
      run: (job, limits) => {
        entered.resolve();
        const input = { ...job.input, options: ['-stream_loop', '-1', '-f', 'wav'] };
        return engine.run({ ...job, input, output: { options: ['-af', 'aresample=192000'] } }, limits);
      },
    };
    await upload(TONE);
    const worker = startWorker({ ffmpeg: stuck, ownsEngine: true });
    await entered.promise;
    await worker.stop();
    expect((await findRoundSounds(db, PLAYER)).latest).toMatchObject({
      status: 'queued',
      attempts: 0,
      claimedUntil: null,
    });
  });
});

/** Moves files, except for the first one. */
function failOnFullDisk() {
  let failures = 1;
  return async (from: string, to: string): Promise<void> => {
    if (failures-- > 0) throw Object.assign(new Error('no space'), { code: 'ENOSPC' });
    await rename(from, to);
  };
}
