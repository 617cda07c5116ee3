import { describe, expect, setDefaultTimeout, test } from 'bun:test';
import { readdir, readFile, readlink } from 'node:fs/promises';
import { join } from 'node:path';
import { FfmpegError } from '../../media/ffmpeg/ffmpeg.ts';
import { reconcileSounds } from '../../media/reconcile.ts';
import { roundSounds } from '../../src/db/schema/round-sounds.ts';
import { findRoundSounds, listRoundSounds } from '../../src/queries/round-sounds/round-sounds.ts';
import { SILENT_LOG as log } from '../support/audio/ffmpeg-engines.ts';
import { PLAYER, publishedPath } from '../support/audio/sound-folders.ts';
import {
  createSoundQueue,
  hashOfFile,
  OTHER_TONE,
  PUBLISHED_NAMES,
  SILENCE,
  TONE,
} from '../support/audio/sound-queue.ts';
import { countProcesses } from '../support/machine/processes.ts';
import { waitForProcess } from '../support/wait.ts';

setDefaultTimeout(60_000);

const queue = await createSoundQueue();
const { db, upload, startWorker, stopWorkers, settled } = queue;

describe('after kill -9', () => {
  const MOVES = ['before-move', 'between-moves', 'after-move'];
  const POINTS = ['call 1', 'call 2', 'call 3', 'call 4', ...MOVES];
  test.each(POINTS)('the next process finishes an upload after kill -9 at %s', async (point) => {
    await upload(TONE);
    await runProcess('work', point);
    const { ready, latest } = await findRoundSounds(db, PLAYER);
    expect(ready).toBeUndefined();
    expect(latest?.status).toBeOneOf(['measuring', 'rendering']);
    const isMoved = ['between-moves', 'after-move'].includes(point);
    expect(await Bun.file(publishedPath(queue.folders, PLAYER)).exists()).toBe(isMoved);

    // A rendered sound is published even if ffmpeg is gone by then.
    const isRendered = MOVES.includes(point);
    const beforeRun = () => {
      if (isRendered) throw new FfmpegError('missing', 'gone');
    };
    startWorker({ leaseMs: 1000, beforeRun });
    const after = await settled();
    expect(after.ready).toMatchObject({ status: 'ready', attempts: 2 });
    await waitForProcess(async () => (await readdir(queue.folders.inbox)).length === 0);
    expect((await readdir(queue.folders.published)).sort()).toEqual(PUBLISHED_NAMES);
    expect(await countChildren()).toBe(0);
  });

  test('kill -9 during a replacement leaves the earlier sound whole, and then the new one', async () => {
    await upload(TONE, { fileName: 'first.wav' });
    startWorker();
    const first = (await settled()).ready;
    await stopWorkers();
    await upload(OTHER_TONE, { fileName: 'second.wav' });
    await runProcess('work', 'before-move');
    expect(await hashOfFile(publishedPath(queue.folders, PLAYER))).toBe(first?.sha256 ?? '');
    expect((await findRoundSounds(db, PLAYER)).ready?.title).toBe('first.wav');
    startWorker({ leaseMs: 1000 });
    await waitForProcess(async () => (await findRoundSounds(db, PLAYER)).ready?.title === 'second.wav');
    expect(await hashOfFile(publishedPath(queue.folders, PLAYER))).toBe(
      (await findRoundSounds(db, PLAYER)).ready?.sha256 ?? '',
    );
  });

  test('the swapped file has its row, whatever the player uploads before the next process comes to it', async () => {
    await upload(TONE, { fileName: 'first.wav' });
    startWorker();
    await settled();
    await stopWorkers();
    await upload(OTHER_TONE, { fileName: 'second.wav' });
    await runProcess('work', 'after-move');
    await upload(SILENCE, { fileName: 'silence.wav' });
    startWorker({ leaseMs: 1000 });
    const { ready, latest } = await settled();
    expect([ready?.title, latest?.title, latest?.failure]).toEqual(['second.wav', 'silence.wav', 'silent']);
    expect(await hashOfFile(publishedPath(queue.folders, PLAYER))).toBe(ready?.sha256 ?? '');
    await waitForProcess(async () => (await readdir(queue.folders.inbox)).length === 0);
  });

  test('a sound whose processing was killed ten times is rendered all the same', async () => {
    await upload(TONE);
    await db.update(roundSounds).set({ attempts: 10 });
    startWorker({ leaseMs: 1000 });
    expect((await settled()).ready).toMatchObject({ title: 'tone.wav', attempts: 11 });
  });

  test('a sound that is already in place at the last attempt is published', async () => {
    await upload(TONE);
    await runProcess('work', 'after-move');
    await db.update(roundSounds).set({ attempts: 20 });
    startWorker({ leaseMs: 1000 });
    expect((await settled()).ready?.title).toBe('tone.wav');
  });

  test('the next start removes bytes that kill -9 left without a row', async () => {
    await runProcess('upload', 'before-row');
    expect(await readdir(queue.folders.inbox)).toHaveLength(1);
    expect(await listRoundSounds(db)).toEqual([]);
    await reconcileSounds(db, queue.sounds, log);
    expect(await readdir(queue.folders.inbox)).toHaveLength(1);
    await reconcileSounds(db, queue.sounds, log, { nowMs: Date.now() + 16 * 60_000 });
    expect(await readdir(queue.folders.inbox)).toEqual([]);
  });

  test('publishes an upload whose row was written before kill -9, although no response was sent', async () => {
    await runProcess('upload', 'after-row');
    startWorker();
    expect((await settled()).ready).toMatchObject({ title: 'killed.wav' });
  });
});

/** Runs the helper process until it kills itself. */
async function runProcess(task: 'work' | 'upload', point: string): Promise<void> {
  const file = join(queue.home, 'source.wav');
  await Bun.write(file, TONE);
  const script = join(import.meta.dir, '../support/audio/media-process.ts');
  const child = Bun.spawn(['bun', script, queue.databaseUrl, queue.home, task, point, file, PLAYER], {
    stdout: 'inherit',
    stderr: 'inherit',
  });
  await child.exited;
  expect(child.signalCode).toBe('SIGKILL');
}

/** Processes of ffmpeg that work on one of this test's uploads. */
async function countChildren(): Promise<number> {
  return countProcesses(async (pid) => {
    const command = await readFile(`/proc/${pid}/cmdline`, 'utf8');
    return command.includes('ffmpeg') && (await readlink(`/proc/${pid}/cwd`)).startsWith(queue.home);
  });
}
