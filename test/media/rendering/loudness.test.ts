import { expect, setDefaultTimeout, test } from 'bun:test';
import { join } from 'node:path';
import { type Loudness, measureLoudness } from '../../../media/rendering/loudness.ts';
import { MIX_FILTERS } from '../../../media/rendering/voice.ts';
import { type Audio, anAudio, sequence, sine, toWav } from '../../support/audio/audio.ts';
import { judgeLoudness } from '../../support/audio/loudness-meter.ts';
import { openRendering } from '../../support/audio/rendering.ts';

setDefaultTimeout(240_000);

const { ffmpeg, folder } = await openRendering();

/** A stereo sine of 1 kHz. @param level the peak of each channel, in dBFS. */
function aTone(level: number, seconds: number): Audio {
  return anAudio({ seconds, shape: sine(1000, 10 ** (level / 20)) });
}

function aSequence(...parts: [level: number, seconds: number][]): Audio {
  return sequence(...parts.map(([level, seconds]) => aTone(level, seconds)));
}

/** EBU Tech 3341 table 1, cases 1 to 5, with the expected loudness in LUFS. */
const LOUDNESS_CASES = [
  { name: '1', audio: aSequence([-23, 20]), expected: -23 },
  { name: '2', audio: aSequence([-33, 20]), expected: -33 },
  { name: '3', audio: aSequence([-36, 10], [-23, 60], [-36, 10]), expected: -23 },
  { name: '4', audio: aSequence([-72, 10], [-36, 10], [-23, 60], [-36, 10], [-72, 10]), expected: -23 },
  { name: '5', audio: aSequence([-26, 20], [-20, 20.1], [-26, 20]), expected: -23 },
];

async function measure(
  audio: Audio,
  { filter, frames }: { filter?: string; frames?: number } = {},
): Promise<Loudness> {
  await Bun.write(join(folder, 'clip.wav'), toWav(audio));
  const samples = audio.channels[0] ?? new Float32Array();
  return measureLoudness(ffmpeg, folder, {
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
    const { integratedLufs } = await measure(audio);
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

test.each(LOUDNESS_CASES)(
  'the meter of the tests meets case $name of EBU Tech 3341 within 0.1 LU',
  ({ audio, expected }) => {
    expect(Math.abs(judgeLoudness(audio).integratedLufs - expected)).toBeLessThanOrEqual(0.1);
  },
);

test('the meter of the tests finds the true peak between the samples, as cases 15 to 18 of EBU Tech 3341 ask', () => {
  // A quarter of the sample rate, 45 degrees off: every sample is 3 dB below the peak.
  const shape = (at: number) => 0.5 * Math.sin(2 * Math.PI * 11_025 * at + Math.PI / 4);
  const { truePeakDbtp } = judgeLoudness(anAudio({ seconds: 1, shape }));
  expect(truePeakDbtp).toBeGreaterThan(-6.4);
  expect(truePeakDbtp).toBeLessThan(-5.8);
});

test('the meter of the tests measures a clip of 0.3 s as a loop', () => {
  expect(Math.abs(judgeLoudness(aTone(-23, 0.3)).integratedLufs + 23)).toBeLessThanOrEqual(0.1);
});
