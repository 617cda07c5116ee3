import { expect, setDefaultTimeout, test } from 'bun:test';
import { SOUND_NAME } from '../../../media/rendering/render.ts';
import type { SoundStart } from '../../../src/domain/round-sound.ts';
import { type Audio, anAudio, joinBytes, sequence, silence, sine, toWav } from '../../support/audio/audio.ts';
import { decodeMp3 } from '../../support/audio/decode-mp3.ts';
import { encode } from '../../support/audio/ffmpeg-engines.ts';
import { expectRefusal, openRendering } from '../../support/audio/rendering.ts';

setDefaultTimeout(240_000);

const { render } = await openRendering();

const VORBIS = ['-c:a', 'libvorbis', '-f', 'matroska'];

/** As browsers record with a pause: time stamps go on while nothing is written. */
function encodeWithPause(
  wav: Uint8Array,
  { at, seconds }: { at: number; seconds: number },
): Promise<Uint8Array> {
  return encode(wav, 'mka', ['-af', `asetpts=PTS+gt(T\\,${at})*${seconds}/TB`, ...VORBIS]);
}

/** A second of 300 Hz, then one of 600, 900 …, so that the pitch tells where a cut begins. */
function staircase(options: { seconds: number; sampleRate?: number; channels?: number }): Audio {
  return anAudio({ shape: (at) => sine(pitchAt(at), 0.3)(at % 1, 0), ...options });
}

const longWav = toWav(staircase({ seconds: 120, sampleRate: 16_000, channels: 1 }), 's16');
const long = await encode(longWav, 'flac', ['-c:a', 'flac', '-f', 'flac']);
/** Its first samples, which the decoder drops, have time stamps as well: 75 seconds of it are fewer of sound. */
const longWebm = await encode(longWav, 'webm', [
  ...['-c:a', 'opus', '-strict', '-2', '-ar', '48000', '-f', 'webm'],
]);
const longWithPause = await encodeWithPause(longWav, { at: 3, seconds: 20 });
const encodeMp3 = (audio: Audio): Promise<Uint8Array> =>
  encode(toWav(audio), 'mp3', ['-c:a', 'libmp3lame', '-f', 'mp3']);
/** Where it changes, ffmpeg begins to count anew. */
const monoThenStereo = joinBytes(
  await encodeMp3(anAudio({ seconds: 2, channels: 1, shape: sine(300, 0.3) })),
  await encodeMp3(anAudio({ seconds: 3, shape: sine(600, 0.3) })),
);
const short = toWav(sequence(silence(2), staircase({ seconds: 4 }), silence(1)));
/** After a second comes relative silence: more than 45 dB below. */
const withMurmur = toWav(
  sequence(anAudio({ seconds: 1, shape: sine(440, 0.9) }), anAudio({ seconds: 3, shape: sine(440, 0.003) })),
);

test.each([
  { startFrom: 'first_sound', startMs: 0, seconds: 4.16, pitch: 300 },
  { startFrom: 'first_sound', startMs: 1000, seconds: 3.15, pitch: 600 },
  { startFrom: 'first_sound', startMs: 2500, seconds: 1.65, pitch: 900 },
  { startFrom: 'file', startMs: 0, seconds: 4.16, pitch: 300 },
  { startFrom: 'file', startMs: 1000, seconds: 4.15, pitch: 300 },
  { startFrom: 'file', startMs: 4500, seconds: 1.65, pitch: 900 },
] as const)('counts a start of $startMs ms from the $startFrom', async ({ seconds, pitch, ...start }) => {
  const sound = await renderFrom(short, start);
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
  const sound = await renderFrom(bytes, { startMs, maxSeconds: 3 });
  expect(Math.abs(lengthOf(sound) - 3)).toBeLessThanOrEqual(0.05);
  expect(Math.abs(findPitch(sound, 0.1) - pitchAt(startMs / 1000))).toBeLessThanOrEqual(15);
});

test('keeps all that follows a start in a file that changes from mono to stereo', async () => {
  const sound = await renderFrom(monoThenStereo, { startMs: 1000 });
  expect(Math.abs(lengthOf(sound) - 4.05)).toBeLessThanOrEqual(0.1);
});

test.each([
  ['after the last sound', short, 4200],
  ['in a part that is silent compared with the rest', withMurmur, 2000],
  ['after the end', short, 60_000],
  ['after the end of a long track', long, 125_000],
])('refuses a start %s', async (_, bytes, startMs) => {
  await expectRefusal(renderFrom(bytes, { startMs }), 'start-after-end');
});

const tone = toWav(anAudio({ seconds: 8, channels: 1, shape: sine(440, 0.3) }), 's16');

/**
 * A recording with several tracks, as OBS makes them.
 * @param lengths the seconds of tone in each; 0 is a silent one.
 * @param flagged the number of the track that is flagged as the default.
 */
function record(lengths: number[], flagged?: number): Promise<Uint8Array> {
  const filters = lengths.map((seconds, index) =>
    seconds === 0 ? `[in${index}]volume=0[t${index}]` : `[in${index}]atrim=end=${seconds}[t${index}]`,
  );
  const inputs = lengths.map((_, index) => `[in${index}]`).join('');
  return encode(tone, 'mka', [
    ...['-filter_complex', [`[0:a]asplit=${lengths.length}${inputs}`, ...filters].join(';')],
    ...lengths.flatMap((_, index) => ['-map', `[t${index}]`]),
    ...lengths.flatMap((_, index) => [`-disposition:a:${index}`, index === flagged ? 'default' : '0']),
    ...VORBIS,
  ]);
}

test.each([
  ['the flagged track', [1, 2, 3], 1, 2],
  ['the first track when none is flagged', [1, 2, 3], undefined, 1],
  ['the second track when the first is silent', [0, 2, 3], 0, 2],
  ['the first track that can be heard when the flagged one is silent', [1, 0, 3], 1, 1],
  ['the fourth track when the others are silent', [0, 0, 0, 4], 0, 4],
])('takes %s', async (_, lengths, flagged, seconds) => {
  expect(await renderedSeconds(await record(lengths, flagged))).toBeCloseTo(seconds, 1);
});

test('takes the second track when the first cannot be decoded', async () => {
  const bytes = Buffer.from(await record([1, 2], 0));
  bytes.write('A_VORBIX', bytes.indexOf('A_VORBIS'));
  expect(await renderedSeconds(bytes)).toBeCloseTo(2, 1);
});

test.each([
  ['the first four tracks are silent', () => record([0, 0, 0, 0, 5], 0)],
  ['the only track is silent', () => encode(toWav(silence(1), 's16'), 'mka', VORBIS)],
])('refuses a recording as silent when %s', async (_, make) => {
  await expectRefusal(render(await make()), 'silent');
});

test('keeps all of a recording that was paused for two minutes', async () => {
  const paused = await encodeWithPause(tone, { at: 4, seconds: 120 });
  expect(await renderedSeconds(paused)).toBeCloseTo(8, 1);
});

async function renderedSeconds(bytes: Uint8Array): Promise<number> {
  return (await render(bytes)).sound.durationMs / 1000;
}

async function renderFrom(
  bytes: Uint8Array,
  { startFrom = 'first_sound', startMs, ...options }: StartOptions,
): Promise<Audio> {
  const { directory } = await render(bytes, { start: { startMs, startFrom }, ...options });
  return decodeMp3(directory, SOUND_NAME);
}

type StartOptions = { startMs: number; startFrom?: SoundStart['startFrom']; maxSeconds?: number };

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
