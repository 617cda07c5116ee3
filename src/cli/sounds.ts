import { basename } from 'node:path';
import type { Command } from 'commander';
import { chooseFfmpeg } from '../../media/ffmpeg/choose.ts';
import { verifySounds } from '../../media/reconcile.ts';
import { createRoundSoundWorker, type RoundSoundWorker } from '../../media/round-sound-worker.ts';
import { openSoundStore, type SoundStore } from '../../media/sound-store.ts';
import { removeSound, storeUpload } from '../../media/uploads.ts';
import type { Db } from '../db/client.ts';
import { InvalidInput, Unavailable } from '../domain/errors.ts';
import { parseStart, RENDER_TIMEOUT_SECONDS } from '../domain/round-sound.ts';
import { pluralForm } from '../domain/text/plural.ts';
import {
  findRoundSoundById,
  listReadySounds,
  listRoundSounds,
  type RoundSound,
} from '../queries/round-sounds/round-sounds.ts';
import type { Context } from './context.ts';
import { openNamedFile } from './named-file.ts';
import { type Columns, describeDay, toTable } from './table.ts';
import { resolveSteamId } from './who.ts';

const MAX_WAIT_MS = 5 * 60_000;
const CHECK_EVERY_MS = 200;

const REASONS: Record<NonNullable<RoundSound['failure']>, string> = {
  'not-audio':
    'it is not audio in a format we can use: MP3, WAV, FLAC, Ogg, AAC, M4A, MP4, Matroska, WebM, AIFF or CAF',
  unreadable: 'the file is damaged, or none of its audio tracks can be used',
  silent: 'there is nothing to hear in the first 75 seconds of any of its audio tracks',
  'start-after-end': 'there is nothing to hear after the start that was asked for',
  'too-complex': 'it takes more processor time or memory than a sound may',
  'timed-out': `a step of processing took longer than ${RENDER_TIMEOUT_SECONDS} seconds, three times: is the machine busy?`,
  unavailable: 'it could not be processed on this machine: see the log',
  lost: 'the file vanished from the disk',
};

/** `sounds add | list | remove | verify`: the same pipeline as an upload on the account page. */
export function addSoundCommands(program: Command, context: Context): void {
  const sounds = program.command('sounds').description('round-end sounds');
  sounds
    .command('add <file>')
    .description('upload a file as the sound of a player, and wait until it is published')
    .requiredOption('--steamid64 <id>', "the player's SteamID, in any notation")
    .option('--start <time>', 'where the cut begins, counted from the first sound: 12.5s', '0s')
    .action(async (path: string, options: { steamid64: string; start: string }) => {
      const steamId64 = await resolveSteamId(context, options.steamid64);
      const start = { startMs: parseStart(options.start), startFrom: 'first_sound' } as const;
      const file = await openNamedFile(path);
      const { db } = await context.database();
      const sounds = await openSoundStore(context.config());
      // Created before the upload is stored, so that a bad FFMPEG_PATH leaves no upload in the queue.
      const worker = await createWorker(db, sounds, context);
      const { id } = await storeUpload(db, sounds, {
        ...{ steamId64, fileName: basename(path), start, bytes: file.stream(), actor: 'operator' },
        maxBytes: context.config().sound.maxUploadBytes,
        audience: context.config().sound.audience,
      });
      worker.start();
      try {
        const sound = await waitUntilDone(db, id);
        context.print(toJson(sound), describe(sound));
      } finally {
        await worker.stop();
      }
    });
  sounds
    .command('list')
    .description('all sounds, newest first')
    .action(async () => {
      const { db } = await context.database();
      const all = await listRoundSounds(db);
      const none = `No sounds yet: ${context.tool()} sounds add --steamid64 ID FILE`;
      context.print(all.map(toJson), toTable(all, COLUMNS, none));
    });
  sounds
    .command('remove <id>')
    .description("delete a player's sound, published or still queued; the id is a SteamID in any notation")
    .action(async (id: string) => {
      const steamId64 = await resolveSteamId(context, id);
      const { db } = await context.database();
      const sounds = await openSoundStore(context.config());
      await removeSound(db, sounds, { steamId64, actor: 'operator' });
      context.print({ removed: steamId64 }, `Removed the sound of ${steamId64}`);
    });
  sounds
    .command('verify')
    .description(
      'compare the files of all published sounds with their hashes, and mark what is lost or altered',
    )
    .action(async () => {
      const { db } = await context.database();
      const store = await openSoundStore(context.config());
      const published = await listReadySounds(db);
      const broken = await verifySounds(db, store, { log: context.log(), sounds: published });
      const lines = broken.map(({ sound, reason }) => `\n${sound.steamId64} "${sound.title}": ${reason}`);
      const count = pluralForm('en', published.length, { one: 'sound', other: 'sounds' });
      context.print(
        {
          verified: published.length,
          broken: broken.map(({ sound: { steamId64, title }, reason }) => ({ steamId64, title, reason })),
        },
        `Verified ${published.length} ${count}, ${broken.length} broken${lines.join('')}`,
      );
      if (broken.length > 0) context.fail();
    });
}

const COLUMNS: Columns<RoundSound> = {
  PLAYER: ({ steamId64 }) => steamId64,
  TITLE: ({ title }) => title,
  STATE: ({ failure, status }) => (failure ? `failed: ${REASONS[failure]}` : status),
  LENGTH: ({ durationMs }) => (durationMs === null ? '' : `${(durationMs / 1000).toFixed(1)} s`),
  LOUDNESS: ({ loudnessAfterLufs: lufs }) => (lufs === null ? '' : `${lufs.toFixed(1)} LUFS`),
  SINCE: ({ readyAt, createdAt }) => describeDay(readyAt ?? createdAt),
};

/** A worker that, once started, processes the queue in this process, in case no service does. */
async function createWorker(db: Db, sounds: SoundStore, context: Context): Promise<RoundSoundWorker> {
  const config = context.config();
  const log = context.log();
  const ffmpeg = await chooseFfmpeg(log, config);
  return createRoundSoundWorker(
    { db, ffmpeg, sounds, log },
    { maxSeconds: config.sound.maxSeconds, targetLufs: config.sound.loudnessLufs },
  );
}

/** @throws {InvalidInput} with the reason when the upload fails; {Unavailable} when it is not finished in time. */
async function waitUntilDone(db: Db, id: number): Promise<RoundSound> {
  const deadlineMs = performance.now() + MAX_WAIT_MS;
  while (performance.now() < deadlineMs) {
    const sound = await findRoundSoundById(db, id);
    if (!sound) throw new Unavailable('The upload was replaced or removed meanwhile');
    if (sound.status === 'ready') return sound;
    if (sound.failure) throw new InvalidInput(`No sound was made: ${REASONS[sound.failure]}`);
    await Bun.sleep(CHECK_EVERY_MS);
  }
  throw new Unavailable('The upload is safe in the queue, but has not been processed yet');
}

function describe(sound: RoundSound): string {
  const seconds = ((sound.durationMs ?? 0) / 1000).toFixed(1);
  const before = (sound.loudnessBeforeLufs ?? 0).toFixed(1);
  const after = (sound.loudnessAfterLufs ?? 0).toFixed(1);
  return `Published "${sound.title}" for ${sound.steamId64}: ${seconds} s, ${before} → ${after} LUFS`;
}

function toJson(sound: RoundSound) {
  const {
    uploadKey: _,
    claimedUntil: __,
    attempts: ___,
    failures: ____,
    voiceAttempts: _____,
    waveform: ______,
    ...shown
  } = sound;
  return shown;
}
