import type { Logger } from 'pino';
import type { Ffmpeg } from '../../media/ffmpeg/ffmpeg.ts';
import type { RoundSoundWorkerDeps } from '../../media/process-upload.ts';
import { createRoundSoundWorker } from '../../media/round-sound-worker.ts';
import type { SoundStore } from '../../media/sound-store.ts';
import type { Db } from '../db/client.ts';
import { findOrSaveSetting, STORAGE_ID_SETTING } from '../queries/settings.ts';
import type { Context } from './context.ts';

/** Bounds of the histogram: ffmpeg is stopped after 30 seconds. */
const RENDER_SECONDS = [0.25, 0.5, 1, 2, 5, 10, 30, 60];
/** How long a running upload may take once the service stops; otherwise the next start processes it again. */
const SOUND_GRACE_MS = 1500;

/** Role `media`: renders uploads. Processes with the roles `api` and `media` share `DATA_DIR` and `STORAGE_DIR`. */
export function startMedia(context: Context, ffmpeg: Ffmpeg): void {
  const { config, log, database, changes, sounds, metrics, onStopPart, health } = context;
  const countOutcome = metrics.addCounter(
    'sounds_settled_total',
    'Uploads that were published or have failed.',
    ['outcome'],
  );
  const noteSeconds = metrics.addHistogram(
    'sound_render_seconds',
    'Time to process a published upload, without its wait in the queue.',
    RENDER_SECONDS,
  );
  const onSettled: RoundSoundWorkerDeps['onSettled'] = (outcome, durationMs) => {
    countOutcome({ outcome });
    if (outcome === 'published') noteSeconds(durationMs / 1000);
  };
  const worker = createRoundSoundWorker(
    { db: database.db, ffmpeg, sounds, log, onSettled },
    { maxSeconds: config.sound.maxSeconds, targetLufs: config.sound.loudnessLufs, graceMs: SOUND_GRACE_MS },
  );
  changes.onChange('round_sounds', worker.wake);
  // Anybody may read /readyz: the path of the program is only logged.
  health.set('ffmpeg', () => ffmpeg.description.replace(/ \(.*\)$/, ''));
  onStopPart('sounds', worker.stop);
  void sounds.backups.removeLinks().catch((error: unknown) => {
    log.warn({ err: error }, 'files of a backup that was killed cannot be removed');
  });
  worker.start();
}

/**
 * Logs an error when `STORAGE_DIR` is not the folder of the other processes on this database: each would serve only the
 * sounds that it rendered itself. A file in the folder holds its id, and the database the id of the first folder used.
 */
export async function checkStorageIdentity(db: Db, sounds: SoundStore, log: Logger): Promise<void> {
  const storage = await sounds.identify().catch((error: unknown) => {
    // Sounds can still be served from a full or read-only disk.
    log.warn({ err: error }, 'cannot tell whether STORAGE_DIR is shared: the id in it cannot be read');
    return undefined;
  });
  if (storage === undefined) return;
  const expectedId = await findOrSaveSetting(db, STORAGE_ID_SETTING, storage.id);
  if (storage.id === expectedId) return;
  log.error(
    { file: storage.file, found: storage.id, expected: expectedId },
    'STORAGE_DIR is not the folder that other processes on this database use: their sounds are missing here. ' +
      'Give all processes the same folder; if this is it, write the expected id into the file',
  );
}
