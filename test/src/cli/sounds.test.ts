import { afterAll, beforeEach, expect, setDefaultTimeout, test } from 'bun:test';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { roundSounds } from '../../../src/db/schema/round-sounds.ts';
import { listRoundSounds } from '../../../src/queries/round-sounds/round-sounds.ts';
import { anAudio, silence, sine, toWav } from '../../support/audio/audio.ts';
import { aSteamId } from '../../support/database/builders.ts';
import { createTestDatabase } from '../../support/database/database.ts';
import { type Ended, runCli } from '../../support/service/cli.ts';
import { createTestFolder } from '../../support/service/program.ts';

setDefaultTimeout(240_000);

const { db, url } = await createTestDatabase();
const folder = createTestFolder();
const PLAYER = aSteamId(1);
await Bun.write(
  join(folder.path, 'fanfare.wav'),
  toWav(anAudio({ seconds: 2, shape: sine(440, 0.05) }), 's16'),
);
await Bun.write(join(folder.path, 'silence.wav'), toWav(silence(1), 's16'));
afterAll(folder.remove);
beforeEach(async () => {
  await db.delete(roundSounds);
  await rm(join(folder.path, 'storage'), { recursive: true, force: true });
});

const PUBLISHED = join(folder.path, 'storage/roundsound', `${PLAYER}.mp3`);

test('sounds add publishes a file and tells what came of it; list and remove follow', async () => {
  const added = await run('sounds', 'add', '--steamid64', PLAYER, join(folder.path, 'fanfare.wav'));
  expect(added).toMatchObject({ code: 0, stderr: '' });
  expect(added.stdout).toMatch(
    new RegExp(`^Published "fanfare.wav" for ${PLAYER}: 2.0 s, -2\\d.\\d → -1(8.[0-3]|7.[7-9]) LUFS$`, 'm'),
  );
  expect(await Bun.file(PUBLISHED).exists()).toBe(true);

  const listed = await run('sounds', 'list', '--json');
  expect(JSON.parse(listed.stdout)).toMatchObject([
    { steamId64: PLAYER, title: 'fanfare.wav', status: 'ready', durationMs: 2000 },
  ]);
  // What only the queue needs is not part of it.
  expect(listed.stdout).not.toMatch(/"(attempts|claimedUntil|failures|uploadKey|voiceAttempts|waveform)"/);
  expect((await run('sounds', 'list')).stdout).toContain('fanfare.wav');

  expect((await run('sounds', 'remove', PLAYER)).stdout).toContain(`Removed the sound of ${PLAYER}`);
  expect(await Bun.file(PUBLISHED).exists()).toBe(false);
  expect(await listRoundSounds(db)).toEqual([]);
});

test('sounds add says why a file does not become a sound, and ends with 1', async () => {
  const added = await run('sounds', 'add', '--steamid64', PLAYER, join(folder.path, 'silence.wav'));
  expect(added).toMatchObject({ code: 1, stdout: '' });
  expect(added.stderr).toContain('No sound was made: there is nothing to hear in the first 75 seconds');
});

test('sounds add refuses a player whom SOUND_FOR allows no sound, and stores nothing', async () => {
  const words = ['sounds', 'add', '--steamid64', PLAYER, join(folder.path, 'fanfare.wav')];
  expect(await runWith({ SOUND_FOR: 'svip,admin' }, ...words)).toMatchObject({
    code: 1,
    stderr: `${PLAYER} may not have a round-end sound: SOUND_FOR=svip,admin does not include them\n`,
  });
  expect(await listRoundSounds(db)).toEqual([]);
});

test('sounds add stores nothing when FFMPEG_PATH does not do', async () => {
  const words = ['sounds', 'add', '--steamid64', PLAYER, join(folder.path, 'fanfare.wav')];
  expect(await runWith({ FFMPEG_PATH: '/nowhere/ffmpeg' }, ...words)).toEqual({
    code: 1,
    stdout: '',
    stderr:
      'FFMPEG_PATH="/nowhere/ffmpeg" isn\'t valid: /nowhere/ffmpeg is not an executable file; use an ffmpeg of version 5.1 or newer, or leave it unset\n',
  });
  expect(await listRoundSounds(db)).toEqual([]);
});

test('sounds add --start begins the cut there, and refuses a start after the end', async () => {
  const words = ['sounds', 'add', '--steamid64', PLAYER, join(folder.path, 'fanfare.wav'), '--start'];
  expect((await run(...words, '1.5s')).stdout).toContain(': 0.5 s, ');
  const late = await run(...words, '2.5s');
  expect(late).toMatchObject({ code: 1, stdout: '' });
  expect(late.stderr).toContain('there is nothing to hear after the start that was asked for');
  expect(await Bun.file(PUBLISHED).exists()).toBe(true);
});

test.each([
  [
    ['sounds', 'add', '--steamid64', PLAYER, '/nowhere.mp3', '--start', 'soon'],
    1,
    '"soon" is not a start: use minutes and seconds up to 10:00, such as 1:07.5 or 12.5s',
  ],
  [['sounds', 'add', '--steamid64', PLAYER, '/nowhere.mp3'], 1, 'There is no file "/nowhere.mp3"'],
  [['sounds', 'add', '--steamid64', PLAYER, '/tmp'], 1, '"/tmp" is a folder: name a file'],
  [['sounds', 'add', '--steamid64', 'nobody', '/nowhere.mp3'], 1, '"nobody" is not a SteamID'],
  [['sounds', 'add', '/nowhere.mp3'], 2, '--steamid64'],
  [['sounds', 'remove', PLAYER], 1, `${PLAYER} has no round-end sound`],
])('%j ends with %d', async (words, code, message) => {
  const result = await run(...words);
  expect(result.code).toBe(code);
  expect(result.stderr).toContain(message);
});

const run = (...words: string[]): Promise<Ended> => runWith({}, ...words);

async function runWith(extra: Record<string, string>, ...words: string[]): Promise<Ended> {
  const env = {
    ...extra,
    DATABASE_URL: url,
    DATA_DIR: join(folder.path, 'data'),
    STORAGE_DIR: join(folder.path, 'storage'),
  };
  return runCli(words, env);
}
