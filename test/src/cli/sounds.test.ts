import { beforeEach, expect, setDefaultTimeout, test } from 'bun:test';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { roundSounds } from '../../../src/db/schema/round-sounds.ts';
import { listRoundSounds } from '../../../src/queries/round-sounds/round-sounds.ts';
import { anAudio, silence, sine, toWav } from '../../support/audio/audio.ts';
import { aSteamId } from '../../support/database/builders.ts';
import { openCli } from '../../support/service/cli.ts';

setDefaultTimeout(240_000);

const { db, folder, env, cli, succeed, succeedWithJson, expectRefusals } = await openCli();
const PLAYER = aSteamId(1);
const FANFARE = join(folder, 'fanfare.wav');
const SILENCE = join(folder, 'silence.wav');
await Bun.write(FANFARE, toWav(anAudio({ seconds: 2, shape: sine(440, 0.05) }), 's16'));
await Bun.write(SILENCE, toWav(silence(1), 's16'));
const ADD = `sounds add --steamid64 ${PLAYER}`;
const isPublished = () => Bun.file(join(env.STORAGE_DIR, 'roundsound', `${PLAYER}.mp3`)).exists();
beforeEach(async () => {
  await db.delete(roundSounds);
  await rm(env.STORAGE_DIR, { recursive: true, force: true });
});

test('sounds add publishes a file and tells what came of it; list and remove follow', async () => {
  expect(await succeed(`${ADD} ${FANFARE}`)).toMatch(
    new RegExp(`^Published "fanfare.wav" for ${PLAYER}: 2.0 s, -2\\d.\\d → -1(8.[0-3]|7.[7-9]) LUFS$`, 'm'),
  );
  expect(await isPublished()).toBe(true);

  const listed = await succeedWithJson('sounds list');
  expect(listed).toMatchObject([
    { steamId64: PLAYER, title: 'fanfare.wav', status: 'ready', durationMs: 2000 },
  ]);
  // What only the queue needs is not part of it.
  expect(JSON.stringify(listed)).not.toMatch(
    /"(attempts|claimedUntil|failures|uploadKey|voiceAttempts|waveform)"/,
  );
  expect(await succeed('sounds list')).toContain('fanfare.wav');

  expect(await succeed(`sounds remove ${PLAYER}`)).toContain(`Removed the sound of ${PLAYER}`);
  expect(await isPublished()).toBe(false);
  expect(await listRoundSounds(db)).toEqual([]);
});

test('sounds verify names a sound whose file was altered, and exits with 1', async () => {
  await succeed(`${ADD} ${FANFARE}`);
  expect(await succeed('sounds verify')).toBe('Verified 1 sound, 0 broken\n');
  await Bun.write(join(env.STORAGE_DIR, 'roundsound', `${PLAYER}.mp3`), 'altered');
  expect(await cli('sounds verify')).toMatchObject({
    code: 1,
    stdout: `Verified 1 sound, 1 broken\n${PLAYER} "fanfare.wav": lost\n`,
  });
  expect(await listRoundSounds(db)).toMatchObject([{ status: 'failed', failure: 'lost' }]);
});

test('sounds add refuses a player whom SOUND_FOR allows no sound, and stores nothing', async () => {
  expect(await cli(`${ADD} ${FANFARE}`, { SOUND_FOR: 'svip,admin' })).toMatchObject({
    code: 1,
    stderr: `${PLAYER} may not have a round-end sound: SOUND_FOR=svip,admin does not include them\n`,
  });
  expect(await listRoundSounds(db)).toEqual([]);
});

test('sounds add stores nothing when FFMPEG_PATH does not do', async () => {
  expect(await cli(`${ADD} ${FANFARE}`, { FFMPEG_PATH: '/nowhere/ffmpeg' })).toEqual({
    code: 1,
    stdout: '',
    stderr:
      'FFMPEG_PATH="/nowhere/ffmpeg" isn\'t valid: /nowhere/ffmpeg is not an executable file; use an ffmpeg of version 5.1 or newer, or leave it unset\n',
  });
  expect(await listRoundSounds(db)).toEqual([]);
});

test('sounds add --start begins the cut there, and refuses a start after the end', async () => {
  expect(await succeed(`${ADD} ${FANFARE} --start 1.5s`)).toContain(': 0.5 s, ');
  await expectRefusals({
    [`${ADD} ${FANFARE} --start 2.5s`]: /there is nothing to hear after the start that was asked for/,
  });
  expect(await isPublished()).toBe(true);
});

test.each<[string, string | RegExp]>([
  [`${ADD} ${SILENCE}`, /No sound was made: there is nothing to hear in the first 75 seconds/],
  [
    `${ADD} /nowhere.mp3 --start soon`,
    /"soon" is not a start: use minutes and seconds up to 10:00, such as 1:07.5 or 12.5s/,
  ],
  [`${ADD} /nowhere.mp3`, /There is no file "\/nowhere.mp3"/],
  [`${ADD} /tmp`, /"\/tmp" is a folder: name a file/],
  ['sounds add --steamid64 nobody /nowhere.mp3', /"nobody" is not a SteamID/],
  [`sounds remove ${PLAYER}`, `${PLAYER} has no round-end sound`],
])('%s fails and says why', async (line, reason) => {
  await expectRefusals({ [line]: reason });
});

test('sounds add without --steamid64 is wrong usage', async () => {
  const stderr = expect.stringContaining('--steamid64');
  expect(await cli('sounds add /nowhere.mp3')).toMatchObject({ code: 2, stderr });
});
