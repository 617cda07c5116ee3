import { afterAll, afterEach, beforeEach, describe, expect, setDefaultTimeout, test } from 'bun:test';
import { mkdir, readdir, readlink, rename, rm, utimes } from 'node:fs/promises';
import { join } from 'node:path';
import { eq } from 'drizzle-orm';
import { createEmbeddedFfmpeg } from '../../media/ffmpeg/embedded.ts';
import { type Ffmpeg, FfmpegError } from '../../media/ffmpeg/ffmpeg.ts';
import type { RoundSoundWorkerDeps } from '../../media/process-upload.ts';
import { reconcileSounds } from '../../media/reconcile.ts';
import { UPLOAD_NAME } from '../../media/rendering/decode.ts';
import { createRoundSoundWorker, type RoundSoundWorker } from '../../media/round-sounds.ts';
import {
  openSoundFolders,
  partialPath,
  publishedPath,
  type SoundFolders,
} from '../../media/sound-folders.ts';
import { removeSound, storeUpload } from '../../media/uploads.ts';
import { auditLog } from '../../src/db/schema/audit-log.ts';
import { roundSounds } from '../../src/db/schema/round-sounds.ts';
import type { SteamId64 } from '../../src/domain/steam-id.ts';
import {
  findReadyRoundSound,
  findRoundSounds,
  listReadySounds,
  listRoundSounds,
  type RoundSound,
} from '../../src/queries/round-sounds/round-sounds.ts';
import { anAudio, silence, sine, toWav } from '../support/audio/audio.ts';
import { HAS_NATIVE_FFMPEG, makeFolder, openEngine, SILENT_LOG } from '../support/audio/ffmpeg-engines.ts';
import { aSteamId } from '../support/database/builders.ts';
import { createTestDatabase } from '../support/database/database.ts';

setDefaultTimeout(60_000);

const database = await createTestDatabase();
const { db } = database;
const root = await makeFolder('queue');
const log: RoundSoundWorkerDeps['log'] = { ...SILENT_LOG, error: () => undefined };
const ffmpeg = await openQuickEngine();
afterAll(async () => {
  await ffmpeg.close();
  await root.remove();
});

const TONE = toWav(anAudio({ seconds: 1, shape: sine(440, 0.3) }), 's16');
const OTHER_TONE = toWav(anAudio({ seconds: 2, shape: sine(880, 0.1) }), 's16');
const SILENCE = toWav(silence(1), 's16');
const PLAYER = aSteamId(1);
const PUBLISHED_NAMES = ['.published-sounds', `${PLAYER}.mp3`, `${PLAYER}.voice.mp3`];
const missingFfmpeg: Ffmpeg = {
  ...ffmpeg,
  run: () => Promise.reject(new FfmpegError('missing', 'gone')),
};

let folders: SoundFolders;
let home: string;
const workers: RoundSoundWorker[] = [];

beforeEach(async () => {
  home = join(root.path, Bun.randomUUIDv7());
  folders = await openSoundFolders({ dataDir: join(home, 'data'), storageDir: join(home, 'storage') });
  await db.delete(roundSounds);
  await db.delete(auditLog);
});
afterEach(async () => {
  await Promise.all(workers.splice(0).map((worker) => worker.stop()));
});

test('an upload is answered before it is rendered, then published under the SteamID', async () => {
  const accepted = await upload(TONE, { fileName: '../Fanfara.wav' });
  expect(accepted).toMatchObject({ status: 'queued', title: 'Fanfara.wav', steamId64: PLAYER });
  expect(await listReadySounds(db)).toEqual([]);

  startWorker();
  const { ready } = await settled(PLAYER);
  expect(ready).toMatchObject({ status: 'ready', failure: null, claimedUntil: null });
  expect(ready?.durationMs).toBe(1000);
  expect(ready?.loudnessAfterLufs).toBeCloseTo(-18, 0);
  expect(ready?.waveform).toHaveLength(160);
  const bytes = await Bun.file(publishedPath(folders, PLAYER)).bytes();
  expect(await hashOf(publishedPath(folders, PLAYER))).toBe(ready?.sha256 ?? '');
  expect(ready).toMatchObject({
    sizeBytes: bytes.length,
    voiceSha256: await hashOf(publishedPath(folders, PLAYER, 'voice')),
    voiceSizeBytes: Bun.file(publishedPath(folders, PLAYER, 'voice')).size,
  });
  expect(await listReadySounds(db)).toEqual([
    { steamId64: PLAYER, title: 'Fanfara.wav', sha256: ready?.sha256 ?? '' },
  ]);
  await waitUntil(async () => (await readdir(folders.inbox)).length === 0);
  expect((await readdir(folders.published)).sort()).toEqual(PUBLISHED_NAMES);
});

