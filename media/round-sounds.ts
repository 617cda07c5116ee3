import { copyFile, link, mkdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Db } from '../src/db/client.ts';
import {
  findRoundSoundById,
  publishSound,
  type RoundSound,
  releaseSound,
  saveSoundFailure,
  saveSoundProgress,
  saveSoundRendering,
  takeQueuedSound,
} from '../src/queries/round-sounds.ts';
import type { RoundSoundFailure } from '../src/round-sound.ts';
import { type Ffmpeg, FfmpegError } from './ffmpeg.ts';
import { reconcileSounds } from './reconcile.ts';
import { renderSound, SOUND_NAME, SoundRefused, UPLOAD_NAME } from './render.ts';
import {
  hashFile,
  isDiskTrouble,
  isInPlace,
  isNotFound,
  partialPath,
  publishedPath,
  type SoundFolders,
  syncToDisk,
  uploadFolder,
} from './sound-folders.ts';

export type RoundSoundWorkerDeps = {
  db: Db;
  ffmpeg: Ffmpeg;
  folders: SoundFolders;
  log: {
    info(details: object, message: string): void;
    warn(details: object, message: string): void;
    error(details: object, message: string): void;
  };
  /** Told of every upload that came to its end here, and how long the last attempt took. */
  onSettled?: (outcome: 'published' | RoundSoundFailure, durationMs: number) => void;
  /** How a file is swapped for another; the one of the file system by default. */
  moveFile?: (from: string, to: string) => Promise<void>;
};

export type RoundSoundWorkerOptions = {
  maxSeconds: number;
  targetLufs: number;
  /** How long a dead worker's sound is left alone; 15 s by default. */
  leaseMs?: number;
  /** How often the queue is looked at without being told; 5 s by default. */
  idleMs?: number;
  /** First of the growing pauses after trouble of ours; 5 s by default. */
  retryMs?: number;
  /** How long `stop` waits for the sound under way before it gives it back; 5 s by default. */
  graceMs?: number;
};

export type RoundSoundWorker = {
  /** Reconciles disk and rows, then works until stopped. */
  start(): void;
  /** Looks at the queue now. */
  wake(): void;
  /** Ends in order: what is under way is finished or given back. */
  stop(): Promise<void>;
};

const MOST_ATTEMPTS = 5;
const RECONCILE_EVERY_MS = 60 * 60_000;
const NO_SOUND = 'an upload did not become a sound';
const LEASE_LOST = 'the lease of a sound ran out; another worker has it';

/** The row went to somebody else, or away, while we worked on it. */
class Superseded extends Error {
  override name = 'Superseded';
}

/**
 * Turns accepted uploads into published sounds, one after another. What it does may be cut off at any moment: a row
 * is taken for a lease that it keeps renewing, every step can be repeated, and the published file changes in one move.
 */
export function createRoundSoundWorker(
  deps: RoundSoundWorkerDeps,
  options: RoundSoundWorkerOptions,
): RoundSoundWorker {
  const { db, folders, log } = deps;
  const { idleMs = 5000, graceMs = 5000, leaseMs = 15_000 } = options;
  let isStopping = false;
  let wakeUp = (): void => undefined;
  let loop: Promise<void> | undefined;
  let isWoken = false;

  const sleep = (durationMs: number): Promise<void> => {
    if (isWoken || isStopping) {
      isWoken = false;
      return Promise.resolve();
    }
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, durationMs);
    wakeUp = () => {
      clearTimeout(timer);
      resolve();
    };
    return promise.finally(() => {
      isWoken = false;
      wakeUp = () => undefined;
    });
  };
  const work = async (): Promise<void> => {
    let reconciledAt = Number.NEGATIVE_INFINITY;
    while (!isStopping) {
      try {
        if (performance.now() - reconciledAt > RECONCILE_EVERY_MS) {
          await reconcileSounds(db, folders, log);
          reconciledAt = performance.now();
        }
        const sound = await takeQueuedSound(db, { leaseMs });
        if (sound) await processSound(deps, { ...options, leaseMs, isStopping: () => isStopping }, sound);
        else await sleep(idleMs);
      } catch (error) {
        log.error({ err: error }, 'the queue of sounds is out of reach; trying again');
        isWoken = false;
        await sleep(idleMs);
      }
    }
  };
  return {
    start() {
      loop ??= work();
    },
    wake() {
      isWoken = true;
      wakeUp();
    },
    async stop() {
      isStopping = true;
      wakeUp();
      const timer = setTimeout(() => void deps.ffmpeg.close(), graceMs);
      await loop;
      clearTimeout(timer);
      await deps.ffmpeg.close();
    },
  };
}

