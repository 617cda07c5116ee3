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

const rendering = await openRendering('voice');

const left = noise(0.2, 1);
const right = noise(0.2, 2);
const music = musicLike(0.6);
const speech = speechLike(0.4);

/**
 * A stereo signal with a part in phase and a part out of phase, mixed so that averaging both channels loses `lossLu`; the
 * left channel is a quarter of a decibel louder.
 */
function spread(lossLu: number): Audio {
  const against = Math.sqrt(10 ** (lossLu / 10) - 1);
  const [shared, opposed] = [sine(440, 0.15), sine(520, 0.15 * against)];
  const shape = (at: number, channel: number) =>
    (channel === 0 ? 1 : 0.97) * (shared(at, 0) + flip(channel) * opposed(at, 0));
  return anAudio({ seconds: 4, shape });
}

type Clip = { name: string; audio: Audio; mix: 'average' | 'left' | 'right' };

/** 440 Hz on the left and 880 Hz on the right tell which channels are in the result. */
const CLIPS: Clip[] = [
  { name: 'music, both channels nearly equal', mix: 'average', audio: anAudio({ seconds: 4, shape: music }) },
  {
    name: 'speech, already mono',
    mix: 'average',
    audio: anAudio({ seconds: 4, shape: speech, channels: 1 }),
  },
  {
    name: 'noise, out of phase',
    mix: 'left',
    audio: anAudio({ seconds: 4, shape: (at, channel) => flip(channel) * speech(at, 0) }),
  },
  {
    name: 'a tone out of phase, louder on the right',
    mix: 'right',
    audio: anAudio({
      seconds: 3,
      shape: (at, channel) => flip(channel) * (channel === 0 ? 0.6 : 1) * sine(440, 0.3)(at, 0),
    }),
  },
  {
    name: 'music only on the left (the average is like the left)',
    mix: 'left',
    audio: anAudio({ seconds: 4, shape: (at, channel) => (channel === 0 ? music(at, 0) : 0) }),
  },
  {
    name: 'wide: unlike noises on both sides',
    mix: 'average',
    audio: anAudio({ seconds: 4, shape: (at, channel) => (channel === 0 ? left : right)(at, channel) }),
  },
  {
    name: 'a tone each side',
    mix: 'average',
    audio: anAudio({ seconds: 3, shape: (at, channel) => sine(channel === 0 ? 440 : 880, 0.4)(at, 0) }),
  },
  { name: 'a spread that loses 5.8 LU averaged', mix: 'average', audio: spread(5.8) },
  { name: 'a spread that loses 6.2 LU averaged', mix: 'left', audio: spread(6.2) },
  {
    name: 'drums that need the limiter',
    mix: 'average',
    audio: anAudio({ seconds: 4, shape: drums(0.9) }),
  },
  { name: 'noise of 0.3 s', mix: 'average', audio: anAudio({ seconds: 0.3, shape: noise(0.9) }) },
  {
    name: 'music of 12 s after silence, cut',
    mix: 'average',
    audio: sequence(silence(2), anAudio({ seconds: 12, shape: music })),
  },
];

test.each(CLIPS)('gives $name one channel as loud as the sound has two', async ({ audio, mix }) => {
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

function flip(channel: number): 1 | -1 {
  return channel === 0 ? 1 : -1;
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
function findMix(stereo: Audio, voice: Audio): Clip['mix'] {
  const [one = new Float32Array(), other = new Float32Array()] = stereo.channels;
  const [mono = new Float32Array()] = voice.channels;
  const mixes = {
    average: one.map((sample, at) => (sample + (other[at] ?? 0)) / 2),
    left: one,
    right: other,
  };
  const likeness = (mix: Clip['mix']): number => correlate(mixes[mix], mono);
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
