import { afterAll, expect, setDefaultTimeout, test } from 'bun:test';
import type { Ffmpeg } from '../../../media/ffmpeg/ffmpeg.ts';
import { renderSound, SOUND_NAME } from '../../../media/rendering/render.ts';
import type { SoundStart } from '../../../src/domain/round-sound.ts';
import { type Audio, anAudio, joinBytes, sequence, silence, sine, toWav } from '../../support/audio/audio.ts';
import { decodeMp3 } from '../../support/audio/decode-mp3.ts';
import {
  encode,
  JUDGED_ENGINE,
  makeFolder,
  makeUpload,
  openEngine,
} from '../../support/audio/ffmpeg-engines.ts';

setDefaultTimeout(240_000);

const folder = await makeFolder('start');
afterAll(folder.remove);

/** A second of 300 Hz, then one of 600, 900 …, so that the pitch tells where a cut begins. */
const STEPS = 120;
const staircase = anAudio({
  seconds: STEPS,
  sampleRate: 16_000,
  channels: 1,
  shape: (at) => sine(pitchAt(at), 0.3)(at % 1, 0),
});
const encodeLong = (extension: string, ...options: string[]): Promise<Uint8Array> =>
  encode(toWav(staircase, 's16'), extension, options);
const long = await encodeLong('flac', '-c:a', 'flac', '-f', 'flac');
/** Its first samples, which the decoder drops, have time stamps as well: 75 seconds of it are fewer of sound. */
const longWebm = await encodeLong('webm', '-c:a', 'opus', '-strict', '-2', '-ar', '48000', '-f', 'webm');
/** As browsers record with a pause: time stamps go on while nothing is written. */
const pause = 'asetpts=PTS+gt(T\\,3)*20/TB';
const longWithPause = await encodeLong('mka', '-af', pause, '-c:a', 'libvorbis', '-f', 'matroska');
const encodeMp3 = (audio: Audio): Promise<Uint8Array> =>
  encode(toWav(audio), 'mp3', ['-c:a', 'libmp3lame', '-f', 'mp3']);
/** Where it changes, ffmpeg begins to count anew. */
const monoThenStereo = joinBytes(
  await encodeMp3(anAudio({ seconds: 2, channels: 1, shape: sine(300, 0.3) })),
  await encodeMp3(anAudio({ seconds: 3, shape: sine(600, 0.3) })),
);
const short = toWav(
  sequence(silence(2), anAudio({ seconds: 4, shape: (at) => sine(pitchAt(at), 0.3)(at % 1, 0) }), silence(1)),
);
/** After a second comes relative silence: more than 45 dB below. */
const withMurmur = toWav(
  sequence(anAudio({ seconds: 1, shape: sine(440, 0.9) }), anAudio({ seconds: 3, shape: sine(440, 0.003) })),
);

const ffmpeg = await openEngine(JUDGED_ENGINE);
afterAll(() => ffmpeg.close());

test.each([
  { startFrom: 'first_sound', startMs: 0, seconds: 4.16, pitch: 300 },
  { startFrom: 'first_sound', startMs: 1000, seconds: 3.15, pitch: 600 },
  { startFrom: 'first_sound', startMs: 2500, seconds: 1.65, pitch: 900 },
  { startFrom: 'file', startMs: 0, seconds: 4.16, pitch: 300 },
  { startFrom: 'file', startMs: 1000, seconds: 4.15, pitch: 300 },
  { startFrom: 'file', startMs: 4500, seconds: 1.65, pitch: 900 },
] as const)('counts a start of $startMs ms from the $startFrom', async ({ seconds, pitch, ...start }) => {
  const sound = await render(ffmpeg, short, start);
  expect(Math.abs(lengthOf(sound) - seconds)).toBeLessThanOrEqual(0.05);
  expect(Math.abs(findPitch(sound, 0.1) - pitch)).toBeLessThanOrEqual(15);
});

test.each([
  { startMs: 30_000, name: 'track', bytes: long },
  { startMs: 74_000, name: 'track', bytes: long },
  { startMs: 95_000, name: 'track', bytes: long },
  { startMs: 73_000, name: 'WebM', bytes: longWebm },
  { startMs: 95_000, name: 'WebM', bytes: longWebm },
  { startMs: 54_000, name: 'recording with a pause', bytes: longWithPause },
  { startMs: 95_000, name: 'recording with a pause', bytes: longWithPause },
])('begins $startMs ms into a long $name', async ({ startMs, bytes }) => {
  const sound = await render(ffmpeg, bytes, { startMs, maxSeconds: 3 });
  expect(Math.abs(lengthOf(sound) - 3)).toBeLessThanOrEqual(0.05);
  expect(Math.abs(findPitch(sound, 0.1) - pitchAt(startMs / 1000))).toBeLessThanOrEqual(15);
});

test('keeps all that follows a start in a file that changes from mono to stereo', async () => {
  const sound = await render(ffmpeg, monoThenStereo, { startMs: 1000 });
  expect(Math.abs(lengthOf(sound) - 4.05)).toBeLessThanOrEqual(0.1);
});

test.each([
  ['after the last sound', short, 4200],
  ['in a part that is silent compared with the rest', withMurmur, 2000],
  ['after the end', short, 60_000],
  ['after the end of a long track', long, 125_000],
])('refuses a start %s', async (_, bytes, startMs) => {
  const error = await render(ffmpeg, bytes, { startMs }).catch((refusal: unknown) => refusal);
  expect(error).toMatchObject({ name: 'SoundRefused', reason: 'start-after-end' });
});

async function render(
  ffmpeg: Ffmpeg,
  bytes: Uint8Array,
  {
    startMs,
    startFrom = 'first_sound',
    maxSeconds = 10,
  }: Partial<SoundStart> & { startMs: number; maxSeconds?: number },
): Promise<Audio> {
  const directory = await makeUpload(folder.path, bytes);
  await renderSound(ffmpeg, directory, { maxSeconds, targetLufs: -18, start: { startMs, startFrom } });
  return decodeMp3(directory, SOUND_NAME);
}

function pitchAt(seconds: number): number {
  return 300 * ((Math.floor(seconds) % 10) + 1);
}

function lengthOf({ channels, sampleRate }: Audio): number {
  return (channels[0]?.length ?? 0) / sampleRate;
}

/** Hertz of a tone, by the zero crossings of 200 ms. */
function findPitch({ channels, sampleRate }: Audio, fromSeconds: number): number {
  const from = Math.round(fromSeconds * sampleRate);
  const samples = channels[0]?.subarray(from, from + sampleRate / 5) ?? new Float32Array();
  let crossings = 0;
  for (let at = 1; at < samples.length; at++) {
    if ((samples[at - 1] ?? 0) < 0 && (samples[at] ?? 0) >= 0) crossings++;
  }
  return crossings * 5;
}