test('the earlier sound stays published while its replacement is worked on, and when it fails', async () => {
  await upload(TONE);
  startWorker();
  const first = (await settled(PLAYER)).ready;
  const before = await Bun.file(publishedPath(folders, PLAYER)).bytes();

  await upload(SILENCE, { fileName: 'silence.wav' });
  const { ready, latest } = await settled(PLAYER);
  expect(ready?.id).toBe(first?.id ?? 0);
  expect(latest).toMatchObject({ status: 'failed', failure: 'silent', title: 'silence.wav' });
  expect(await Bun.file(publishedPath(folders, PLAYER)).bytes()).toEqual(before);

  await upload(OTHER_TONE, { fileName: 'other.wav' });
  await waitUntil(async () => (await findReadyRoundSound(db, PLAYER))?.title === 'other.wav');
  expect(await listRoundSounds(db)).toHaveLength(1);
  expect(await Bun.file(publishedPath(folders, PLAYER)).bytes()).not.toEqual(before);
});

test('a newer upload takes the place of one that waits', async () => {
  await upload(TONE, { fileName: 'first.wav' });
  await upload(OTHER_TONE, { fileName: 'second.wav' });
  expect((await listRoundSounds(db)).map(({ title }) => title)).toEqual(['second.wav']);
  expect(await readdir(folders.inbox)).toHaveLength(1);
  startWorker();
  expect((await settled(PLAYER)).ready?.title).toBe('second.wav');
});

test('an upload that is replaced while it is rendered is never published', async () => {
  const gate = Promise.withResolvers<void>();
  const entered = Promise.withResolvers<void>();
  const slow: Ffmpeg = {
    ...ffmpeg,
    async run(job, limits) {
      entered.resolve();
      await gate.promise;
      await ffmpeg.run(job, limits);
    },
  };
  await upload(TONE, { fileName: 'first.wav' });
  startWorker({ ffmpeg: slow });
  await entered.promise;
  await upload(OTHER_TONE, { fileName: 'second.wav' });
  gate.resolve();
  const { ready } = await settled(PLAYER);
  expect(ready).toMatchObject({ title: 'second.wav', durationMs: 2000 });
});

test('an upload whose files go with its removal, in the middle of the work, is not called a failure', async () => {
  const warnings: string[] = [];
  const removing: Ffmpeg = {
    ...ffmpeg,
    async run(job, limits) {
      await removeSound(db, folders, { steamId64: PLAYER, actor: 'operator' }).catch(() => undefined);
      await ffmpeg.run(job, limits);
    },
  };
  await upload(TONE);
  const said = Promise.withResolvers<string>();
  const watched = {
    ...log,
    info: (_: object, message: string) => said.resolve(message),
    warn: (_: object, message: string) => warnings.push(message),
  };
  startWorker({ ffmpeg: removing, log: watched });
  expect(await said.promise).toBe('a sound was replaced or removed while it was rendered');
  expect(warnings).toEqual([]);
  expect(await readdir(folders.inbox)).toEqual([]);
});

