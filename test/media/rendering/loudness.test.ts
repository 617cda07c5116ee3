import { afterAll, expect, setDefaultTimeout, test } from 'bun:test';
import { join } from 'node:path';
import { type Loudness, measureLoudness } from '../../../media/rendering/loudness.ts';
import { MIX_FILTERS } from '../../../media/rendering/voice.ts';
import { type Audio, anAudio, sine, toWav } from '../../support/audio/audio.ts';
import { aTone, LOUDNESS_CASES } from '../../support/audio/ebu-tech-3341.ts';
import { JUDGED_ENGINE, makeFolder, openEngine } from '../../support/audio/ffmpeg-engines.ts';

setDefaultTimeout(240_000);

const folder = await makeFolder('loudness');
afterAll(folder.remove);

const ffmpeg = await openEngine(JUDGED_ENGINE);
afterAll(() => ffmpeg.close());

async function measure(
  audio: Audio,
  { filter, frames }: { filter?: string; frames?: number } = {},
): Promise<Loudness> {
  await Bun.write(join(folder.path, 'clip.wav'), toWav(audio));
  const samples = audio.channels[0] ?? new Float32Array();
  return measureLoudness(ffmpeg, folder.path, {
    input: { name: 'clip.wav', options: ['-v', 'error', '-f', 'wav'] },
    format: { sampleRate: audio.sampleRate, channels: 2 },
    frames: frames ?? samples.length,
    peak: samples.reduce((peak, sample) => Math.max(peak, Math.abs(sample)), 0),
    ...(filter !== undefined && { filters: [filter] }),
  });
}

test.each(LOUDNESS_CASES)(
  'measures case $name of EBU Tech 3341 within 0.1 LU',
  async ({ audio, expected }) => {
    const { integratedLufs } = await measure(audio());
    expect(Math.abs(integratedLufs - expected)).toBeLessThanOrEqual(0.1);
  },
);

test.each([0.03, 0.3, 3])('measures a tone of %d s, at the loudness of its repetition', async (seconds) => {
  const { integratedLufs } = await measure(aTone(-23, seconds));
  expect(Math.abs(integratedLufs + 23)).toBeLessThanOrEqual(0.1);
});

test.each([-55, 18])('measures a tone of %d dBFS', async (level) => {
  const { integratedLufs, truePeakDbtp } = await measure(aTone(level, 3));
  expect(Math.abs(integratedLufs - level)).toBeLessThanOrEqual(0.1);
  expect(Math.abs(truePeakDbtp - level)).toBeLessThanOrEqual(0.1);
});

test('measures only the beginning', async () => {
  const audio = anAudio({ seconds: 8, shape: (at) => sine(1000, at < 4 ? 0.05 : 0.5)(at, 0) });
  const expected = 20 * Math.log10(0.05);
  const { integratedLufs, truePeakDbtp } = await measure(audio, { frames: 4 * 44_100 });
  expect(Math.abs(integratedLufs - expected)).toBeLessThanOrEqual(0.1);
  expect(Math.abs(truePeakDbtp - expected)).toBeLessThanOrEqual(0.2);
});

test.each([
  { mix: 'both', filter: 'anull', level: 20 * Math.log10(Math.hypot(1, 0.5)), peak: 0 },
  { mix: 'average', filter: MIX_FILTERS.average, level: 20 * Math.log10(0.75), peak: 20 * Math.log10(0.75) },
  { mix: 'left', filter: MIX_FILTERS.left, level: 0, peak: 0 },
  { mix: 'right', filter: MIX_FILTERS.right, level: 20 * Math.log10(0.5), peak: 20 * Math.log10(0.5) },
])('measures $mix of two channels', async ({ filter, level, peak }) => {
  const shape = (at: number, channel: number) => (channel === 0 ? 0.1 : 0.05) * sine(1000, 1)(at, 0);
  const { integratedLufs, truePeakDbtp } = await measure(anAudio({ seconds: 3, shape }), { filter });
  expect(Math.abs(integratedLufs - (level - 23.01))).toBeLessThanOrEqual(0.1);
  expect(Math.abs(truePeakDbtp - (peak - 20))).toBeLessThanOrEqual(0.1);
});

test.each([
  // All samples are 3 dB below the peak, as in case 16 of EBU Tech 3341.
  {
    where: 'between samples',
    shape: (at: number) => fadeIn(at) * sine(11_025, 0.5)(at + 1 / 88_200, 0),
    peak: -6,
  },
  // A jump from silence overshoots.
  { where: 'at the very start', shape: (at: number) => 0.5 * Math.exp(-200 * at), peak: -4.94 },
])('finds a true peak $where', async ({ shape, peak }) => {
  const { truePeakDbtp } = await measure(anAudio({ seconds: 1, shape }));
  expect(truePeakDbtp - peak).toBeWithin(-0.4, 0.2);
});

const fadeIn = (seconds: number): number => Math.min(1, seconds * 100, (1 - seconds) * 100);
