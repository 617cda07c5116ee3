import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { isDatabaseOutage } from '../src/db/client.ts';
import {
  claimQueuedSound,
  claimVoicelessSound,
  lockVoicelessSound,
  releaseVoicelessSound,
  saveVoice,
} from '../src/queries/round-sounds/round-sound-queue.ts';
import { lockPlayer, type RoundSound } from '../src/queries/round-sounds/round-sounds.ts';
import { hashFile } from '../src/runtime/folder.ts';
import { type Loop, startLoop } from '../src/runtime/loop.ts';
import {
  processUpload,
  type RoundSoundWorkerDeps,
  type RoundSoundWorkerOptions,
  renderPauseMs,
  type WorkContext,
} from './process-upload.ts';
import { reconcileSounds } from './reconcile.ts';
import { SOUND_NAME, VOICE_NAME } from './rendering/formats.ts';
import { renderVoice } from './rendering/voice.ts';
import { copyAsPartial, copyPublished, moveIntoPlace } from './sound-files.ts';

export type RoundSoundWorker = {
  /** Reconciles disk and rows, then works until stopped. */
  start(): void;
  /** Checks the queue now. */
  wake(): void;
  /** Stops after the current sound is finished or returned to the queue. */
  stop(): Promise<void>;
};

const RECONCILE_EVERY_MS = 60 * 60_000;

/**
 * Turns accepted uploads into published sounds, one after another. It may be killed at any time: a claim is a lease that
 * is renewed, every step can be repeated, and the published file is replaced by a rename.
 */
export function createRoundSoundWorker(
  deps: RoundSoundWorkerDeps,
  options: RoundSoundWorkerOptions,
): RoundSoundWorker {
  const { db, folders, log } = deps;
  const { idleMs = 15_000, graceMs = 5000, leaseMs = 15_000 } = options;
  const stopping = new AbortController();
  const context = { ...options, leaseMs, isStopping: () => stopping.signal.aborted };
  let reconciledAt = Number.NEGATIVE_INFINITY;
  let loop: Loop | undefined;

  /** Throws only when the database is unreachable: a file that cannot be moved or removed must not stop the queue. */
  async function reconcileIfDue(): Promise<void> {
    if (performance.now() - reconciledAt <= RECONCILE_EVERY_MS) return;
    try {
      await reconcileSounds(db, folders, log);
    } catch (error) {
      if (isDatabaseOutage(error)) throw error;
      log.error({ err: error }, 'sound files cannot be compared with the database: retrying in an hour');
    }
    reconciledAt = performance.now();
  }

  /** @returns whether there was something to do. */
  async function workOnce(): Promise<boolean> {
    const uploaded = await claimQueuedSound(db, { leaseMs });
    if (uploaded) await processUpload(deps, context, uploaded);
    const voiceless = uploaded ? undefined : await claimVoicelessSound(db, { leaseMs });
    if (voiceless) await renderMissingVoice(deps, context, voiceless);
    return uploaded !== undefined || voiceless !== undefined;
  }

  async function work(signal: AbortSignal): Promise<void> {
    do await reconcileIfDue();
    while (!signal.aborted && (await workOnce()));
  }

  return {
    start() {
      loop ??= startLoop({
        name: 'working off the queue of sounds',
        everyMs: idleMs,
        startsAtOnce: true,
        work,
        log,
      });
    },
    wake() {
      loop?.wake();
    },
    async stop() {
      stopping.abort();
      loop?.stop();
      const timer = setTimeout(() => void deps.ffmpeg.close(), graceMs);
      await loop?.ended;
      clearTimeout(timer);
      await deps.ffmpeg.close();
    },
  };
}

/**
 * Renders the missing voice rendition of a published sound from the published file. A failure is tried again later, with
 * growing pauses, and not reported to the player. Throws only when the database is unreachable.
 */
async function renderMissingVoice(
  deps: RoundSoundWorkerDeps,
  context: WorkContext,
  sound: RoundSound,
): Promise<void> {
  const { db, folders, log } = deps;
  const about = { steamId64: sound.steamId64, sound: sound.id };
  // In the inbox: if the process is killed, `reconcileSounds` removes the folder as an upload without a row.
  const scratch = join(folders.inbox, `voice-${sound.id}-${Bun.randomUUIDv7()}`);
  try {
    await mkdir(scratch);
    if (await renderAndPublish(deps, context, { sound, scratch })) {
      log.info(about, 'a missing voice file was rendered');
    }
  } catch (error) {
    const delayMs = context.isStopping() ? 0 : renderPauseMs(sound.voiceAttempts, context.retryMs);
    await releaseVoicelessSound(db, sound, { delayMs });
    if (!context.isStopping()) {
      log.warn({ ...about, err: error, delayMs }, 'a voice file cannot be rendered now: retrying later');
    }
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
}

/** @returns false when the sound was replaced or removed meanwhile. */
async function renderAndPublish(
  { db, ffmpeg, folders, moveFile }: RoundSoundWorkerDeps,
  { targetLufs }: WorkContext,
  { sound, scratch }: { sound: RoundSound; scratch: string },
): Promise<boolean> {
  const copy = join(scratch, SOUND_NAME);
  await copyPublished(folders, sound.steamId64, copy);
  if ((await hashFile(copy)) !== sound.sha256) throw new Error('the published file does not match its row');
  const { durationMs, loudnessAfterLufs } = sound;
  await renderVoice(ffmpeg, scratch, {
    durationMs: durationMs ?? 0,
    soundLufs: loudnessAfterLufs ?? targetLufs,
    targetLufs,
  });
  const from = join(scratch, VOICE_NAME);
  return db.transaction(async (tx) => {
    await lockPlayer(tx, sound.steamId64);
    if (!(await lockVoicelessSound(tx, sound))) return false;
    const file = await copyAsPartial(folders, { soundId: sound.id, rendition: 'voice', from });
    await moveIntoPlace(folders, sound, { renditions: ['voice'], moveFile });
    await saveVoice(tx, sound, file);
    return true;
  });
}
