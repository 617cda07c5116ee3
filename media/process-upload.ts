import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { type Db, inTransaction } from '../src/db/client.ts';
import type { RoundSoundFailure } from '../src/domain/round-sound.ts';
import {
  lockClaim,
  MAX_CLAIM_MS,
  saveClaimedSound,
  saveSoundReady,
} from '../src/queries/round-sounds/round-sound-queue.ts';
import { findRoundSoundById, lockPlayer, type RoundSound } from '../src/queries/round-sounds/round-sounds.ts';
import { backoffMs } from '../src/runtime/backoff.ts';
import { isDiskTrouble, isNotFound } from './disk-trouble.ts';
import { type Ffmpeg, FfmpegError, type Log } from './ffmpeg/ffmpeg.ts';
import { renderSound, SOUND_NAME } from './rendering/render.ts';
import { SoundRefused } from './rendering/run-ffmpeg.ts';
import { renderVoice, VOICE_NAME } from './rendering/voice.ts';
import type { SoundStore } from './sound-store.ts';
import { isRendered } from './uploads.ts';

export type RoundSoundWorkerDeps = {
  db: Db;
  ffmpeg: Ffmpeg;
  sounds: SoundStore;
  log: Log;
  /** Called for every upload that this worker finished, with the duration of the last attempt. */
  onSettled?: (outcome: 'published' | RoundSoundFailure, durationMs: number) => void;
};

export type RoundSoundWorkerOptions = {
  maxSeconds: number;
  targetLufs: number;
  /** How long a claim lasts without renewal; 15 s by default. */
  leaseMs?: number;
  /** How often the queue is checked without a NOTIFY; 15 s by default. */
  idleMs?: number;
  /** The first of the pauses after a failure of the service, each four times the last, up to an hour; 5 s by default. */
  retryMs?: number;
  /** How long `stop` waits for the current sound before it is returned to the queue; 5 s by default. */
  graceMs?: number;
};

/** After this many failures of the service, the upload fails for good. */
const MAX_FAILURES = 5;
/** The same if ffmpeg ran out of time: on a machine that is busy now, or on a file that always takes that long. */
const MAX_TIMEOUTS = 3;
/** Includes attempts that were cut short because the process died. Beyond this many, the sound is assumed to cause that. */
const MAX_ATTEMPTS = 20;
const UPLOAD_FAILED = 'an upload could not be processed';
const CLAIM_LOST = 'lost the claim on a sound: another worker has it';

/** The claim was lost during the work: the row was claimed by another worker, replaced or removed. */
class Superseded extends Error {
  override name = 'Superseded';
}

/** `signal` aborts when the worker stops. */
type WorkContext = RoundSoundWorkerOptions & { leaseMs: number; signal: AbortSignal };

/** Finishes a claimed upload, or returns it to the queue. Throws only when the database is unreachable. */
export async function processUpload(
  deps: RoundSoundWorkerDeps,
  context: WorkContext,
  sound: RoundSound,
): Promise<void> {
  const { db, sounds, log } = deps;
  const renewal = setInterval(() => {
    saveClaimedSound(db, sound, { claimMs: context.leaseMs }).catch(() => undefined);
  }, context.leaseMs / 3);
  const startedMs = performance.now();
  try {
    // True when an earlier worker died between saving the results and publishing them.
    if (!isRendered(sound)) {
      if (sound.attempts > MAX_ATTEMPTS) throw new SoundRefused('unavailable');
      await renderInScratchFolder(deps, context, sound);
    }
    await publish(deps, sound);
    await sounds.uploads.remove(sound.uploadKey);
    const durationMs = Math.round(performance.now() - startedMs);
    log.info({ steamId64: sound.steamId64, sound: sound.id, durationMs }, 'a round-end sound is published');
    deps.onSettled?.('published', durationMs);
  } catch (error) {
    const failure = await settleFailure(deps, context, { sound, error });
    if (failure) deps.onSettled?.(failure, Math.round(performance.now() - startedMs));
  } finally {
    clearInterval(renewal);
  }
}

