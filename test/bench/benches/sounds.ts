import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import pino from 'pino';
import { chooseFfmpeg } from '../../../media/ffmpeg/choose.ts';
import { createEmbeddedFfmpeg } from '../../../media/ffmpeg/embedded.ts';
import { type Ffmpeg, RENDER_LIMITS } from '../../../media/ffmpeg/ffmpeg.ts';
import { createRoundSoundWorker } from '../../../media/round-sound-worker.ts';
import { openSoundFolders, type SoundFolders } from '../../../media/sound-folders.ts';
import { storeUpload } from '../../../media/uploads.ts';
import { type Database, openDatabase } from '../../../src/db/database.ts';
import { migrateDatabase } from '../../../src/db/migrate.ts';
import { findReadyRoundSound } from '../../../src/queries/round-sounds/round-sounds.ts';
import { anAudio, joinBytes, musicLike, toWav } from '../../support/audio/audio.ts';
import { encode } from '../../support/audio/ffmpeg-engines.ts';
import { aSteamId } from '../../support/database/builders.ts';
import { type Bench, formatMs, formatRatio, measureSideBySide, type Row } from '../bench.ts';
import { startTemporaryPostgres } from '../support/temporary-postgres.ts';

const ROUNDS = 7;
/** During the first two uploads after a start, the embedded ffmpeg's WebAssembly is optimised on a second core. */
const WARM_UP_ROUNDS = 3;
const MAX_SECONDS = 10;
const MAX_RATIO = 2;
const CLOCK_TICKS_PER_SECOND = 100;
const log = pino({ level: 'silent' });

/** Round-end sounds: an upload from the first byte to the published files, against `loudnorm` for one file. */
export const sounds: Bench = {
  name: 'sounds',
  title: 'a 3-minute mp3, from upload to published sound',
  async run({ say }) {
    await using postgres = await startTemporaryPostgres('sounds');
    const { folder } = postgres;
    await migrateDatabase(postgres.url);
    const database = openDatabase(postgres.url, { max: 4 });
    try {
      say('making three minutes of music');
      const track = await makeTrack(folder);
      const native = await chooseFfmpeg(log, { workDirectory: folder });
      const rows: Row[] = [];
      for (const ffmpeg of [native, createEmbeddedFfmpeg()]) {
        say(`measuring ${ffmpeg.description}`);
        rows.push(await measureEngine(ffmpeg, { folder, database, track }));
        await ffmpeg.close();
      }
      return rows;
    } finally {
      await database.close({ timeoutSeconds: 1 });
    }
  },
};

type Setting = { folder: string; database: Database; track: Uint8Array };

async function measureEngine(ffmpeg: Ffmpeg, { folder, database, track }: Setting): Promise<Row> {
  const { db } = database;
  const folders = await openSoundFolders({ dataDir: folder, storageDir: folder });
  const ready = Promise.withResolvers<void>();
  let onPublished = ready.resolve;
  const worker = createRoundSoundWorker(
    { db, ffmpeg, folders, log: { ...silentLog, info: () => onPublished() } },
    { maxSeconds: MAX_SECONDS, targetLufs: -18 },
  );
  worker.start();
  const ours = (): Promise<number> =>
    measureCpuMs(async () => {
      const published = Promise.withResolvers<void>();
      onPublished = published.resolve;
      await storeUpload(db, folders, { upload: anUpload(track), maxBytes: 20_000_000 });
      worker.wake();
      await published.promise;
    });
  for (let round = 0; round < WARM_UP_ROUNDS; round++) await ours();
  await Bun.write(join(folder, TRACK_NAME), track);
  const floor = () => measureCpuMs(() => normalizeOnce(ffmpeg, folder));
  const measured = await measureSideBySide({ ours, floor }, { rounds: ROUNDS });
  await worker.stop();
  await requireReady(database, folders);
  const ratio = measured.ours / measured.floor;
  return {
    what: `processor time from upload to published, both files, ${ffmpeg.description.replace(/ \(.*/, '')} ffmpeg`,
    ours: formatMs(measured.ours),
    floor: `${formatMs(measured.floor)}: two-pass loudnorm of ${MAX_SECONDS} s to one file`,
    ratio: formatRatio(ratio),
    target: `≤ ${MAX_RATIO}×`,
    isReached: ratio <= MAX_RATIO,
    note: 'ours also receives the upload, trims it, and verifies both files; the database is another process',
  };
}

const silentLog = { info: () => undefined, warn: () => undefined, error: () => undefined };

function anUpload(track: Uint8Array) {
  const bytes = new Blob([new Uint8Array(track)]).stream();
  return { steamId64: aSteamId(1), fileName: 'track.mp3', bytes, actor: 'operator' as const };
}

const TRACK_NAME = 'track.mp3';
const TARGET = 'I=-18:TP=-1.5:LRA=11';
/** What the first pass would have measured; the cost of the second does not depend on it. */
const MEASURED = 'measured_I=-14:measured_TP=-1:measured_LRA=3:measured_thresh=-24:linear=true';

/** What ffmpeg-normalize runs for one file: a pass that measures, and one that applies the gain and encodes. */
async function normalizeOnce(ffmpeg: Ffmpeg, directory: string): Promise<void> {
  const input = {
    name: TRACK_NAME,
    options: ['-v', 'error', '-threads', '1', '-t', String(MAX_SECONDS), '-f', 'mp3'],
  };
  const encoding = ['-ar', '44100', '-ac', '2', '-c:a', 'libmp3lame', '-b:a', '192k', '-f', 'mp3'];
  const measuring = ['-af', `loudnorm=${TARGET}:print_format=json`];
  await ffmpeg.run({ directory, input, output: { options: measuring } }, RENDER_LIMITS);
  const options = ['-af', `loudnorm=${TARGET}:${MEASURED}`, ...encoding];
  await ffmpeg.run({ directory, input, output: { name: 'normalized.mp3', options } }, RENDER_LIMITS);
}

async function makeTrack(folder: string): Promise<Uint8Array> {
  const encoder = createEmbeddedFfmpeg();
  const part = await encode(encoder, folder, {
    wav: toWav(anAudio({ seconds: 6, shape: musicLike(0.7) })),
    options: ['-c:a', 'libmp3lame', '-b:a', '192k', '-f', 'mp3'],
    extension: 'mp3',
  });
  await encoder.close();
  return joinBytes(...Array.from({ length: 30 }, () => part));
}

async function requireReady({ db }: Database, folders: SoundFolders): Promise<void> {
  if (!(await findReadyRoundSound(db, aSteamId(1))))
    throw new Error(`nothing was published in ${folders.published}`);
}

async function measureCpuMs(work: () => Promise<void>): Promise<number> {
  const startedMs = await readCpuMs();
  await work();
  return (await readCpuMs()) - startedMs;
}

/** Processor time of this process and of the children it has waited for. */
async function readCpuMs(): Promise<number> {
  const fields = (await readFile('/proc/self/stat', 'utf8')).replace(/^.*\) /, '').split(' ');
  const ticks = fields.slice(11, 15).reduce((sum, field) => sum + Number(field), 0);
  return (ticks * 1000) / CLOCK_TICKS_PER_SECOND;
}
