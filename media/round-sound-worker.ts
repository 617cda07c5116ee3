import { setTimeout as sleep } from 'node:timers/promises';
import { isDatabaseOutage } from '../src/db/client.ts';
import { claimQueuedSound } from '../src/queries/round-sounds/round-sound-queue.ts';
import { claimVoicelessSound } from '../src/queries/round-sounds/round-sound-voices.ts';
import { processUpload, type RoundSoundWorkerDeps, type RoundSoundWorkerOptions } from './process-upload.ts';
import { reconcileSounds } from './reconcile.ts';
import { renderMissingVoice } from './voice-backlog.ts';

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
  let isStopping = false;
  let waking = new AbortController();
  let loop: Promise<void> | undefined;

  /** Ends early when `wake` is called, and at once if it was called before the pause. */
  const pause = async (): Promise<void> => {
    await sleep(idleMs, undefined, { signal: waking.signal }).catch(() => undefined);
    forgetCalls();
  };
  const forgetCalls = (): void => {
    if (!isStopping) waking = new AbortController();
  };
  const context = { ...options, leaseMs, isStopping: () => isStopping };
  const workOnce = async (): Promise<boolean> => {
    const uploaded = await claimQueuedSound(db, { leaseMs });
    if (uploaded) await processUpload(deps, context, uploaded);
    const voiceless = uploaded ? undefined : await claimVoicelessSound(db, { leaseMs });
    if (voiceless) await renderMissingVoice(deps, context, voiceless);
    return uploaded !== undefined || voiceless !== undefined;
  };
  /** Throws only when the database is unreachable: a file that cannot be moved or removed must not stop the queue. */
  const reconcile = async (): Promise<void> => {
    try {
      await reconcileSounds(db, folders, log);
    } catch (error) {
      if (isDatabaseOutage(error)) throw error;
      log.error({ err: error }, 'sound files cannot be compared with the database: retrying in an hour');
    }
  };
  const work = async (): Promise<void> => {
    let reconciledAt = Number.NEGATIVE_INFINITY;
    while (!isStopping) {
      try {
        if (performance.now() - reconciledAt > RECONCILE_EVERY_MS) {
          await reconcile();
          reconciledAt = performance.now();
        }
        if (!(await workOnce())) await pause();
      } catch (error) {
        log.error({ err: error }, 'the queue of sounds is unreachable: retrying');
        forgetCalls();
        await pause();
      }
    }
  };
  return {
    start() {
      loop ??= work();
    },
    wake() {
      waking.abort();
    },
    async stop() {
      isStopping = true;
      waking.abort();
      const timer = setTimeout(() => void deps.ffmpeg.close(), graceMs);
      await loop;
      clearTimeout(timer);
      await deps.ffmpeg.close();
    },
  };
}
