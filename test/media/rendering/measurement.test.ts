import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test';
import { join } from 'node:path';
import { type Ffmpeg, RENDER_LIMITS } from '../../../media/ffmpeg/ffmpeg.ts';
import { createMeter, type MeasuredMixes } from '../../../media/rendering/measurement.ts';
import { MIX_FILTERS } from '../../../media/rendering/mixes.ts';
import {
  type Audio,
  anAudio,
  clicks,
  drums,
  musicLike,
  noise,
  sequence,
  silence,
  sine,
  speechLike,
  toWav,
} from '../../support/audio/audio.ts';
import { aTone, LOUDNESS_CASES } from '../../support/audio/ebu-tech-3341.ts';
import { ENGINES, isOnThisMachine, makeFolder, openEngine } from '../../support/audio/ffmpeg-engines.ts';
import { addInParts } from '../../support/audio/samples.ts';

setDefaultTimeout(240_000);

const folder = await makeFolder('measurement');
afterAll(folder.remove);

describe('EBU Tech 3341', () => {
  test.each(LOUDNESS_CASES)('measures case $name within 0.1 LU', ({ audio, expected }) => {
    const { both } = measure(audio());
    expect(Math.abs(both.integratedLufs - expected)).toBeLessThanOrEqual(0.1);
  });

  /** The phase in degrees decides how far every sample stays below the peak; at fractions of the sample rate. */
  test.each([
    { name: '15', fraction: 4, phase: 0, amplitude: 0.5, expected: -6 },
    { name: '16', fraction: 4, phase: 45, amplitude: 0.5, expected: -6 },
    { name: '17', fraction: 6, phase: 60, amplitude: 0.5, expected: -6 },
    { name: '18', fraction: 8, phase: 67.5, amplitude: 0.5, expected: -6 },
    { name: '19', fraction: 4, phase: 45, amplitude: 1.41, expected: 3 },
  ])(
    'finds the true peak of case $name between +0.2 and -0.4 dB',
    ({ fraction, phase, amplitude, expected }) => {
      const shape = (seconds: number) =>
        // Faded in and out: an abrupt start would have a peak of its own.
        amplitude *
        Math.min(1, seconds * 100, (1 - seconds) * 100) *
        Math.sin(2 * Math.PI * ((seconds * 44_100) / fraction + phase / 360));
      const { truePeakDbtp } = measure(anAudio({ seconds: 1, shape })).both;
      expect(truePeakDbtp - expected).toBeGreaterThanOrEqual(-0.4);
      expect(truePeakDbtp - expected).toBeLessThanOrEqual(0.2);
    },
  );
});

const CLIPS: { name: string; audio: Audio }[] = [
  { name: 'music', audio: anAudio({ seconds: 6, shape: musicLike(0.7) }) },
  { name: 'speech, mono', audio: anAudio({ seconds: 4, shape: speechLike(0.4), channels: 1 }) },
  { name: 'drums at 48 kHz', audio: anAudio({ seconds: 4, shape: drums(0.9), sampleRate: 48_000 }) },
  { name: 'noise', audio: anAudio({ seconds: 3, shape: noise(0.9) }) },
  {
    name: 'a tone of 9 kHz that starts at its peak',
    audio: anAudio({ seconds: 3, shape: (at) => sine(9000, 0.5)(at + 1 / 36_000, 0) }),
  },
  { name: 'clicks', audio: anAudio({ seconds: 4, shape: clicks(0.8) }) },
  {
    name: 'music with pauses',
    audio: sequence(
      anAudio({ seconds: 2, shape: musicLike(0.7) }),
      silence(3),
      anAudio({ seconds: 2, shape: musicLike(0.1) }),
    ),
  },
];
const MIXES = ['both', 'average', 'left', 'right'] as const;

for (const engine of ENGINES) {
  describe.skipIf(!isOnThisMachine(engine))(`compared with ebur128 of the ${engine} engine`, () => {
    let ffmpeg: Ffmpeg;
    beforeAll(async () => {
      ffmpeg = await openEngine(engine, folder.path);
    });
    afterAll(() => ffmpeg.close());

    test.each(CLIPS)('$name is as loud, with the same true peak', async ({ audio }) => {
      const measured = measure(audio);
      for (const mix of audio.channels.length === 1 ? (['both'] as const) : MIXES) {
        const { integratedLufs, truePeakDbtp } = await measureByFfmpeg(ffmpeg, audio, MIX_FILTERS[mix]);
        expect(Math.abs(measured[mix].integratedLufs - integratedLufs)).toBeLessThanOrEqual(0.02);
        expect(Math.abs(measured[mix].truePeakDbtp - truePeakDbtp)).toBeLessThanOrEqual(0.2);
      }
    });
  });
}

/** A tone of 1 kHz at a low sample rate, which is quick to measure. */
const aFastTone = (level: number, seconds: number, { right = 1, channels = 2 } = {}): Audio => {
  const tone = sine(1000, 10 ** (level / 20));
  const shape = (at: number, channel: number) => (channel === 0 ? 1 : right) * tone(at, channel);
  return anAudio({ seconds, shape, sampleRate: 8000, channels });
};
const SILENT = { integratedLufs: Number.NEGATIVE_INFINITY, truePeakDbtp: Number.NEGATIVE_INFINITY };
const ALL_SILENT: MeasuredMixes = { both: SILENT, average: SILENT, left: SILENT, right: SILENT };

