import { join } from 'node:path';
import { processUpload } from '../../../media/process-upload.ts';
import { openSoundStore } from '../../../media/sound-store.ts';
import { storeUpload } from '../../../media/uploads.ts';
import { openDatabase } from '../../../src/db/database.ts';
import { migrateDatabase } from '../../../src/db/migrate.ts';
import { claimQueuedSound } from '../../../src/queries/round-sounds/round-sound-queue.ts';
import { anAudio, musicLike, noise, sequence, speechLike, toWav } from '../../support/audio/audio.ts';
import { decodeMp3 } from '../../support/audio/decode-mp3.ts';
import { openEngine, SILENT_LOG } from '../../support/audio/ffmpeg-engines.ts';
import { judgeLoudness } from '../../support/audio/loudness-meter.ts';
import { aSteamId } from '../../support/database/builders.ts';
import { readProcessorMs } from '../../support/machine/processes.ts';
import { alternate, type Bench, compare, limitFigure, median, requireTool } from '../bench.ts';
import { startTemporaryPostgres } from '../support/temporary-postgres.ts';

const ROUNDS = 3;
const MAX_SECONDS = 10;
const TARGET_LUFS = -18;
const PLAYER = aSteamId(1);

/** Sounds whose loudness can be reached without limiting their peaks. */
const CLIPS = {
  speech: anAudio({ seconds: 8, shape: speechLike(0.4) }),
  'quiet speech': anAudio({ seconds: 4, shape: speechLike(0.03) }),
  music: anAudio({ seconds: 20, shape: musicLike(0.7) }),
  'short music': anAudio({ seconds: 1.2, shape: musicLike(0.2) }),
  noise: anAudio({ seconds: 5, shape: noise(0.02) }),
  'quiet, then loud': sequence(
    anAudio({ seconds: 4, shape: musicLike(0.02) }),
    anAudio({ seconds: 4, shape: musicLike(0.4) }),
  ),
};

/** Round-end sounds: from an upload to both published files, against the two passes of ffmpeg-normalize for one file. */
export const sounds: Bench = {
  name: 'sounds',
  title: 'from an upload to both published files, compared with two passes of loudnorm for one file',
  run: async ({ say }) => {
    requireTool('ffmpeg');
    await using postgres = await startTemporaryPostgres('sounds');
    await migrateDatabase(postgres.url);
    await using pipeline = await openPipeline(postgres.url, postgres.folder);
    const clips: { ours: Rendering[]; floor: Rendering[] }[] = [];
    for (const [name, audio] of Object.entries(CLIPS)) {
      say(name);
      const wav = toWav(audio, 's16');
      const ours = () => measureRendering(() => pipeline.publish(wav));
      const floor = () => measureRendering(() => normalize(postgres.folder, wav));
      clips.push(await alternate(ROUNDS, { ours, floor }));
    }
    const sumOf = (side: 'ours' | 'floor') =>
      clips.reduce((sum, clip) => sum + median(clip[side].map(({ processorMs }) => processorMs)), 0);
    const worstOf = (side: 'ours' | 'floor') =>
      Math.max(...clips.flatMap((clip) => clip[side]).map(({ errorLu }) => errorLu));
    const format = (lu: number) => `${lu.toFixed(2)} LU`;
    const name = 'two passes of loudnorm';
    return [
      compare(
        `processor time of ${clips.length} uploads`,
        { ours: sumOf('ours'), floor: sumOf('floor') },
        { name, atMost: 2 },
      ),
      limitFigure('worst error of the loudness', worstOf('ours'), {
        atMost: 0.3,
        floor: `${name}: ${format(worstOf('floor'))}`,
        format,
      }),
    ];
  },
};

/** `errorLu` is how far the loudness of the file is from the target. */
type Rendering = { processorMs: number; errorLu: number };

/** What the service's worker does with an upload, by the ffmpeg that is installed. */
async function openPipeline(url: string, folder: string) {
  const { db, close } = openDatabase(url, { max: 4 });
  const sounds = await openSoundStore({ dataDir: folder, storageDir: folder });
  const ffmpeg = await openEngine('native');
  const { signal } = new AbortController();
  const options = { maxSeconds: MAX_SECONDS, targetLufs: TARGET_LUFS, leaseMs: 60_000, signal };
  return {
    publish: async (wav: Uint8Array) => {
      const bytes = new Blob([new Uint8Array(wav)]).stream();
      const upload = { steamId64: PLAYER, fileName: 'clip.wav', bytes, actor: 'operator' as const };
      await storeUpload(db, sounds, { ...upload, maxBytes: 20_000_000 });
      const sound = await claimQueuedSound(db, options);
      if (!sound) throw new Error('the upload is not in the queue');
      await processUpload({ db, ffmpeg, sounds, log: SILENT_LOG }, options, sound);
      return join(folder, 'roundsound', `${PLAYER}.mp3`);
    },
    [Symbol.asyncDispose]: async () => {
      await ffmpeg.close();
      await close({ timeoutSeconds: 1 });
    },
  };
}

/** As ffmpeg-normalize does it: measured once, then scaled by what was measured. */
async function normalize(folder: string, wav: Uint8Array): Promise<string> {
  const [source, output] = [join(folder, 'normalize.wav'), join(folder, 'normalized.mp3')];
  await Bun.write(source, wav);
  const target = `loudnorm=I=${TARGET_LUFS}:TP=-1:LRA=7`;
  const input = ['-hide_banner', '-nostdin', '-y', '-t', String(MAX_SECONDS), '-i', source];
  const told = await runFfmpeg([...input, '-af', `${target}:print_format=json`, '-f', 'null', '-']);
  const measured = JSON.parse(told.slice(told.lastIndexOf('{'), told.lastIndexOf('}') + 1));
  const { input_i, input_tp, input_lra, input_thresh, target_offset } = measured;
  const second = `measured_I=${input_i}:measured_TP=${input_tp}:measured_LRA=${input_lra}:measured_thresh=${input_thresh}:offset=${target_offset}:linear=true`;
  const mp3 = ['-ar', '44100', '-ac', '2', '-c:a', 'libmp3lame', '-b:a', '192k'];
  await runFfmpeg([...input, '-af', `${target}:${second}`, ...mp3, output]);
  return output;
}

/** @returns what it printed. */
async function runFfmpeg(parameters: readonly string[]): Promise<string> {
  const child = Bun.spawn(['ffmpeg', ...parameters], { stdout: 'ignore', stderr: 'pipe' });
  const text = await child.stderr.text();
  if ((await child.exited) !== 0) throw new Error(text.slice(-500));
  return text;
}

async function measureRendering(render: () => Promise<string>): Promise<Rendering> {
  const before = await readProcessorMs(process.pid);
  const path = await render();
  const processorMs = (await readProcessorMs(process.pid)) - before;
  const { integratedLufs } = judgeLoudness(await decodeMp3('', path));
  return { processorMs, errorLu: Math.abs(integratedLufs - TARGET_LUFS) };
}
