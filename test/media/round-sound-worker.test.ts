import { describe, expect, setDefaultTimeout, test } from 'bun:test';
import { link, mkdir, readdir, rename, rm } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { eq } from 'drizzle-orm';
import { type Ffmpeg, FfmpegError, type FfmpegJob } from '../../media/ffmpeg/ffmpeg.ts';
import { reconcileSounds } from '../../media/reconcile.ts';
import { removeSound } from '../../media/uploads.ts';
import { inTransaction } from '../../src/db/client.ts';
import { auditLog } from '../../src/db/schema/accounts.ts';
import { roundSounds } from '../../src/db/schema/round-sounds.ts';
import { UPLOAD_NAME } from '../../src/domain/round-sound.ts';
import {
  findRoundSounds,
  listReadySounds,
  listRoundSounds,
  lockPlayer,
} from '../../src/queries/round-sounds/round-sounds.ts';
import { encode, SILENT_LOG as log, openEngine, USUAL_ENGINE } from '../support/audio/ffmpeg-engines.ts';
import { PLAYER, publishedPath, stagedPath } from '../support/audio/sound-folders.ts';
import {
  createSoundQueue,
  hashOfFile,
  OTHER_TONE,
  PUBLISHED_NAMES,
  SILENCE,
  TONE,
} from '../support/audio/sound-queue.ts';
import { aSteamId } from '../support/database/builders.ts';
import { countWaiting } from '../support/database/lock-waits.ts';
import { waitForProcess } from '../support/wait.ts';

setDefaultTimeout(60_000);

const queue = await createSoundQueue();
const { db, upload, startWorker, settled, settle } = queue;

test('an upload gets its response before it is rendered, then it is published under the SteamID', async () => {
  const accepted = await upload(TONE, { fileName: '../Fanfara.wav' });
  expect(accepted).toMatchObject({ status: 'queued', title: 'Fanfara.wav', steamId64: PLAYER });
  expect(await listReadySounds(db)).toEqual([]);

  startWorker();
  const { ready } = await settled();
  expect(ready).toMatchObject({ status: 'ready', failure: null, claimedUntil: null });
  expect(ready?.durationMs).toBe(1000);
  expect(ready?.loudnessAfterLufs).toBeCloseTo(-18, 0);
  expect(ready?.waveform).toHaveLength(160);
  const bytes = await Bun.file(publishedPath(queue.folders, PLAYER)).bytes();
  expect(await hashOfFile(publishedPath(queue.folders, PLAYER))).toBe(ready?.sha256 ?? '');
  expect(ready).toMatchObject({
    sizeBytes: bytes.length,
    voiceSha256: await hashOfFile(publishedPath(queue.folders, PLAYER, 'voice')),
    voiceSizeBytes: Bun.file(publishedPath(queue.folders, PLAYER, 'voice')).size,
  });
  expect(await listReadySounds(db)).toEqual([
    {
      id: ready?.id ?? 0,
      steamId64: PLAYER,
      title: 'Fanfara.wav',
      sha256: ready?.sha256 ?? '',
      voiceSha256: ready?.voiceSha256 ?? '',
      isServed: true,
    },
  ]);
  await waitForProcess(async () => (await readdir(queue.folders.inbox)).length === 0);
  expect((await readdir(queue.folders.published)).sort()).toEqual(PUBLISHED_NAMES);
});

test('the earlier sound stays published while its replacement is processed, and when that fails', async () => {
  const first = (await settle(TONE)).ready;
  const before = await Bun.file(publishedPath(queue.folders, PLAYER)).bytes();

  await upload(SILENCE, { fileName: 'silence.wav' });
  const { ready, latest } = await settled();
  expect(ready?.id).toBe(first?.id ?? 0);
  expect(latest).toMatchObject({ status: 'failed', failure: 'silent', title: 'silence.wav' });
  expect(await Bun.file(publishedPath(queue.folders, PLAYER)).bytes()).toEqual(before);

  await upload(OTHER_TONE, { fileName: 'other.wav' });
  await waitForProcess(async () => (await findRoundSounds(db, PLAYER)).ready?.title === 'other.wav');
  expect(await listRoundSounds(db)).toHaveLength(1);
  expect(await Bun.file(publishedPath(queue.folders, PLAYER)).bytes()).not.toEqual(before);
});

test('a sound is replaced by another file, never written over', async () => {
  await settle(TONE);
  const path = publishedPath(queue.folders, PLAYER);
  const before = await hashOfFile(path);
  await link(path, join(queue.folders.orphans, '..', 'held.mp3'));
  await settle(OTHER_TONE);
  expect(await hashOfFile(path)).not.toBe(before);
  expect(await hashOfFile(join(queue.folders.orphans, '..', 'held.mp3'))).toBe(before);
});

test('a newer upload replaces one that waits', async () => {
  await upload(TONE, { fileName: 'first.wav' });
  await upload(OTHER_TONE, { fileName: 'second.wav' });
  expect((await listRoundSounds(db)).map(({ title }) => title)).toEqual(['second.wav']);
  expect(await readdir(queue.folders.inbox)).toHaveLength(1);
  startWorker();
  expect((await settled()).ready?.title).toBe('second.wav');
});