test.each([
  { left: 'louder', right: 0.5, average: 0.75, louder: 1 },
  { left: 'quieter', right: 2, average: 1.5, louder: 2 },
])(
  'each mix has its own loudness and true peak where the left channel is $left',
  ({ right, average, louder }) => {
    const tone = aFastTone(-23, 3, { right });
    const like = (ratio: number, peak = ratio) => ({
      integratedLufs: expect.closeTo(-26.01 + 20 * Math.log10(ratio), 1),
      truePeakDbtp: expect.closeTo(-23 + 20 * Math.log10(peak), 1),
    });
    expect(measure(tone)).toEqual({
      both: like(Math.hypot(1, right), louder),
      average: like(average),
      left: like(1),
      right: like(right),
    });
  },
);

test('one channel is every mix, as loud as one of two', () => {
  const { left } = measure(aFastTone(-23, 3));
  expect(measure(aFastTone(-23, 3, { channels: 1 }))).toEqual({
    both: left,
    average: left,
    left,
    right: left,
  });
});

describe('loudness leaves out', () => {
  const loud = aFastTone(-20, 1, { channels: 1 });
  const quiet = aFastTone(-34, 1, { channels: 1 });
  const pause = silence(3, { sampleRate: 8000, channels: 1 });
  /** Ten blocks contain some of the loud second: seven nothing else, three the quiet one for 100, 200 and 300 ms. */
  const expected = -23.01 + 10 * Math.log10((8.5 + 1.5 * 10 ** (-14 / 10)) / 10);

  test.each([
    { name: 'end', parts: [loud, quiet, pause] },
    { name: 'start', parts: [pause, quiet, loud] },
  ])('parts 10 LU quieter than the rest, which is judged without pauses, at the $name', ({ parts }) => {
    expect(measure(sequence(...parts)).both.integratedLufs).toBeCloseTo(expected, 1);
  });
});

test('a clip of 0.3 s, and one of two samples, is as loud as its repetition', () => {
  expect(measure(aTone(-23, 0.3)).both.integratedLufs).toBeCloseTo(-23, 1);
  const tiny = (samples: number) => anAudio({ seconds: samples / 44_100, shape: () => 0.5 });
  expect(measure(tiny(2)).both.integratedLufs).toBe(measure(tiny(4)).both.integratedLufs);
});

test('silence and clips without samples have neither loudness nor peak', () => {
  expect(measure(silence(3, { sampleRate: 8000 }))).toEqual(ALL_SILENT);
  for (const frames of [0, 10]) {
    expect(createMeter({ sampleRate: 8000, channels: 2 }, { frames }).finish()).toEqual(ALL_SILENT);
  }
});

test.each([2, 3])('a clip of %d s is measured alike however its samples arrive', (seconds) => {
  const audio = anAudio({ seconds, shape: musicLike(0.7), sampleRate: 8000 });
  expect(measure(audio, 2)).toEqual(measure(audio, 100_000));
});

function measure(audio: Audio, samplesAtOnce = 9998): MeasuredMixes {
  const channels = audio.channels.length === 1 ? 1 : 2;
  const frames = audio.channels[0]?.length ?? 0;
  const interleaved = Float32Array.from(
    { length: frames * channels },
    (_, at) => audio.channels[at % channels]?.[Math.floor(at / channels)] ?? 0,
  );
  const meter = createMeter({ sampleRate: audio.sampleRate, channels }, { frames });
  addInParts(meter, interleaved, samplesAtOnce);
  return meter.finish();
}

/** A tenth of a second of silence before the clip: the meter's resampler misses a peak at its very start. */
async function measureByFfmpeg(
  ffmpeg: Ffmpeg,
  audio: Audio,
  mixing: string,
): Promise<{ integratedLufs: number; truePeakDbtp: number }> {
  const read = async (filters: string, key: string): Promise<number> => {
    await Bun.write(join(folder.path, 'clip.wav'), toWav(audio));
    await ffmpeg.run(
      {
        directory: folder.path,
        input: { name: 'clip.wav', options: ['-v', 'error', '-f', 'wav'] },
        output: { options: ['-af', `${mixing},${filters},ametadata=mode=print:file=meter.txt`] },
        sideOutputs: ['meter.txt'],
      },
      RENDER_LIMITS,
    );
    const text = await Bun.file(join(folder.path, 'meter.txt')).text();
    const values = [...text.matchAll(new RegExp(`lavfi\\.r128\\.${key}=(\\S+)`, 'g'))].map(([, value]) =>
      Number(value),
    );
    return key === 'I' ? (values.at(-1) ?? Number.NaN) : Math.max(...values);
  };
  const peak = await read(
    'adelay=delays=100:all=1,apad=pad_dur=0.2,ebur128=metadata=1:peak=true',
    'true_peaks_ch[01]',
  );
  return { integratedLufs: await read('ebur128=metadata=1', 'I'), truePeakDbtp: 20 * Math.log10(peak) };
}
