import { afterAll, expect, setDefaultTimeout, test } from 'bun:test';
import { join } from 'node:path';
import type { Ffmpeg } from '../../../media/ffmpeg/ffmpeg.ts';
import { type RenderedSound, renderSound, SOUND_NAME } from '../../../media/rendering/render.ts';
import { SoundRefused } from '../../../media/rendering/run-ffmpeg.ts';
import { type Audio, anAudio, joinBytes, silence, sine, toWav } from '../../support/audio/audio.ts';
import { decodeMp3 } from '../../support/audio/decode-mp3.ts';
import {
  encode,
  JUDGED_ENGINE,
  makeFolder,
  makeUpload,
  openEngine,
} from '../../support/audio/ffmpeg-engines.ts';
import { measureLoudness } from '../../support/audio/loudness-meter.ts';
import { makeCorpus } from './corpus.ts';

setDefaultTimeout(240_000);

const TARGET_LUFS = -18;
const MINUTES = 60_000;

const folder = await makeFolder('render');
const corpus = await makeCorpus();
const tone = toWav(anAudio({ seconds: 2, shape: sine(440, 0.3) }));
const toneAs = (extension: string, ...options: string[]) => encode(tone, extension, options);
const mp3 = await toneAs(
  'mp3',
  '-c:a',
  'libmp3lame',
  '-b:a',
  '128k',
  '-write_xing',
  '0',
  '-id3v2_version',
  '0',
);
const id3 = joinBytes(Buffer.from('ID3\x03\0\0\0\0\x02\x2c', 'latin1'), new Uint8Array(300));
const apeTag = Buffer.concat([Buffer.from('APETAGEX\xd0\x07\0\0', 'latin1'), Buffer.alloc(500, 'x')]);
/** Ordinary audio behind what tools have put before it, and rarer containers. */
const WRAPPED = [
  { name: 'an RF64 WAV', bytes: await toneAs('wav', '-rf64', 'always') },
  { name: 'a WAV behind an ID3 tag', bytes: joinBytes(id3, tone) },
  { name: 'an MP3 behind NULs', bytes: joinBytes(new Uint8Array(417), mp3) },
  { name: 'an MP3 behind set bits', bytes: joinBytes(new Uint8Array(100).fill(0xff), mp3) },
  { name: 'an MP3 behind an APE tag', bytes: joinBytes(apeTag, mp3) },
  { name: 'an MP3 behind text', bytes: joinBytes(Buffer.alloc(280, 'Downloaded. '), mp3) },
  { name: 'an MP3 behind 60,000 bytes', bytes: joinBytes(Buffer.alloc(60_000, 'Downloaded. '), mp3) },
  {
    name: 'ADTS behind text',
    bytes: joinBytes(Buffer.alloc(280, 'Downloaded. '), await toneAs('aac', '-c:a', 'aac', '-f', 'adts')),
  },
];
afterAll(folder.remove);

const ffmpeg = await openEngine(JUDGED_ENGINE);
afterAll(() => ffmpeg.close());

test.each(corpus)(
  'publishes $name',
  async (clip) => {
    const { sound, directory } = await render(ffmpeg, clip.bytes);

    const measured = measureLoudness(await decodeMp3(directory, SOUND_NAME));
    expect(measured.truePeakDbtp).toBeLessThanOrEqual(-0.9);
    expect(Math.abs(measured.seconds - clip.seconds)).toBeLessThanOrEqual(0.05);
    expect(measured.integratedLufs - TARGET_LUFS).toBeLessThanOrEqual(0.5);
    if (!clip.isQuieter) {
      expect(measured.integratedLufs - TARGET_LUFS).toBeGreaterThanOrEqual(-0.5);
    }
    expect(Math.abs(sound.loudnessAfterLufs - measured.integratedLufs)).toBeLessThanOrEqual(0.3);
    expect(Math.abs(sound.durationMs - measured.seconds * 1000)).toBeLessThanOrEqual(1);
    expect(sound.waveform).toHaveLength(160);
  },
  MINUTES,
);

test(
  'gives the same bytes twice, without any tag',
  async () => {
    const clip = corpus.find(({ name }) => name.includes('cover art'));
    const first = await render(ffmpeg, clip?.bytes ?? new Uint8Array());
    const second = await render(ffmpeg, clip?.bytes ?? new Uint8Array());
    const bytes = await Bun.file(join(first.directory, SOUND_NAME)).bytes();
    expect(Bun.hash(bytes)).toBe(Bun.hash(await Bun.file(join(second.directory, SOUND_NAME)).bytes()));
    expect([...bytes.subarray(0, 4)]).toEqual([0xff, 0xfb, 0xb0, expect.any(Number)]);
    const text = Buffer.from(bytes).toString('latin1');
    expect(text).not.toContain('APIC');
    expect(text.slice(-128, -125)).not.toBe('TAG');
  },
  MINUTES,
);