test("a member's wrong file is one line of the log, without a stack trace; what is ours is a warning with one", async () => {
  const lines: { level: string; fields: object; message: string }[] = [];
  const note = (level: string) => (fields: object, message: string) =>
    void lines.push({ level, fields, message });
  const noted = { info: note('info'), warn: note('warn'), error: note('error') };
  startWorker({ log: noted });
  // An mp3 by its first bytes, and rubbish behind them: ffmpeg refuses it.
  const rubbish = new Uint8Array(50_000).fill(0xff);
  for (const [bytes, reason] of [
    [new TextEncoder().encode('no audio at all'.repeat(100)), 'not-audio'],
    [SILENCE, 'silent'],
    [new Uint8Array([...new TextEncoder().encode('ID3'), 3, 0, 0, 0, 0, 0, 0, ...rubbish]), 'unreadable'],
  ] as const) {
    const { id } = await upload(bytes);
    expect((await settled(PLAYER)).latest?.failure).toBe(reason);
    const find = () => lines.find(({ message }) => message === 'an upload did not become a sound');
    await waitUntil(async () => find() !== undefined);
    const line = find();
    expect(line).toMatchObject({ level: 'info', fields: { steamId64: PLAYER, sound: id, reason } });
    expect(line?.fields).not.toHaveProperty('err');
    expect(lines.splice(0).filter(({ level }) => level !== 'info')).toEqual([]);
  }

  const { id } = await upload(TONE);
  await settled(PLAYER);
  await db
    .update(roundSounds)
    .set({ status: 'queued', attempts: 5, sha256: null })
    .where(eq(roundSounds.id, id));
  await waitUntil(async () => lines.some(({ level }) => level === 'warn'));
  expect(lines.find(({ level }) => level === 'warn')?.fields).toHaveProperty('err');
});

test('tells the steps while it works: queued, measuring, rendering', async () => {
  const seen = new Set<string>([(await upload(TONE)).status]);
  const watching: Ffmpeg = {
    ...ffmpeg,
    async run(job, limits) {
      seen.add((await findRoundSounds(db, PLAYER)).latest?.status ?? '');
      await ffmpeg.run(job, limits);
    },
  };
  startWorker({ ffmpeg: watching });
  await settled(PLAYER);
  expect([...seen]).toEqual(['queued', 'measuring', 'rendering']);
});

test('deleting removes the file, the rows and what waits; the deed is recorded', async () => {
  await upload(TONE);
  startWorker();
  await settled(PLAYER);
  await removeSound(db, folders, { steamId64: PLAYER, actor: 'operator' });
  expect(await readdir(folders.published)).toEqual(['.published-sounds']);
  expect(await listRoundSounds(db)).toEqual([]);
  const actions = (await db.select().from(auditLog)).map(({ action }) => action);
  expect(actions).toEqual(['sound.uploaded', 'sound.removed']);
  await expect(removeSound(db, folders, { steamId64: PLAYER, actor: 'operator' })).rejects.toThrow(
    `${PLAYER} has no round-end sound`,
  );
});

test('refuses an empty upload and one that is too large, and keeps nothing of them', async () => {
  await expect(upload(new Uint8Array())).rejects.toThrow('The file is empty');
  await expect(upload(new Uint8Array(3_000_000), { maxBytes: 2 * 1_048_576 })).rejects.toThrow(
    'at most 2 MB',
  );
  await waitUntil(async () => (await readdir(folders.inbox)).length === 0);
  expect(await listRoundSounds(db)).toEqual([]);
});

test('two workers share the queue, each upload rendered once', async () => {
  const players = [1, 2, 3, 4, 5, 6].map(aSteamId);
  for (const player of players) await upload(TONE, { player });
  let runs = 0;
  const counting: Ffmpeg = {
    ...ffmpeg,
    run: (job, limits) => {
      if (job.input.name === 'upload.bin') runs++;
      return ffmpeg.run(job, limits);
    },
  };
  startWorker({ ffmpeg: counting });
  startWorker({ ffmpeg: counting });
  await waitUntil(async () => (await listReadySounds(db)).length === players.length);
  expect(runs).toBe(players.length);
});

