import { isDatabaseOutage } from '../src/db/client.ts';
import { claimQueuedSound } from '../src/queries/round-sounds/round-sound-queue.ts';
import { listReadySounds, type ReadyRoundSound } from '../src/queries/round-sounds/round-sounds.ts';
import { createLoop } from '../src/runtime/loop.ts';
import { processUpload, type RoundSoundWorkerDeps, type RoundSoundWorkerOptions } from './process-upload.ts';
import { reconcileSounds, verifySounds } from './reconcile.ts';

export type RoundSoundWorker = {
  /** Reconciles disk and rows, then works until stopped. */
  start(): void;
  /** Checks the queue now. */
  wake(): Promise<void>;
  /** Stops after the current sound is finished or returned to the queue. */
  stop(): Promise<void>;
};

const RECONCILE_EVERY_MS = 60 * 60_000;
const VERIFY_EVERY_MS = 60_000;
/** Sounds that are verified at once: a few, or as many as it takes to verify all of them in a week. */
const MIN_VERIFIED = 3;
const MINUTES_A_WEEK = 7 * 24 * 60;

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
  let verifiedAt = Number.NEGATIVE_INFINITY;
  let unverified: ReadyRoundSound[] = [];
  let verifiedAtOnce = MIN_VERIFIED;
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

  /** Compares some published files with their hashes; throws as {@link reconcileIfDue}. */
  async function verifySome(): Promise<void> {
    if (performance.now() - verifiedAt <= VERIFY_EVERY_MS) return;
    try {
      if (unverified.length === 0) {
        // In random order: each start of the process begins anew.
        const weights = new Map((await listReadySounds(db)).map((sound) => [sound, Math.random()]));
        unverified = [...weights].sort(([, one], [, other]) => one - other).map(([sound]) => sound);
        verifiedAtOnce = Math.max(MIN_VERIFIED, Math.ceil(unverified.length / MINUTES_A_WEEK));
      }
      await verifySounds(db, sounds, { log, sounds: unverified.splice(0, verifiedAtOnce) });
    } catch (error) {
      if (isDatabaseOutage(error)) throw error;
      log.error({ err: error }, 'published sounds cannot be compared with their hashes');
    }
    verifiedAt = performance.now();
  }

  async function work(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await reconcileIfDue();
      await verifySome();
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