async function renderInScratchFolder(
  deps: RoundSoundWorkerDeps,
  context: WorkContext,
  sound: RoundSound,
): Promise<void> {
  const scratch = await deps.sounds.uploads.openScratch(sound.uploadKey, sound.attempts);
  try {
    await render(deps, context, { sound, scratch });
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
}

/** Renders both files into the store. */
async function render(
  { db, sounds, ffmpeg }: RoundSoundWorkerDeps,
  { maxSeconds, targetLufs, leaseMs }: WorkContext,
  { sound, scratch }: { sound: RoundSound; scratch: string },
): Promise<void> {
  const rendered = await renderSound(ffmpeg, scratch, {
    maxSeconds,
    targetLufs,
    start: sound,
    onRendering: async () => {
      const isOurs = await saveClaimedSound(db, sound, { status: 'rendering', claimMs: leaseMs });
      if (!isOurs) throw new Superseded();
    },
  });
  const { durationMs, loudnessAfterLufs: soundLufs } = rendered;
  await renderVoice(ffmpeg, scratch, { durationMs, soundLufs, targetLufs });
  await inTransaction(db, async (tx) => {
    if (!(await lockClaim(tx, sound))) throw new Superseded();
    const { sha256, sizeBytes } = await sounds.stage(sound.id, 'stereo', join(scratch, SOUND_NAME));
    const voice = await sounds.stage(sound.id, 'voice', join(scratch, VOICE_NAME));
    const voiceFile = { voiceSha256: voice.sha256, voiceSizeBytes: voice.sizeBytes };
    await saveClaimedSound(tx, sound, { ...rendered, sha256, sizeBytes, ...voiceFile });
  });
}

async function publish({ db, sounds }: RoundSoundWorkerDeps, sound: RoundSound): Promise<void> {
  await inTransaction(db, async (tx) => {
    await lockPlayer(tx, sound.steamId64);
    if (!(await lockClaim(tx, sound))) throw new Superseded();
    await sounds.publish(sound);
    await saveSoundReady(tx, sound);
  });
}

/** @returns why the upload failed; undefined when it will be tried again, or was replaced or removed. */
async function settleFailure(
  deps: RoundSoundWorkerDeps,
  context: WorkContext,
  { sound, error }: { sound: RoundSound; error: unknown },
): Promise<RoundSoundFailure | undefined> {
  const { db, sounds, log } = deps;
  const fields = { steamId64: sound.steamId64, sound: sound.id };
  const fieldsWithError = { ...fields, err: error };
  if (context.signal.aborted && !(error instanceof SoundRefused && error.cause === undefined)) {
    // The worker was stopped: this attempt does not count.
    await saveClaimedSound(db, sound, { status: 'queued', claimMs: null, attempts: sound.attempts - 1 });
    return undefined;
  }
  if (!(await findRoundSoundById(db, sound.id))) {
    await sounds.removeStaged(sound.id);
    await sounds.uploads.remove(sound.uploadKey);
    log.info(fieldsWithError, 'a sound was replaced or removed while it was rendered');
    return undefined;
  }
  if (error instanceof Superseded) {
    log.warn(fieldsWithError, CLAIM_LOST);
    return undefined;
  }
  const failure = await findFailure(error, () => sounds.uploads.has(sound.uploadKey));
  const failures = sound.failures + 1;
  const hasTimedOut = error instanceof FfmpegError && error.failure === 'timed-out';
  if (failure === undefined && failures < (hasTimedOut ? MAX_TIMEOUTS : MAX_FAILURES)) {
    const delayMs = backoffMs(failures, {
      firstMs: context.retryMs ?? 5000,
      maxMs: MAX_CLAIM_MS,
      factor: 4,
    });
    log.warn({ ...fieldsWithError, delayMs }, 'a sound cannot be rendered now: retrying later');
    await saveClaimedSound(db, sound, { status: 'queued', claimMs: delayMs, failures });
    return undefined;
  }
  const reason = failure ?? (hasTimedOut ? 'timed-out' : 'unavailable');
  if (!(await saveClaimedSound(db, sound, { status: 'failed', failure: reason, claimMs: null }))) {
    // The files now belong to the other worker.
    log.warn(fieldsWithError, CLAIM_LOST);
    return undefined;
  }
  if (error instanceof SoundRefused && reason !== 'unavailable') {
    // A bad upload is not a failure of the service: the end of ffmpeg's output is enough for the log.
    const detail = error.cause instanceof Error ? error.cause.message : undefined;
    log.info({ ...fields, reason, detail }, UPLOAD_FAILED);
  } else log.warn({ ...fieldsWithError, reason }, UPLOAD_FAILED);
  await sounds.removeStaged(sound.id);
  await sounds.uploads.remove(sound.uploadKey);
  return reason;
}

/** The reason for the player; undefined for a failure of the service that may be temporary. */
async function findFailure(
  error: unknown,
  hasUpload: () => Promise<boolean>,
): Promise<RoundSoundFailure | undefined> {
  if (error instanceof SoundRefused) return error.reason;
  if (error instanceof FfmpegError || isDiskTrouble(error)) return undefined;
  if (isNotFound(error) && !(await hasUpload())) return 'lost';
  return undefined;
}
