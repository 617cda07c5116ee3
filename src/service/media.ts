import type { Ffmpeg } from '../../media/ffmpeg/ffmpeg.ts';
import type { RoundSoundWorkerDeps } from '../../media/process-upload.ts';
import { createRoundSoundWorker } from '../../media/round-sound-worker.ts';
import type { Context } from './context.ts';

/** Bounds of the histogram: ffmpeg is stopped after 30 seconds. */
const RENDER_SECONDS = [0.25, 0.5, 1, 2, 5, 10, 30, 60];
/** How long a running upload may take once the service stops; otherwise the next start processes it again. */
const SOUND_GRACE_MS = 1500;

/** Role `media`: renders uploads. Processes with the roles `api` and `media` share `DATA_DIR` and `STORAGE_DIR`. */
export function startMedia(context: Context, ffmpeg: Ffmpeg): void {
  const { config, log, database, changes, soundFolders, metrics, onStopPart, health } = context;
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
    { db: database.db, ffmpeg, folders: soundFolders, log, onSettled },
    { maxSeconds: config.sound.maxSeconds, targetLufs: config.sound.loudnessLufs, graceMs: SOUND_GRACE_MS },
  );
  changes.onChange('round_sounds', worker.wake);
  // Anybody may read /readyz: the path of the program is only logged.
  health.set('ffmpeg', () => ffmpeg.description.replace(/ \(.*\)$/, ''));
  onStopPart('sounds', worker.stop);
  worker.start();
}
