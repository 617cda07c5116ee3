import { rename } from 'node:fs/promises';
import type { Ffmpeg } from '../../../media/ffmpeg/ffmpeg.ts';
import { processUpload } from '../../../media/process-upload.ts';
import type { SoundFolders } from '../../../media/sound-folders.ts';
import type { Db } from '../../../src/db/client.ts';
import { claimQueuedSound } from '../../../src/queries/round-sounds/round-sound-queue.ts';
import { QUEUE_LOG } from '../audio/sound-queue.ts';
import type { Interrupter } from './interruptible.ts';
import type { Claim, Outcome } from './model.ts';

/** Claims end when a history says so, not while it runs. */
const LEASE_MS = 30 * 60_000;

/** What an attempt has done so far. The outcome is `killed` until it says otherwise. Without a claim there was none. */
export type Progress = { claim?: Claim; outcome: Outcome };

/** One step of a worker: it claims an upload, if there is one, and renders it. */
export async function attemptUpload(
  { db, ffmpeg, folders }: { db: Db; ffmpeg: Ffmpeg; folders: SoundFolders },
  interrupter: Interrupter,
  onProgress: (progress: Progress) => void,
): Promise<void> {
  const watched = interrupter.watch(db);
  const sound = await claimQueuedSound(watched, { leaseMs: LEASE_MS });
  if (!sound) return;
  const { title, attempts } = sound;
  const tell = (outcome: Outcome) => onProgress({ claim: { title, attempts }, outcome });
  tell('killed');
  const watchedFfmpeg: Ffmpeg = {
    ...ffmpeg,
    run: async (job, limits) => {
      await interrupter.pass('call');
      await ffmpeg.run(job, limits);
    },
  };
  let outcome: Outcome = 'gone';
  const moveFile = async (from: string, to: string): Promise<void> => {
    await interrupter.pass('move');
    await rename(from, to);
    tell('killed after a move');
  };
  const onSettled = (settled: string) => {
    outcome = settled as Outcome;
  };
  await processUpload(
    { db: watched, ffmpeg: watchedFfmpeg, folders, log: QUEUE_LOG, moveFile, onSettled },
    { maxSeconds: 10, targetLufs: -18, leaseMs: LEASE_MS, isStopping: () => false },
    sound,
  );
  tell(outcome);
}