test('an upload that is replaced while it is rendered is never published', async () => {
  const gate = Promise.withResolvers<void>();
  const entered = Promise.withResolvers<void>();
  await upload(TONE, { fileName: 'first.wav' });
  startWorker({
    beforeRun: async () => {
      entered.resolve();
      await gate.promise;
    },
  });
  await entered.promise;
  await upload(OTHER_TONE, { fileName: 'second.wav' });
  gate.resolve();
  const { ready } = await settled();
  expect(ready).toMatchObject({ title: 'second.wav', durationMs: 2000 });
});

test('an upload that is removed with its files while it is processed is not reported as a failure', async () => {
  const warnings: string[] = [];
  await upload(TONE);
  const said = Promise.withResolvers<string>();
  const watched = {
    ...log,
    info: (_: object, message: string) => said.resolve(message),
    warn: (_: object, message: string) => warnings.push(message),
  };
  const beforeRun = async () => {
    await removeSound(db, queue.sounds, { steamId64: PLAYER, actor: 'operator' }).catch(() => undefined);
  };
  startWorker({ beforeRun, log: watched });
  expect(await said.promise).toBe('a sound was replaced or removed while it was rendered');
  expect(warnings).toEqual([]);
  expect(await readdir(queue.folders.inbox)).toEqual([]);
});

test('removing, publishing and comparing sounds wait for what else is done to the player', async () => {
  const superseded = Promise.withResolvers<void>();
  await upload(TONE);
  const waiting = await inTransaction(db, async (holding) => {
    await lockPlayer(holding, PLAYER);
    const removal = removeSound(db, queue.sounds, { steamId64: PLAYER, actor: 'operator' });
    await waitForProcess(async () => (await countWaiting(db)) === 1);
    startWorker({ log: { ...log, info: () => superseded.resolve() } });
    await waitForProcess(async () => (await countWaiting(db)) === 2);
    await Bun.write(publishedPath(queue.folders, PLAYER), 'x');
    const reconciliation = reconcileSounds(db, queue.sounds, log);
    await waitForProcess(async () => (await countWaiting(db)) === 3);
    return { ended: Promise.all([removal, reconciliation]) };
  });
  await waiting.ended;
  await superseded.promise;
  expect(await listRoundSounds(db)).toEqual([]);
  expect(await readdir(queue.folders.published)).toEqual(['.published-sounds']);
  expect(await readdir(queue.folders.orphans).catch(() => [])).toEqual([]);
});

test("a member's bad file is one log line without a stack trace; a failure of the service is a warning with one", async () => {
  const lines: { level: string; fields: object; message: string }[] = [];
  const note = (level: string) => (fields: object, message: string) =>
    void lines.push({ level, fields, message });
  const noted = { info: note('info'), warn: note('warn'), error: note('error') };
  startWorker({ log: noted });
  // Starts like an mp3 and continues with garbage: ffmpeg refuses it.
  const rubbish = new Uint8Array(50_000).fill(0xff);
  for (const [bytes, reason] of [
    [new TextEncoder().encode('no audio at all'.repeat(100)), 'not-audio'],
    [SILENCE, 'silent'],
    [new Uint8Array([...new TextEncoder().encode('ID3'), 3, 0, 0, 0, 0, 0, 0, ...rubbish]), 'unreadable'],
  ] as const) {
    const { id } = await upload(bytes);
    expect((await settled()).latest?.failure).toBe(reason);
    const find = () => lines.find(({ message }) => message === 'an upload could not be processed');
    await waitForProcess(async () => find() !== undefined);
    const line = find();
    expect(line).toMatchObject({ level: 'info', fields: { steamId64: PLAYER, sound: id, reason } });
    expect(line?.fields).not.toHaveProperty('err');
    expect(lines.splice(0).filter(({ level }) => level !== 'info')).toEqual([]);
  }

  const { id } = await upload(TONE);
  await settled();
  await db
    .update(roundSounds)
    .set({ status: 'queued', attempts: 20, sha256: null })
    .where(eq(roundSounds.id, id));
  await waitForProcess(async () => lines.some(({ level }) => level === 'warn'));
  expect(lines.find(({ level }) => level === 'warn')?.fields).toHaveProperty('err');
});

test('saves the steps while it works: queued, measuring, rendering', async () => {
  const seen = new Set<string>([(await upload(TONE)).status]);
  startWorker({
    beforeRun: async () => {
      seen.add((await findRoundSounds(db, PLAYER)).latest?.status ?? '');
    },
  });
  await settled();
  expect([...seen]).toEqual(['queued', 'measuring', 'rendering']);
});

test('deleting removes the file, the rows and waiting uploads, and is in the audit log', async () => {
  await settle(TONE);
  await removeSound(db, queue.sounds, { steamId64: PLAYER, actor: 'operator' });
  expect(await readdir(queue.folders.published)).toEqual(['.published-sounds']);
  expect(await listRoundSounds(db)).toEqual([]);
  const actions = (await db.select().from(auditLog)).map(({ action }) => action);
  expect(actions).toEqual(['sound.uploaded', 'sound.removed']);
  await expect(removeSound(db, queue.sounds, { steamId64: PLAYER, actor: 'operator' })).rejects.toThrow(
    `${PLAYER} has no round-end sound`,
  );
});

