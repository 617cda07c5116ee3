import { afterAll, afterEach, beforeEach } from 'bun:test';
import { join } from 'node:path';
import type { Ffmpeg, FfmpegJob, Log } from '../../../media/ffmpeg/ffmpeg.ts';
import { createRoundSoundWorker, type RoundSoundWorker } from '../../../media/round-sound-worker.ts';
import type { SoundStore } from '../../../media/sound-store.ts';
import { auditLog } from '../../../src/db/schema/accounts.ts';
import { roundSounds } from '../../../src/db/schema/round-sounds.ts';
import { findRoundSounds, type RoundSound } from '../../../src/queries/round-sounds/round-sounds.ts';
import { createTestDatabase } from '../database/database.ts';
import { createTestFolder } from '../service/program.ts';
import { waitForProcess } from '../wait.ts';
import { anAudio, silence, sine, toWav } from './audio.ts';
import { openEngine, SILENT_LOG, USUAL_ENGINE } from './ffmpeg-engines.ts';
import { openSounds, PLAYER, type SoundFolders, type UploadOptions, uploadSound } from './sound-folders.ts';

export const TONE = toWav(anAudio({ seconds: 1, shape: sine(440, 0.3) }), 's16');
export const OTHER_TONE = toWav(anAudio({ seconds: 2, shape: sine(880, 0.1) }), 's16');
export const SILENCE = toWav(silence(1), 's16');
/** What lies in the folder of published sounds once {@link PLAYER} has one. */
export const PUBLISHED_NAMES = ['.published-sounds', `${PLAYER}.mp3`, `${PLAYER}.voice.mp3`];

type WorkerOptions = {
  /** Called before each of ffmpeg's runs, which fails with what it throws. */
  beforeRun?: (job: FfmpegJob) => void | Promise<void>;
  /** An ffmpeg that the worker closes when it stops; the queue's by default, which stays open. */
  engine?: Ffmpeg;
  leaseMs?: number;
  log?: Log;
  sounds?: SoundStore;
};

/**
 * The queue of uploads on a database and an ffmpeg of the test file's own. Each test begins with no sound and empty
 * folders; its workers are stopped after it.
 */
export async function createSoundQueue() {
  const { db, url: databaseUrl } = await createTestDatabase();
  const root = createTestFolder();
  const ffmpeg = await openEngine(USUAL_ENGINE);
  const workers: RoundSoundWorker[] = [];
  let home = '';
  let folders: SoundFolders;
  let sounds: SoundStore;
  const open = (options?: Parameters<typeof openSounds>[1]) =>
    openSounds({ dataDir: join(home, 'data'), storageDir: join(home, 'storage') }, options);
  const stopWorkers = async (): Promise<void> => {
    await Promise.all(workers.splice(0).map((worker) => worker.stop()));
  };

  beforeEach(async () => {
    home = join(root, Bun.randomUUIDv7());
    ({ sounds, folders } = await open());
    await db.delete(roundSounds);
    await db.delete(auditLog);
  });
  afterEach(stopWorkers);
  afterAll(() => ffmpeg.close());

  const upload = (bytes: Uint8Array, options?: UploadOptions): Promise<RoundSound> =>
    uploadSound({ db, sounds }, bytes, options);

  function startWorker({
    beforeRun = () => undefined,
    engine,
    leaseMs = 10_000,
    log = SILENT_LOG,
    sounds: workerSounds = sounds,
  }: WorkerOptions = {}): RoundSoundWorker {
    const runner = engine ?? ffmpeg;
    const watched: Ffmpeg = {
      ...ffmpeg,
      run: async (job, limits) => {
        await beforeRun(job);
        await runner.run(job, limits);
      },
      close: engine?.close ?? (async () => undefined),
    };
    const worker = createRoundSoundWorker(
      { db, sounds: workerSounds, log, ffmpeg: watched },
      { maxSeconds: 10, targetLufs: -18, leaseMs, idleMs: 30, retryMs: 5, graceMs: 200 },
    );
    workers.push(worker);
    worker.start();
    return worker;
  }

  /** Waits until the newest upload of {@link PLAYER} is ready or failed. */
  function settled(): ReturnType<typeof findRoundSounds> {
    return waitForProcess(async () => {
      const sounds = await findRoundSounds(db, PLAYER);
      const isSettled = sounds.latest ? sounds.latest.status === 'failed' : sounds.ready !== undefined;
      return isSettled && sounds;
    });
  }

  /** Uploads a sound, starts a worker, and waits until the upload is {@link settled}. */
  async function settle(bytes: Uint8Array, options?: WorkerOptions): ReturnType<typeof findRoundSounds> {
    await upload(bytes);
    startWorker(options);
    return settled();
  }

  return {
    db,
    databaseUrl,
    root,
    /** The present test's folder of all others. */
    get home() {
      return home;
    },
    /** The present test's store of sounds. */
    get sounds() {
      return sounds;
    },
    /** Another store on the same folders. */
    open: async (options: Parameters<typeof openSounds>[1]) => (await open(options)).sounds,
    /** The present test's folders. */
    get folders() {
      return folders;
    },
    upload,
    startWorker,
    stopWorkers,
    settled,
    settle,
  };
}

export async function hashOfFile(path: string): Promise<string> {
  return new Bun.CryptoHasher('sha256').update(await Bun.file(path).bytes()).digest('hex');
}