describe('trouble of our own', () => {
  test('a missing ffmpeg puts the upload off until there is one', async () => {
    let failures = 2;
    const flaky: Ffmpeg = {
      ...ffmpeg,
      async run(job, limits) {
        if (failures-- > 0) throw new FfmpegError('missing', 'ffmpeg is gone');
        await ffmpeg.run(job, limits);
      },
    };
    await upload(TONE);
    startWorker({ ffmpeg: flaky });
    expect((await settled(PLAYER)).ready).toMatchObject({ status: 'ready', attempts: 3 });
  });

  test('an ffmpeg that never comes back fails the upload with a reason, after five attempts', async () => {
    await upload(TONE);
    startWorker({ ffmpeg: missingFfmpeg });
    const { latest } = await settled(PLAYER);
    expect(latest).toMatchObject({ status: 'failed', failure: 'unavailable', attempts: 5 });
    await waitUntil(async () => (await readdir(folders.inbox)).length === 0);
  });

  test('a full disk puts the upload off, and leaves no half of a file', async () => {
    let failures = 1;
    const moveFile = async (from: string, to: string): Promise<void> => {
      if (failures-- > 0) throw Object.assign(new Error('no space'), { code: 'ENOSPC' });
      await rename(from, to);
    };
    await upload(TONE);
    startWorker({ moveFile });
    expect((await settled(PLAYER)).ready).toMatchObject({ status: 'ready', attempts: 2 });
  });

  test('an upload whose file vanished fails as lost', async () => {
    const { uploadKey } = await upload(TONE);
    await rm(join(folders.inbox, uploadKey), { recursive: true });
    startWorker();
    expect((await settled(PLAYER)).latest).toMatchObject({ status: 'failed', failure: 'lost' });
  });

  test('a worker that lost its lease leaves the upload to the one who has it', async () => {
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
    expect(await readdir(join(folders.inbox, uploadKey))).toContain(UPLOAD_NAME);
    expect((await findRoundSounds(db, PLAYER)).latest).toMatchObject({ status: 'measuring', attempts: 2 });
  });

  test('an orderly stop gives the upload back without counting an attempt', async () => {
    const entered = Promise.withResolvers<void>();
    const engine = await openQuickEngine();
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

describe('after kill -9', () => {
  const MOVES = ['before-move', 'between-moves', 'after-move'];
  const POINTS = ['call 1', 'call 2', 'call 3', 'call 4', 'call 5', 'call 6', ...MOVES];
  test.each(POINTS)('at %s the upload is finished by the next process', async (point) => {
    await upload(TONE);
    await runProcess('work', point);
    const { ready, latest } = await findRoundSounds(db, PLAYER);
    expect(ready).toBeUndefined();
    expect(latest?.status).toBeOneOf(['measuring', 'rendering']);
    const isMoved = ['between-moves', 'after-move'].includes(point);
    expect(await Bun.file(publishedPath(folders, PLAYER)).exists()).toBe(isMoved);

    // What was rendered already is published even where ffmpeg is gone meanwhile.
    const isRendered = MOVES.includes(point);
    startWorker({ leaseMs: 1000, ...(isRendered && { ffmpeg: missingFfmpeg }) });
    const after = await settled(PLAYER);
    expect(after.ready).toMatchObject({ status: 'ready', attempts: 2 });
    await waitUntil(async () => (await readdir(folders.inbox)).length === 0);
    expect((await readdir(folders.published)).sort()).toEqual(PUBLISHED_NAMES);
    expect(await countChildren()).toBe(0);
  });

  test('while replacing, the earlier sound is whole before and the new one after', async () => {
    await upload(TONE, { fileName: 'first.wav' });
    startWorker();
    const first = (await settled(PLAYER)).ready;
    await workers.splice(0)[0]?.stop();
    await upload(OTHER_TONE, { fileName: 'second.wav' });
    await runProcess('work', 'before-move');
    expect(await hashOf(publishedPath(folders, PLAYER))).toBe(first?.sha256 ?? '');
    expect((await findReadyRoundSound(db, PLAYER))?.title).toBe('first.wav');
    startWorker({ leaseMs: 1000 });
    await waitUntil(async () => (await findReadyRoundSound(db, PLAYER))?.title === 'second.wav');
    expect(await hashOf(publishedPath(folders, PLAYER))).toBe(
      (await findReadyRoundSound(db, PLAYER))?.sha256 ?? '',
    );
  });

  test('the swapped file has its row, whatever the player uploads before the next process comes to it', async () => {
    await upload(TONE, { fileName: 'first.wav' });
    startWorker();
    await settled(PLAYER);
    await workers.splice(0)[0]?.stop();
    await upload(OTHER_TONE, { fileName: 'second.wav' });
    await runProcess('work', 'after-move');
    await upload(SILENCE, { fileName: 'silence.wav' });
    startWorker({ leaseMs: 1000 });
    const { ready, latest } = await settled(PLAYER);
    expect([ready?.title, latest?.title, latest?.failure]).toEqual(['second.wav', 'silence.wav', 'silent']);
    expect(await hashOf(publishedPath(folders, PLAYER))).toBe(ready?.sha256 ?? '');
    await waitUntil(async () => (await readdir(folders.inbox)).length === 0);
  });

  test('at the last attempt a sound that is in its place already is published', async () => {
    await upload(TONE);
    await runProcess('work', 'after-move');
    await db.update(roundSounds).set({ attempts: 5 });
    startWorker({ leaseMs: 1000 });
    expect((await settled(PLAYER)).ready?.title).toBe('tone.wav');
  });

  test('with the bytes stored and no row, the next start removes the bytes', async () => {
    await runProcess('upload', 'before-row');
    expect(await readdir(folders.inbox)).toHaveLength(1);
    expect(await listRoundSounds(db)).toEqual([]);
    await reconcileSounds(db, folders, log);
    expect(await readdir(folders.inbox)).toHaveLength(1);
    await reconcileSounds(db, folders, log, { now: Date.now() + 16 * 60_000 });
    expect(await readdir(folders.inbox)).toEqual([]);
  });

  test('with the row written and no answer sent, the upload is published', async () => {
    await runProcess('upload', 'after-row');
    startWorker();
    expect((await settled(PLAYER)).ready).toMatchObject({ title: 'killed.wav' });
  });
});

describe('reconciliation', () => {
  test('puts published files aside that no row knows, and removes unfinished copies', async () => {
    await Bun.write(publishedPath(folders, aSteamId(9)), 'x');
    await Bun.write(partialPath(folders, 12345), 'x');
    await Bun.write(join(folders.published, 'note.txt'), 'an operator left this');
    await reconcileSounds(db, folders, log);
    expect((await readdir(folders.published)).sort()).toEqual(['.published-sounds', 'note.txt']);
    expect(await readdir(folders.orphans)).toHaveLength(1);
    await reconcileSounds(db, folders, log, { now: Date.now() + 31 * 24 * 3_600_000 });
    expect(await readdir(folders.orphans)).toEqual([]);
  });

  test('keeps an upload whose row comes while it looks', async () => {
    const uploadKey = Bun.randomUUIDv7();
    await Bun.write(join(folders.inbox, uploadKey, UPLOAD_NAME), TONE);
    let looks = 0;
    const watched = new Proxy(db, {
      get(target, name) {
        const value: unknown = Reflect.get(target, name);
        if (typeof value !== 'function') return value;
        // The second look comes after the row.
        if (name === 'select' && ++looks === 2) Bun.spawnSync(insertRow(uploadKey));
        return value.bind(target);
      },
    });
    await reconcileSounds(watched, folders, log);
    expect(await listRoundSounds(db)).toHaveLength(1);
    expect(await readdir(folders.inbox)).toEqual([uploadKey]);
  });

  test('marks a published sound whose file is gone', async () => {
    await upload(TONE);
    startWorker();
    await settled(PLAYER);
    await rm(publishedPath(folders, PLAYER));
    await reconcileSounds(db, folders, log);
    expect(await listReadySounds(db)).toEqual([]);
    expect((await findRoundSounds(db, PLAYER)).latest).toMatchObject({ status: 'failed', failure: 'lost' });
  });

  test('believes no loss when the whole folder is not there, as when it is not mounted', async () => {
    await upload(TONE);
    startWorker();
    await settled(PLAYER);
    await rm(folders.published, { recursive: true });
    await mkdir(folders.published);
    await reconcileSounds(db, folders, log);
    expect(await listReadySounds(db)).toHaveLength(1);
  });

  test('removes the folder of an upload that ended', async () => {
    const { uploadKey } = await upload(SILENCE);
    startWorker();
    await settled(PLAYER);
    await waitUntil(async () => (await readdir(folders.inbox)).length === 0);
    await mkdir(join(folders.inbox, uploadKey));
    await utimes(join(folders.inbox, uploadKey), new Date(), new Date());
    await reconcileSounds(db, folders, log);
    expect(await readdir(folders.inbox)).toEqual([]);
  });
});

async function upload(
  bytes: Uint8Array,
  options: { fileName?: string; player?: SteamId64; maxBytes?: number } = {},
): Promise<RoundSound> {
  const { fileName = 'tone.wav', player = PLAYER, maxBytes = 20_000_000 } = options;
  const stream = new Blob([new Uint8Array(bytes)]).stream();
  return storeUpload(db, folders, {
    upload: { steamId64: player, fileName, bytes: stream, actor: 'operator' },
    maxBytes,
  });
}

function startWorker(
  options: {
    ffmpeg?: Ffmpeg;
    ownsEngine?: boolean;
    leaseMs?: number;
    log?: typeof log;
    moveFile?: (from: string, to: string) => Promise<void>;
  } = {},
): RoundSoundWorker {
  const engine = options.ffmpeg ?? ffmpeg;
  const shared: Ffmpeg = { ...engine, close: options.ownsEngine ? engine.close : async () => undefined };
  const worker = createRoundSoundWorker(
    {
      db,
      folders,
      log: options.log ?? log,
      ffmpeg: shared,
      ...(options.moveFile && { moveFile: options.moveFile }),
    },
    {
      maxSeconds: 10,
      targetLufs: -18,
      leaseMs: options.leaseMs ?? 10_000,
      idleMs: 30,
      retryMs: 5,
      graceMs: 200,
    },
  );
  workers.push(worker);
  worker.start();
  return worker;
}

/** Waits until the player's newest upload is ready or failed. */
async function settled(player: SteamId64): Promise<Awaited<ReturnType<typeof findRoundSounds>>> {
  await waitUntil(async () => {
    const { ready, latest } = await findRoundSounds(db, player);
    return latest ? latest.status === 'failed' : ready !== undefined;
  });
  return findRoundSounds(db, player);
}

/** A command that puts an upload in the queue, for where nothing can be awaited. */
function insertRow(uploadKey: string): string[] {
  const statement = 'insert into round_sounds (steamid64, title, upload_key) values ($1, $2, $3)';
  const values = JSON.stringify([PLAYER, 'tone.wav', uploadKey]);
  const script = `const db = new Bun.SQL(${JSON.stringify(database.url)}); await db.unsafe(${JSON.stringify(statement)}, ${values}); await db.close();`;
  return ['bun', '-e', script];
}

/** Runs the helper process until it kills itself. */
async function runProcess(task: 'work' | 'upload', point: string): Promise<void> {
  const file = join(home, 'source.wav');
  await Bun.write(file, TONE);
  const script = join(import.meta.dir, '../support/audio/media-process.ts');
  const child = Bun.spawn(['bun', script, database.url, home, task, point, file, PLAYER], {
    stdout: 'inherit',
    stderr: 'inherit',
  });
  await child.exited;
  expect(child.signalCode).toBe('SIGKILL');
}

/** Processes of ffmpeg that work on one of this test's uploads. */
async function countChildren(): Promise<number> {
  const ids = (await readdir('/proc').catch(() => [])).filter((name) => /^\d+$/.test(name));
  const folderOf = (id: string): Promise<string> =>
    Bun.file(`/proc/${id}/cmdline`)
      .text()
      .then(async (line) => (line.includes('ffmpeg') ? await readlink(`/proc/${id}/cwd`) : ''))
      .catch(() => '');
  return (await Promise.all(ids.map(folderOf))).filter((path) => path.startsWith(home)).length;
}

async function hashOf(path: string): Promise<string> {
  return new Bun.CryptoHasher('sha256').update(await Bun.file(path).bytes()).digest('hex');
}

async function waitUntil(isTrue: () => Promise<boolean>): Promise<void> {
  const deadline = Date.now() + 15_000;
  while (!(await isTrue())) {
    if (Date.now() > deadline) throw new Error('it never came true');
    await Bun.sleep(15);
  }
}

/** The engine for tests of the queue: whichever is here. */
async function openQuickEngine(): Promise<Ffmpeg> {
  return HAS_NATIVE_FFMPEG ? openEngine('native', root.path) : createEmbeddedFfmpeg();
}
