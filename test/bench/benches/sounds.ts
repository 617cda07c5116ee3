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
import { type Bench, formatMs, formatRatio, measureSideBySide, median, type Row } from '../bench.ts';
import { startTemporaryPostgres } from '../support/temporary-postgres.ts';

const ROUNDS = 7;
/** During the first two uploads after a start, the embedded ffmpeg's WebAssembly is optimised on a second core. */
const WARM_UP_ROUNDS = 3;
const MAX_SECONDS = 10;
const MAX_RATIO = 2;
const MAX_CORES = 1.05;
const CLOCK_TICKS_PER_SECOND = 100;
const log = pino({ level: 'silent' });

/** Round-end sounds: an upload from the first byte to the published file, against ffmpeg alone. */
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
        rows.push(...(await measureEngine(ffmpeg, { folder, database, track })));
        await ffmpeg.close();
      }
      return rows;
    } finally {
      await database.close({ timeoutSeconds: 1 });
    }
  },
};

type Setting = { folder: string; database: Database; track: Uint8Array };

/** What the sound is compared with: the same engine, doing nothing else. */
const FLOORS = {
  one: `only decoding ${MAX_SECONDS} s and encoding one file`,
  both: `only decoding ${MAX_SECONDS} s and encoding both files, in two calls`,
  atOnce: `only decoding ${MAX_SECONDS} s and encoding both files, in one call`,
};