test('refuses an empty upload and one that is too large, and stores nothing of them', async () => {
  await expect(upload(new Uint8Array())).rejects.toThrow('The file is empty');
  await expect(upload(new Uint8Array(3_000_000), { maxBytes: 2 * 1_048_576 })).rejects.toThrow(
    'at most 2 MB',
  );
  await waitForProcess(async () => (await readdir(queue.folders.inbox)).length === 0);
  expect(await listRoundSounds(db)).toEqual([]);
});

test('two workers share the queue, each upload rendered once', async () => {
  const players = [1, 2, 3, 4, 5, 6].map(aSteamId);
  for (const player of players) await upload(TONE, { player });
  let runs = 0;
  const beforeRun = ({ input }: FfmpegJob) => {
    if (input.name === UPLOAD_NAME) runs++;
  };
  startWorker({ beforeRun });
  startWorker({ beforeRun });
  await waitForProcess(async () => (await listReadySounds(db)).length === players.length);
  expect(runs).toBe(players.length);
});

describe('failures of the service', () => {
  test.each(['missing', 'timed-out'] as const)(
    'an ffmpeg that is %s twice postpones the upload',
    async (failure) => {
      let failures = 2;
      const directories = new Set<string>();
      const { ready } = await settle(TONE, {
        beforeRun: ({ directory }) => {
          directories.add(directory);
          if (failures-- > 0) throw new FfmpegError(failure, 'not now');
        },
      });
      expect(ready).toMatchObject({ status: 'ready', attempts: 3 });
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
      const { latest } = await settle(TONE, {
        beforeRun: () => {
          throw new FfmpegError(cause, 'not now');
        },
      });
      expect(latest).toMatchObject({ status: 'failed', failure, attempts });
      await waitForProcess(async () => (await readdir(queue.folders.inbox)).length === 0);
    },
  );

  test('a full disk postpones the upload, and leaves no partial file', async () => {
    const move = failOnFullDisk();
    const { ready } = await settle(TONE, { sounds: await queue.open({ move }) });
    expect(ready).toMatchObject({ status: 'ready', attempts: 2 });
  });

  test('a Matroska file that ends too early is unreadable at once, not a failing disk', async () => {
    const options = ['-c:a', 'libvorbis', '-f', 'matroska'];
    const whole = await encode(TONE, 'mka', options);
    await upload(whole.subarray(0, 500));
    startWorker();
    expect((await settled()).latest).toMatchObject({
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
    expect((await settled()).ready).toMatchObject({ status: 'ready', attempts: 7, failures: 1 });
  });

  test('a file that cannot be removed stops no upload, and is logged once', async () => {
    // A folder cannot be removed as a file.
    await mkdir(stagedPath(queue.folders, 12345));
    const errors: string[] = [];
    const watched = { ...log, error: (_: object, message: string) => errors.push(message) };
    const { ready } = await settle(TONE, { log: watched });
    expect(ready).toMatchObject({ status: 'ready', attempts: 1 });
    expect(errors).toEqual(['sound files cannot be compared with the database: retrying in an hour']);
  });

  test('an upload whose file vanished fails as lost', async () => {
    const { uploadKey } = await upload(TONE);
    await rm(join(queue.folders.inbox, uploadKey), { recursive: true });
    startWorker();
    expect((await settled()).latest).toMatchObject({ status: 'failed', failure: 'lost' });
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
    expect((await settled()).latest).toMatchObject({ status: 'failed', failure: 'lost' });
    expect(await readdir(queue.root)).toContain('victim');
  });

  test('a worker that lost its lease leaves the upload to the one that holds it', async () => {
    const { id, uploadKey } = await upload(TONE);
    const beforeRun = async () => {
      await db.update(roundSounds).set({ attempts: 2 }).where(eq(roundSounds.id, id));
      throw new FfmpegError('overran', 'ffmpeg took too long');
    };
    const warned = Promise.withResolvers<void>();
    const worker = startWorker({ beforeRun, log: { ...log, warn: () => warned.resolve() } });
    await warned.promise;
    await worker.stop();
    expect(await readdir(join(queue.folders.inbox, uploadKey))).toEqual([UPLOAD_NAME]);
    expect((await findRoundSounds(db, PLAYER)).latest).toMatchObject({ status: 'measuring', attempts: 2 });
  });

  test('a graceful stop returns the upload to the queue without counting an attempt', async () => {
    const entered = Promise.withResolvers<void>();
    const engine = await openEngine(USUAL_ENGINE);
    const endless: Ffmpeg = {
      ...engine,
      run: (job, limits) => {
        const input = { ...job.input, options: ['-stream_loop', '-1', '-f', 'wav'] };
        return engine.run({ ...job, input, output: { options: ['-af', 'aresample=192000'] } }, limits);
      },
    };
    await upload(TONE);
    const worker = startWorker({ engine: endless, beforeRun: () => entered.resolve() });
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
