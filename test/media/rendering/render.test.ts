import { expect, setDefaultTimeout, test } from 'bun:test';
import { join } from 'node:path';
import type { Ffmpeg } from '../../../media/ffmpeg/ffmpeg.ts';
import { SOUND_NAME } from '../../../media/rendering/render.ts';
import { type Audio, anAudio, joinBytes, silence, sine, toWav } from '../../support/audio/audio.ts';
import { decodeMp3 } from '../../support/audio/decode-mp3.ts';
import { encode } from '../../support/audio/ffmpeg-engines.ts';
import { judgeLoudness } from '../../support/audio/loudness-meter.ts';
import { expectRefusal, openRendering, TARGET_LUFS } from '../../support/audio/rendering.ts';
import { makeCorpus } from './corpus.ts';

setDefaultTimeout(240_000);

const { ffmpeg, render } = await openRendering();
const corpus = await makeCorpus();
const tone = toWav(anAudio({ seconds: 2, shape: sine(440, 0.3) }));
const toneAs = (extension: string, options: string): Promise<Uint8Array> =>
  encode(tone, extension, options.split(' '));
const mp3 = await toneAs('mp3', '-c:a libmp3lame -b:a 128k -write_xing 0 -id3v2_version 0');
const adts = await toneAs('aac', '-c:a aac -f adts');
const id3 = joinBytes(Buffer.from('ID3\x03\0\0\0\0\x02\x2c', 'latin1'), new Uint8Array(300));
/** Ordinary audio behind what tools have put before it, and rarer containers. */
const WRAPPED = [
  { name: 'an RF64 WAV', bytes: await toneAs('wav', '-rf64 always') },
  { name: 'a WAV behind an ID3 tag', bytes: joinBytes(id3, tone) },
  { name: 'an MP3 behind 60,000 bytes', bytes: joinBytes(Buffer.alloc(60_000, 'Downloaded. '), mp3) },
  { name: 'ADTS behind text', bytes: joinBytes(Buffer.alloc(280, 'Downloaded. '), adts) },
];

test.each(corpus)('publishes $name', async (clip) => {
  const { sound, directory } = await render(clip.bytes);

  const measured = await judge(directory);
  expect(measured.truePeakDbtp).toBeLessThanOrEqual(-0.9);
  expect(Math.abs(measured.seconds - clip.seconds)).toBeLessThanOrEqual(0.05);
  expect(measured.integratedLufs - TARGET_LUFS).toBeLessThanOrEqual(0.5);
  if (!clip.isQuieter) {
    expect(measured.integratedLufs - TARGET_LUFS).toBeGreaterThanOrEqual(-0.5);
  }
  expect(Math.abs(sound.loudnessAfterLufs - measured.integratedLufs)).toBeLessThanOrEqual(0.3);
  expect(Math.abs(sound.durationMs - measured.seconds * 1000)).toBeLessThanOrEqual(1);
  expect(sound.waveform).toHaveLength(160);
});

test('gives the same bytes twice, without any tag', async () => {
  const clip = findClip('cover art');
  const first = await render(clip);
  const second = await render(clip);
  const bytes = await Bun.file(join(first.directory, SOUND_NAME)).bytes();
  expect(Bun.hash(bytes)).toBe(Bun.hash(await Bun.file(join(second.directory, SOUND_NAME)).bytes()));
  expect([...bytes.subarray(0, 4)]).toEqual([0xff, 0xfb, 0xb0, expect.any(Number)]);
  const text = Buffer.from(bytes).toString('latin1');
  expect(text).not.toContain('APIC');
  expect(text.slice(-128, -125)).not.toBe('TAG');
});

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
  const { sound } = await render(toWav(tiny), { ffmpeg: counted });
  expect(sound.durationMs).toBe(26);
  expect(calls).toBe(4);
});

test.each(WRAPPED)('publishes $name', async ({ bytes }) => {
  const { sound } = await render(bytes);
  expect(sound.durationMs).toBeWithin(1990, 2060);
  expect(sound.loudnessAfterLufs).toBeWithin(TARGET_LUFS - 0.3, TARGET_LUFS + 0.3);
});

test.each([
  ['silence', silence(2)],
  ['a sound that is too quiet to hear', anAudio({ seconds: 2, shape: sine(440, 0.0009) })],
])('refuses %s', async (_, audio) => {
  await expectRefusal(render(toWav(audio)), 'silent');
});

test('keeps true peaks under the ceiling at the loudest setting', async () => {
  const { directory } = await render(findClip('vorbis'), { targetLufs: -10 });
  const measured = await judge(directory);
  expect(measured.truePeakDbtp).toBeLessThanOrEqual(-0.9);
  expect(Math.abs(measured.integratedLufs + 10)).toBeLessThanOrEqual(0.5);
});

test('honours another length and another loudness', async () => {
  const { directory } = await render(findClip('vorbis'), { maxSeconds: 3, targetLufs: -24 });
  const measured = await judge(directory);
  expect(Math.abs(measured.seconds - 3)).toBeLessThanOrEqual(0.05);
  expect(Math.abs(measured.integratedLufs + 24)).toBeLessThanOrEqual(0.5);
});

test('a cut sound fades out over 0.8 s, and one that ends by itself over 10 ms', async () => {
  const tone = anAudio({ seconds: 3, shape: sine(440, 0.3) });
  const middleOfFade = async (maxSeconds: number): Promise<number> => {
    const { directory } = await render(toWav(tone), { maxSeconds });
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

async function judge(directory: string) {
  return judgeLoudness(await decodeMp3(directory, SOUND_NAME));
}

/** @param part of its name. */
function findClip(part: string): Uint8Array {
  const clip = corpus.find(({ name }) => name.includes(part));
  if (!clip) throw new Error(`no clip ${part}`);
  return clip.bytes;
}
