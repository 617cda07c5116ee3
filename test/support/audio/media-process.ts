import { rename } from 'node:fs/promises';
import type { FfmpegJob } from '../../../media/ffmpeg/ffmpeg.ts';
import { createRoundSoundWorker } from '../../../media/round-sound-worker.ts';
import { openSoundStore } from '../../../media/sound-store.ts';
import { storeUpload } from '../../../media/uploads.ts';
import { openDatabase } from '../../../src/db/database.ts';
import { parseSteamId } from '../../../src/domain/steam-id.ts';
import { openEngine, SILENT_LOG, USUAL_ENGINE } from './ffmpeg-engines.ts';

/**
 * A process that works the queue, or uploads, and kills itself with SIGKILL at the point it is told:
 * `call N`: before ffmpeg's Nth call; `before-move`, `between-moves`, `after-move`: around the swap of the two published
 * files;
 * `before-row`: with the upload on the disk and no row; `never`.
 */
const [url = '', root = '', task = '', point = '', file = '', steamId = ''] = process.argv.slice(2);

const die = (): boolean => process.kill(process.pid, 'SIGKILL');
const database = openDatabase(url, { max: 4 });
let moves = 0;
const sounds = await openSoundStore(
  { dataDir: `${root}/data`, storageDir: `${root}/storage` },
  {
    move: async (from, to) => {
      moves++;
      if (point === 'before-move') die();
      await rename(from, to);
      if (point === (moves === 1 ? 'between-moves' : 'after-move')) die();
    },
  },
);

if (task === 'upload') {
  const db = new Proxy(database.db, {
    get(target, name) {
      if (name === 'transaction' && point === 'before-row') die();
      const value: unknown = Reflect.get(target, name);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
  const upload = {
    steamId64: parseSteamId(steamId),
    fileName: 'killed.wav',
    bytes: Bun.file(file).stream(),
    actor: 'operator' as const,
  };
  await storeUpload(db, sounds, { ...upload, maxBytes: 10_000_000 });
  if (point === 'after-row') die();
} else {
  const engine = await openEngine(USUAL_ENGINE);
  let calls = 0;
  const ffmpeg = {
    ...engine,
    run: async (job: FfmpegJob, limits: Parameters<typeof engine.run>[1]) => {
      calls++;
      const running = engine.run(job, limits);
      if (point === `call ${calls}`) {
        // While ffmpeg runs, not before it.
        await Bun.sleep(30);
        die();
      }
      await running;
    },
  };
  createRoundSoundWorker(
    { db: database.db, ffmpeg, sounds, log: SILENT_LOG },
    { maxSeconds: 10, targetLufs: -18, leaseMs: 1000, idleMs: 50 },
  ).start();
}
if (task === 'upload') process.exit(0);
