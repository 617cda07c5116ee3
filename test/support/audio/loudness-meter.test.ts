import { expect, setDefaultTimeout, test } from 'bun:test';
import { anAudio } from './audio.ts';
import { aTone, LOUDNESS_CASES } from './ebu-tech-3341.ts';
import { measureLoudness } from './loudness-meter.ts';

setDefaultTimeout(240_000);

test.each(LOUDNESS_CASES)('meets case $name of EBU Tech 3341 within 0.1 LU', ({ audio, expected }) => {
  expect(Math.abs(measureLoudness(audio()).integratedLufs - expected)).toBeLessThanOrEqual(0.1);
});

test('finds the true peak between the samples, as cases 15 to 18 of EBU Tech 3341 ask', () => {
  // A quarter of the sample rate, 45 degrees off: every sample is 3 dB below the peak.
  const audio = anAudio({
    seconds: 1,
    shape: (seconds) => 0.5 * Math.sin(2 * Math.PI * 11_025 * seconds + Math.PI / 4),
  });
  const { truePeakDbtp } = measureLoudness(audio);
  expect(truePeakDbtp).toBeGreaterThan(-6.4);
  expect(truePeakDbtp).toBeLessThan(-5.8);
});

test('measures a clip of 0.3 s as a loop', () => {
  expect(Math.abs(measureLoudness(aTone(-23, 0.3)).integratedLufs + 23)).toBeLessThanOrEqual(0.1);
});