test('encodes a clip of two samples once, with silence behind it', async () => {
  let calls = 0;
  const counted: Ffmpeg = {
    ...ffmpeg,
    run(job, limits) {
      calls++;
      return ffmpeg.run(job, limits);
    },
  };
  const tiny = anAudio({ seconds: 2 / 44_100, shape: sine(9000, 0.5) });
  const { sound } = await render(counted, toWav(tiny));
  expect(sound.durationMs).toBe(26);
  expect(calls).toBe(4);
});

test.each(WRAPPED)('publishes $name', async ({ bytes }) => {
  const { sound } = await render(ffmpeg, bytes);
  expect(sound.durationMs).toBeWithin(1990, 2060);
  expect(sound.loudnessAfterLufs).toBeWithin(TARGET_LUFS - 0.3, TARGET_LUFS + 0.3);
});

test('refuses silence', async () => {
  await expectRefusal(render(ffmpeg, toWav(silence(2), 's16')), 'silent');
});

test('refuses a sound that is too quiet to hear', async () => {
  const murmur = anAudio({ seconds: 2, shape: sine(440, 0.0009) });
  await expectRefusal(render(ffmpeg, toWav(murmur)), 'silent');
});

test(
  'keeps true peaks under the ceiling at the loudest setting',
  async () => {
    const clip = corpus.find(({ name }) => name.includes('vorbis'));
    const options = { maxSeconds: 10, targetLufs: -10 };
    const { directory } = await render(ffmpeg, clip?.bytes ?? new Uint8Array(), options);
    const measured = measureLoudness(await decodeMp3(directory, SOUND_NAME));
    expect(measured.truePeakDbtp).toBeLessThanOrEqual(-0.9);
    expect(Math.abs(measured.integratedLufs + 10)).toBeLessThanOrEqual(0.5);
  },
  MINUTES,
);

test(
  'honours another length and another loudness',
  async () => {
    const clip = corpus.find(({ name }) => name.includes('vorbis'));
    const { directory } = await render(ffmpeg, clip?.bytes ?? new Uint8Array(), {
      maxSeconds: 3,
      targetLufs: -24,
    });
    const measured = measureLoudness(await decodeMp3(directory, SOUND_NAME));
    expect(Math.abs(measured.seconds - 3)).toBeLessThanOrEqual(0.05);
    expect(Math.abs(measured.integratedLufs + 24)).toBeLessThanOrEqual(0.5);
  },
  MINUTES,
);

test('a cut sound fades out over 0.8 s, and one that ends by itself over 10 ms', async () => {
  const tone = anAudio({ seconds: 3, shape: sine(440, 0.3) });
  const middleOfFade = async (maxSeconds: number): Promise<number> => {
    const { directory } = await render(ffmpeg, toWav(tone), { maxSeconds, targetLufs: TARGET_LUFS });
    const sound = await decodeMp3(directory, SOUND_NAME);
    return peakAt(sound, 1.6) / peakAt(sound, 1);
  };
  expect(await middleOfFade(2)).toBeWithin(0.4, 0.6);
  expect(await middleOfFade(10)).toBeWithin(0.95, 1.05);
});

/** The peak of a tenth of a second. */
function peakAt({ sampleRate, channels }: Audio, seconds: number): number {
  const samples = channels[0]?.subarray((seconds - 0.05) * sampleRate, (seconds + 0.05) * sampleRate);
  return (samples ?? new Float32Array()).reduce((peak, sample) => Math.max(peak, Math.abs(sample)), 0);
}

async function render(
  ffmpeg: Ffmpeg,
  bytes: Uint8Array,
  options = { maxSeconds: 10, targetLufs: TARGET_LUFS },
): Promise<{ sound: RenderedSound; directory: string }> {
  const directory = await makeUpload(folder.path, bytes);
  return { sound: await renderSound(ffmpeg, directory, options), directory };
}

async function expectRefusal(rendering: Promise<unknown>, reason: string): Promise<void> {
  const error = await rendering.catch((refusal: unknown) => refusal);
  expect(error).toBeInstanceOf(SoundRefused);
  expect(error).toHaveProperty('reason', reason);
}
