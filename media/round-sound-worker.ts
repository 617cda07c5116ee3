import { isDatabaseOutage } from '../src/db/client.ts';
import { claimQueuedSound } from '../src/queries/round-sounds/round-sound-queue.ts';
import { createLoop } from '../src/runtime/loop.ts';
import { processUpload, type RoundSoundWorkerDeps, type RoundSoundWorkerOptions } from './process-upload.ts';
import { reconcileSounds } from './reconcile.ts';

export type RoundSoundWorker = {
  /** Reconciles disk and rows, then works until stopped. */
  start(): void;
  /** Checks the queue now. */
  wake(): Promise<void>;
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
  const { db, sounds, log } = deps;
  const { idleMs = 15_000, graceMs = 5000, leaseMs = 15_000 } = options;
  let reconciledAt = Number.NEGATIVE_INFINITY;
  const loop = createLoop({ name: 'working off the queue of sounds', everyMs: idleMs, work, log });

  /** Throws only when the database is unreachable: a file that cannot be moved or removed must not stop the queue. */
  async function reconcileIfDue(): Promise<void> {
    if (performance.now() - reconciledAt <= RECONCILE_EVERY_MS) return;
    try {
      await reconcileSounds(db, sounds, log);
    } catch (error) {
      if (isDatabaseOutage(error)) throw error;
      log.error({ err: error }, 'sound files cannot be compared with the database: retrying in an hour');
    }
    reconciledAt = performance.now();
  }

  async function work(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await reconcileIfDue();
      const sound = await claimQueuedSound(db, { leaseMs });
      if (!sound) return;
      await processUpload(deps, { ...options, leaseMs, signal }, sound);
    }
  }

  return {
    start: loop.start,
    wake: loop.wake,
    async stop() {
      const timer = setTimeout(() => void deps.ffmpeg.close(), graceMs);
      await loop.stop();
      clearTimeout(timer);
      await deps.ffmpeg.close();
    },
  };
}