type Context = RoundSoundWorkerOptions & { leaseMs: number; isStopping: () => boolean };

/** Brings one taken upload to its end, or gives it back. Throws only when the database is out of reach. */
async function processSound(deps: RoundSoundWorkerDeps, context: Context, sound: RoundSound): Promise<void> {
  const { db, folders, log } = deps;
  const renewal = setInterval(() => {
    saveSoundProgress(db, sound, { leaseMs: context.leaseMs }).catch(() => undefined);
  }, context.leaseMs / 3);
  const startedAt = performance.now();
  try {
    if (!(await finishEarlierAttempt(deps, sound))) {
      if (sound.attempts > MOST_ATTEMPTS) throw new SoundRefused('unavailable');
      await renderAndPublish(deps, context, sound);
    }
    await rm(uploadFolder(folders, sound.uploadKey), { recursive: true, force: true });
    const durationMs = Math.round(performance.now() - startedAt);
    log.info({ steamId64: sound.steamId64, sound: sound.id, durationMs }, 'a round-end sound is published');
    deps.onSettled?.('published', durationMs);
  } catch (error) {
    const failure = await settleFailure(deps, context, { sound, error });
    if (failure) deps.onSettled?.(failure, Math.round(performance.now() - startedAt));
  } finally {
    clearInterval(renewal);
  }
}

async function renderAndPublish(
  deps: RoundSoundWorkerDeps,
  context: Context,
  sound: RoundSound,
): Promise<void> {
  const { db, folders, ffmpeg } = deps;
  const folder = await openScratchFolder(folders, sound);
  const rendered = await renderSound(ffmpeg, folder, {
    maxSeconds: context.maxSeconds,
    targetLufs: context.targetLufs,
    onRendering: async () => {
      const change = { status: 'rendering', leaseMs: context.leaseMs } as const;
      const isOurs = await saveSoundProgress(db, sound, change);
      if (!isOurs) throw new Superseded();
    },
  });
  const partial = partialPath(folders, sound.id);
  await copyFile(join(folder, SOUND_NAME), partial);
  await syncToDisk(partial);
  const sha256 = await hashFile(partial);
  if (sha256 === undefined) throw new Superseded();
  const isOurs = await saveSoundRendering(db, sound, {
    sha256,
    loudnessBeforeLufs: rendered.loudnessBefore,
    loudnessAfterLufs: rendered.loudnessAfter,
    durationMs: rendered.durationMs,
    waveform: rendered.waveform,
  });
  if (!isOurs) throw new Superseded();
  await publish(deps, sound, { from: partial });
}

/** One for each attempt: a worker that lost its lease without noticing must not write into ours. */
async function openScratchFolder(folders: SoundFolders, sound: RoundSound): Promise<string> {
  const folder = uploadFolder(folders, sound.uploadKey);
  const scratch = join(folder, `attempt-${sound.attempts}`);
  await rm(scratch, { recursive: true, force: true });
  await mkdir(scratch);
  await link(join(folder, UPLOAD_NAME), join(scratch, UPLOAD_NAME)).catch((error: unknown) => {
    if (isNotFound(error)) throw error;
    // Not every file system has hard links.
    return copyFile(join(folder, UPLOAD_NAME), join(scratch, UPLOAD_NAME));
  });
  return scratch;
}