async function measureEngine(ffmpeg: Ffmpeg, { folder, database, track }: Setting): Promise<Row[]> {
  const { db } = database;
  const folders = await openSoundFolders({ dataDir: folder, storageDir: folder });
  const ready = Promise.withResolvers<void>();
  let onPublished = ready.resolve;
  const worker = createRoundSoundWorker(
    { db, ffmpeg, folders, log: { ...silentLog, info: () => onPublished() } },
    { maxSeconds: MAX_SECONDS, targetLufs: -18 },
  );
  worker.start();
  let cpuMs = 0;
  let wallMs = 0;
  const ours = async (): Promise<number> => {
    const published = Promise.withResolvers<void>();
    onPublished = published.resolve;
    const [startedAt, startedCpuMs] = [performance.now(), await readCpuMs()];
    await storeUpload(db, folders, { upload: anUpload(track), maxBytes: 20_000_000 });
    worker.wake();
    await published.promise;
    const tookMs = performance.now() - startedAt;
    cpuMs += (await readCpuMs()) - startedCpuMs;
    wallMs += tookMs;
    return tookMs;
  };
  for (let round = 0; round < WARM_UP_ROUNDS; round++) await ours();
  [cpuMs, wallMs] = [0, 0];
  const bothMs: number[] = [];
  const atOnceMs: number[] = [];
  const measured = await measureSideBySide(
    {
      ours,
      floor: async () => {
        bothMs.push(await encodeAlone(ffmpeg, { folder, track, withVoice: true }));
        atOnceMs.push(await encodeAtOnce(ffmpeg, { folder, track }));
        return encodeAlone(ffmpeg, { folder, track, withVoice: false });
      },
    },
    { rounds: ROUNDS },
  );
  await worker.stop();
  await requireReady(database, folders);
  const cores = cpuMs / wallMs;
  const rowAgainst = (floor: keyof typeof FLOORS, floorMs: number) => ({
    ours: formatMs(measured.ours),
    floor: `${formatMs(floorMs)}: ${FLOORS[floor]}`,
    ratio: `${formatRatio(measured.ours / floorMs)}, ${cores.toFixed(2)} cores`,
  });
  const bothMedianMs = median(bothMs);
  const engine = ffmpeg.description.replace(/ \(.*/, '');
  const isEmbedded = engine.startsWith('embedded');
  return [
    {
      what: `upload to published, both files, ${engine} ffmpeg`,
      ...rowAgainst('both', bothMedianMs),
      target: `≤ ${MAX_RATIO}×, ≤ ${MAX_CORES} cores`,
      isReached: measured.ours <= MAX_RATIO * bothMedianMs && cores <= MAX_CORES,
      note: `ours also measures the upload, decodes and measures both results, and includes about 40 ms of commits and syncs to the disk${isEmbedded ? '; the first two uploads after a start take longer and 1.5 cores, since WebAssembly is optimised meanwhile' : ''}`,
    },
    {
      what: `the same, against one call for all, ${engine} ffmpeg`,
      ...rowAgainst('atOnce', median(atOnceMs)),
      target: 'for information',
      isReached: true,
    },
    {
      what: `the same, against encoding one of the two, ${engine} ffmpeg`,
      ...rowAgainst('one', measured.floor),
      target: 'for information',
      isReached: true,
    },
  ];
}

const silentLog = { info: () => undefined, warn: () => undefined, error: () => undefined };

function anUpload(track: Uint8Array) {
  const bytes = new Blob([new Uint8Array(track)]).stream();
  return { steamId64: aSteamId(1), fileName: 'track.mp3', bytes, actor: 'operator' as const };
}

/** The options of the published files. */
const STEREO = ['-ar', '44100', '-ac', '2', '-c:a', 'libmp3lame', '-b:a', '192k', '-f', 'mp3'];
const VOICE_NAME = 'alone-voice.mp3';
const VOICE = ['-ar', '48000', '-ac', '1', '-c:a', 'libmp3lame', '-b:a', '96k', '-f', 'mp3'];

const DECODING = ['-v', 'error', '-threads', '1', '-t', String(MAX_SECONDS), '-f', 'mp3'];

/** A floor: the same engine decodes the kept part, encodes the files of it in a second call, and does nothing else. */
async function encodeAlone(
  ffmpeg: Ffmpeg,
  { folder, track, withVoice }: { folder: string; track: Uint8Array; withVoice: boolean },
): Promise<number> {
  await Bun.write(join(folder, 'alone.mp3'), track);
  const pcm = ['-f', 'f32le', '-ar', '44100', '-ac', '2'];
  const startedAt = performance.now();
  await ffmpeg.run(
    {
      directory: folder,
      input: { name: 'alone.mp3', options: DECODING },
      output: { name: 'alone.f32', options: pcm },
    },
    RENDER_LIMITS,
  );
  await ffmpeg.run(
    {
      directory: folder,
      input: { name: 'alone.f32', options: ['-v', 'error', ...pcm] },
      output: { name: 'alone-out.mp3', options: withVoice ? [...VOICE, VOICE_NAME, ...STEREO] : STEREO },
      sideOutputs: withVoice ? [VOICE_NAME] : [],
    },
    RENDER_LIMITS,
  );
  return performance.now() - startedAt;
}

/** The least that both files can take: no gain can be computed, as the upload is never seen as a whole. */
async function encodeAtOnce(
  ffmpeg: Ffmpeg,
  { folder, track }: { folder: string; track: Uint8Array },
): Promise<number> {
  await Bun.write(join(folder, 'alone.mp3'), track);
  const startedAt = performance.now();
  await ffmpeg.run(
    {
      directory: folder,
      input: { name: 'alone.mp3', options: DECODING },
      output: { name: 'alone-out.mp3', options: [...VOICE, VOICE_NAME, ...STEREO] },
      sideOutputs: [VOICE_NAME],
    },
    RENDER_LIMITS,
  );
  return performance.now() - startedAt;
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

/** Processor time of this process and of the children it has waited for. */
async function readCpuMs(): Promise<number> {
  const fields = (await readFile('/proc/self/stat', 'utf8')).replace(/^.*\) /, '').split(' ');
  const ticks = fields.slice(11, 15).reduce((sum, field) => sum + Number(field), 0);
  return (ticks * 1000) / CLOCK_TICKS_PER_SECOND;
}
