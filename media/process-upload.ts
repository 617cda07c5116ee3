import { copyFile, link, mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Db } from '../src/db/client.ts';
import { RENDITIONS, type Rendition, type RoundSoundFailure } from '../src/domain/round-sound.ts';
import {
  publishSound,
  releaseSound,
  saveSoundFailure,
  saveSoundProgress,
  saveSoundRendering,
} from '../src/queries/round-sounds/round-sound-queue.ts';
import { findRoundSoundById, type RoundSound } from '../src/queries/round-sounds/round-sounds.ts';
import { isDiskTrouble, isNotFound } from './disk-trouble.ts';
import { type Ffmpeg, FfmpegError } from './ffmpeg/ffmpeg.ts';
import { copyAsPartial, findUnmoved, type MoveFile, moveIntoPlace, removePartials } from './publication.ts';
import { UPLOAD_NAME } from './rendering/decode.ts';
import { renderSound, SOUND_NAME } from './rendering/render.ts';
import { SoundRefused } from './rendering/run-ffmpeg.ts';
import { renderVoice, VOICE_NAME } from './rendering/voice.ts';
import { type SoundFolders, uploadFolder } from './sound-folders.ts';

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
  /** The one of the file system by default. */
  moveFile?: MoveFile;
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

const MOST_ATTEMPTS = 5;
const NO_SOUND = 'an upload did not become a sound';
const LEASE_LOST = 'the lease of a sound ran out; another worker has it';

/** The row went to somebody else, or away, while we worked on it. */
class Superseded extends Error {
  override name = 'Superseded';
}

export type WorkContext = RoundSoundWorkerOptions & { leaseMs: number; isStopping: () => boolean };

/** Brings one taken upload to its end, or gives it back. Throws only when the database is out of reach. */
export async function processUpload(
  deps: RoundSoundWorkerDeps,
  context: WorkContext,
  sound: RoundSound,
): Promise<void> {
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
  context: WorkContext,
  sound: RoundSound,
): Promise<void> {
  const { db, folders, ffmpeg } = deps;
  const folder = await openScratchFolder(folders, sound);
  const { maxSeconds, targetLufs, leaseMs } = context;
  const rendered = await renderSound(ffmpeg, folder, {
    maxSeconds,
    targetLufs,
    startMs: sound.startMs,
    onRendering: async () => {
      const isOurs = await saveSoundProgress(db, sound, { status: 'rendering', leaseMs });
      if (!isOurs) throw new Superseded();
    },
  });
  await renderVoice(ffmpeg, folder, { durationMs: rendered.durationMs, targetLufs });
  const copy = (rendition: Rendition, name: string) =>
    copyAsPartial(folders, { soundId: sound.id, rendition, from: join(folder, name) });
  const stereo = await copy('stereo', SOUND_NAME);
  const voice = await copy('voice', VOICE_NAME);
  if (!stereo || !voice) throw new Superseded();
  const isOurs = await saveSoundRendering(db, sound, {
    sha256: stereo.sha256,
    sizeBytes: stereo.sizeBytes,
    voiceSha256: voice.sha256,
    voiceSizeBytes: voice.sizeBytes,
    loudnessBeforeLufs: rendered.loudnessBefore,
    loudnessAfterLufs: rendered.loudnessAfter,
    durationMs: rendered.durationMs,
    waveform: rendered.waveform,
  });
  if (!isOurs) throw new Superseded();
  await publish(deps, sound, RENDITIONS);
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
  const unmoved = await findUnmoved(deps.folders, sound);
  if (unmoved === undefined) return false;
  await publish(deps, sound, unmoved);
  return true;
}

/** @param renditions the files to move into place; the others are there already. */
async function publish(
  { db, folders, moveFile }: RoundSoundWorkerDeps,
  sound: RoundSound,
  renditions: readonly Rendition[],
): Promise<void> {
  const move = () => moveIntoPlace(folders, sound, { renditions, moveFile });
  if (!(await publishSound(db, sound, move))) throw new Superseded();
}

/** @returns why the upload failed; undefined when it goes on, here or elsewhere, or gave way. */
async function settleFailure(
  deps: RoundSoundWorkerDeps,
  context: WorkContext,
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
    await removePartials(folders, sound.id);
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
  await removePartials(folders, sound.id);
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
