import { expect, setDefaultTimeout, test } from 'bun:test';
import { join } from 'node:path';
import { SOUND_NAME } from '../../../media/rendering/render.ts';
import { renderVoice, VOICE_NAME } from '../../../media/rendering/voice.ts';
import {
  type Audio,
  anAudio,
  drums,
  musicLike,
  noise,
  type Shape,
  sequence,
  silence,
  sine,
  speechLike,
  toWav,
} from '../../support/audio/audio.ts';
import { decodeMp3 } from '../../support/audio/decode-mp3.ts';
import { judgeLoudness } from '../../support/audio/loudness-meter.ts';
import { openRendering, TARGET_LUFS } from '../../support/audio/rendering.ts';

setDefaultTimeout(240_000);

const MP3_FRAME_SECONDS = 1152 / 44_100;
const VOICE = { sampleRate: 48_000, channels: 1 };

const rendering = await openRendering();

const music = musicLike(0.6);
const speech = speechLike(0.4);

function eachSide(seconds: number, left: Shape, right: Shape): Audio {
  return anAudio({ seconds, shape: (at, channel) => (channel === 0 ? left : right)(at, channel) });
}

/**
 * A stereo signal with a part in phase and a part out of phase, mixed so that averaging both channels loses `lossLu`; the
 * left channel is a quarter of a decibel louder.
 */
function spread(lossLu: number): Audio {
  const against = Math.sqrt(10 ** (lossLu / 10) - 1);
  const [shared, opposed] = [sine(440, 0.15), sine(520, 0.15 * against)];
  return eachSide(
    4,
    (at) => shared(at, 0) + opposed(at, 0),
    (at) => 0.97 * (shared(at, 0) - opposed(at, 0)),
  );
}

type Mix = 'average' | 'left' | 'right';

/** Different signals on the left and on the right tell which channels are in the result. */
const CLIPS: [name: string, mix: Mix, audio: Audio][] = [
  ['music, both channels nearly equal', 'average', anAudio({ seconds: 4, shape: music })],
  ['speech, already mono', 'average', anAudio({ seconds: 4, shape: speech, channels: 1 })],
  ['noise, out of phase', 'left', eachSide(4, speech, (at) => -speech(at, 0))],
  ['a tone out of phase, louder on the right', 'right', eachSide(3, sine(440, 0.18), sine(440, -0.3))],
  ['music only on the left (the average is like the left)', 'left', eachSide(4, music, () => 0)],
  ['wide: unlike noises on both sides', 'average', eachSide(4, noise(0.2, 1), noise(0.2, 2))],
  ['a tone each side', 'average', eachSide(3, sine(440, 0.4), sine(880, 0.4))],
  ['a spread that loses 5.8 LU averaged', 'average', spread(5.8)],
  ['a spread that loses 6.2 LU averaged', 'left', spread(6.2)],
  ['drums that need the limiter', 'average', anAudio({ seconds: 4, shape: drums(0.9) })],
  ['noise of 0.3 s', 'average', anAudio({ seconds: 0.3, shape: noise(0.9) })],
  [
    'music of 12 s after silence, cut',
    'average',
    sequence(silence(2), anAudio({ seconds: 12, shape: music })),
  ],
];

test.each(CLIPS)('gives %s one channel as loud as the sound has two', async (_, mix, audio) => {
  const directory = await render(audio);
  const bytes = await Bun.file(join(directory, VOICE_NAME)).bytes();
  expectMp3Of96Kbps(bytes);

  const stereo = await decodeMp3(directory, SOUND_NAME);
  const voice = await decodeMp3(directory, VOICE_NAME, VOICE);
  const measured = judgeLoudness(voice);
  expect(Math.abs(measured.integratedLufs - TARGET_LUFS)).toBeLessThanOrEqual(0.5);
  expect(measured.truePeakDbtp).toBeLessThanOrEqual(-1);
  expect(Math.abs(measured.seconds - judgeLoudness(stereo).seconds)).toBeLessThanOrEqual(MP3_FRAME_SECONDS);
  expect(findMix(stereo, voice)).toBe(mix);
});

test('gives the same bytes twice', async () => {
  const audio = anAudio({ seconds: 2, shape: music });
  const [first, second] = [await render(audio), await render(audio)];
  const bytes = await Bun.file(join(first, VOICE_NAME)).bytes();
  expect(bytes).toEqual(await Bun.file(join(second, VOICE_NAME)).bytes());
});

test.each([-30, -10])('honours a loudness of %d LUFS', async (targetLufs) => {
  const directory = await render(anAudio({ seconds: 4, shape: music }), targetLufs);
  const measured = judgeLoudness(await decodeMp3(directory, VOICE_NAME, VOICE));
  expect(Math.abs(measured.integratedLufs - targetLufs)).toBeLessThanOrEqual(0.5);
  expect(measured.truePeakDbtp).toBeLessThanOrEqual(-1);
});

/** @returns the folder with both files. */
async function render(audio: Audio, targetLufs = TARGET_LUFS): Promise<string> {
  const { sound, directory } = await rendering.render(toWav(audio), { targetLufs });
  const { durationMs, loudnessAfterLufs: soundLufs } = sound;
  await renderVoice(rendering.ffmpeg, directory, { durationMs, soundLufs, targetLufs });
  return directory;
}

/** Every frame is MPEG 1 layer 3 of 96 kbit/s, 48 kHz, one channel; nothing stands before, between or after. */
function expectMp3Of96Kbps(bytes: Uint8Array): void {
  const frameBytes = (144 * 96_000) / 48_000;
  expect(bytes.length % frameBytes).toBe(0);
  for (let at = 0; at < bytes.length; at += frameBytes) {
    const [sync, version, rates = 0, mode = 0] = bytes.subarray(at, at + 4);
    expect([sync, version, rates & 0xfc, mode >> 6]).toEqual([0xff, 0xfb, 0x74, 0b11]);
  }
}

/** The downmix with the highest correlation to the voice rendition. */
function findMix(stereo: Audio, voice: Audio): Mix {
  const [one = new Float32Array(), other = new Float32Array()] = stereo.channels;
  const [mono = new Float32Array()] = voice.channels;
  const mixes = {
    average: one.map((sample, at) => (sample + (other[at] ?? 0)) / 2),
    left: one,
    right: other,
  };
  const likeness = (mix: Mix): number => correlate(mixes[mix], mono);
  const [best] = (['average', 'left', 'right'] as const).toSorted((a, b) => likeness(b) - likeness(a));
  return best ?? 'average';
}

/** The correlation of both: the second, of 48 kHz, is read at the times of the first, of 44.1 kHz. */
function correlate(first: Float32Array, second: Float32Array): number {
  let [product, firstPower, secondPower] = [0, 1e-9, 1e-9];
  for (let at = 0; at < first.length; at++) {
    const position = (at * 48_000) / 44_100;
    const [before, after] = [second[Math.floor(position)] ?? 0, second[Math.ceil(position)] ?? 0];
    const b = before + (after - before) * (position % 1);
    const a = first[at] ?? 0;
    product += a * b;
    firstPower += a * a;
    secondPower += b * b;
  }
  return product / Math.sqrt(firstPower * secondPower);
}