/**
 * A worker before us may have died between writing what it rendered and saying that it is published.
 * @returns false when everything has to be done again.
 */
async function finishEarlierAttempt(deps: RoundSoundWorkerDeps, sound: RoundSound): Promise<boolean> {
  if (sound.sha256 === null) return false;
  const partial = partialPath(deps.folders, sound.id);
  if ((await hashFile(partial)) === sound.sha256) {
    await publish(deps, sound, { from: partial });
    return true;
  }
  if (!(await isInPlace(deps.folders, sound))) return false;
  await publish(deps, sound, {});
  return true;
}

/** @param from the file to move into place; it is there already without one. */
async function publish(
  deps: RoundSoundWorkerDeps,
  sound: RoundSound,
  { from }: { from?: string },
): Promise<void> {
  const { db, folders, moveFile = rename } = deps;
  const isPublished = await publishSound(db, sound, async () => {
    if (from === undefined) return;
    await moveFile(from, publishedPath(folders, sound.steamId64));
    await syncToDisk(folders.published);
  });
  if (!isPublished) throw new Superseded();
}

/** @returns why the upload failed; undefined when it goes on, here or elsewhere, or gave way. */
async function settleFailure(
  deps: RoundSoundWorkerDeps,
  context: Context,
  { sound, error }: { sound: RoundSound; error: unknown },
): Promise<RoundSoundFailure | undefined> {
  const { db, folders, log } = deps;
  const whose = { steamId64: sound.steamId64, sound: sound.id };
  const about = { ...whose, err: error };
  if (context.isStopping() && !(error instanceof SoundRefused && error.cause === undefined)) {
    await releaseSound(db, sound, { countsAsAttempt: false });
    return undefined;
  }
  if (!(await findRoundSoundById(db, sound.id))) {
    await rm(partialPath(folders, sound.id), { force: true });
    await rm(uploadFolder(folders, sound.uploadKey), { recursive: true, force: true });
    log.info(about, 'a sound was replaced or removed while it was rendered');
    return undefined;
  }
  if (error instanceof Superseded) {
    log.warn(about, LEASE_LOST);
    return undefined;
  }
  const failure = await findFailure(error, uploadFolder(folders, sound.uploadKey));
  if (failure === undefined && sound.attempts < MOST_ATTEMPTS) {
    const delayMs = (context.retryMs ?? 5000) * 4 ** (sound.attempts - 1);
    log.warn({ ...about, delayMs }, 'a sound cannot be rendered now; trying again later');
    await releaseSound(db, sound, { delayMs });
    return undefined;
  }
  const reason = failure ?? 'unavailable';
  if (!(await saveSoundFailure(db, sound, reason))) {
    // Its files are the other worker's now.
    log.warn(about, LEASE_LOST);
    return undefined;
  }
  if (error instanceof SoundRefused && reason !== 'unavailable') {
    // A member's wrong file is no trouble of ours: ffmpeg's last words are enough.
    const detail = error.cause instanceof Error ? error.cause.message : undefined;
    log.info({ ...whose, reason, detail }, NO_SOUND);
  } else log.warn({ ...about, reason }, NO_SOUND);
  await rm(partialPath(folders, sound.id), { force: true });
  await rm(uploadFolder(folders, sound.uploadKey), { recursive: true, force: true });
  return reason;
}

/** What the player is told, or undefined for trouble of ours that may pass. */
async function findFailure(error: unknown, folder: string): Promise<RoundSoundFailure | undefined> {
  if (error instanceof SoundRefused) return error.reason;
  if (error instanceof FfmpegError || isDiskTrouble(error)) return undefined;
  if (isNotFound(error) && !(await Bun.file(join(folder, UPLOAD_NAME)).exists())) return 'lost';
  return undefined;
}
