import { describe, expect, test } from 'bun:test';
import {
  correctGain,
  type GainTask,
  gainFilters,
  isBetterLoudness,
  isRightLoudness,
  planGain,
  SILENT_LUFS,
} from '../../../media/rendering/gain.ts';

/** A clip of -23 LUFS whose peaks are at -9 dBTP, to become -18 LUFS. */
const TASK: GainTask = {
  source: { integratedLufs: -23, truePeakDbtp: -9 },
  targetLufs: -18,
  encoderLossDb: 0.1,
  limiterCeilingDb: -1.5,
  maxReductionDb: 6,
};
const withSource = (integratedLufs: number, truePeakDbtp: number): GainTask => ({
  ...TASK,
  source: { integratedLufs, truePeakDbtp },
});
const result = (integratedLufs: number, truePeakDbtp: number) => ({ integratedLufs, truePeakDbtp });
const close = (value: number) => expect.closeTo(value, 6);

test('a clip below -60 LUFS counts as silent', () => {
  expect(SILENT_LUFS).toBe(-60);
});

test.each([
  ['raises a clip to the target plus the loss of the encoder', TASK, 5.1, undefined],
  ['leaves the limiter out while peaks are at its ceiling', withSource(-23, -6.6), 5.1, undefined],
  ['runs the limiter from the first peak above its ceiling', withSource(-23, -6.59), 5.1, -1.5],
  ['gives no more gain than the limiter may take back', withSource(-23, 2), 2.5, -1.5],
  ['never gives more than 40 dB', withSource(-70, -60), 40, undefined],
])('planGain %s', (_, task, gainDb, ceilingDb) => {
  expect(planGain(task)).toEqual({ gainDb: close(gainDb), ceilingDb });
});

describe('isRightLoudness', () => {
  const plan = planGain(TASK);
  test.each([
    [-18, -3, true],
    [-18.29, -3, true],
    [-17.71, -3, true],
    [-18.31, -3, false],
    [-17.69, -3, false],
    [-18, -1, true],
    [-18, -0.99, false],
  ])('a sound of %d LUFS and %d dBTP has the right loudness: %p', (lufs, dbtp, isRight) => {
    expect(isRightLoudness(result(lufs, dbtp), TASK, plan)).toBe(isRight);
  });

  test('accepts a loudness up to and including 0.3 LU from the target', () => {
    expect(isRightLoudness(result(0.3, -3), { ...TASK, targetLufs: 0 }, plan)).toBe(true);
  });

  test.each([
    ['accepts a quieter clip at its most gain', 0, -20, true],
    ['refuses a louder clip at its most gain', 0, -16, false],
    ['accepts a quieter clip 0.04 dB below its most gain', 0.04, -20, true],
    ['refuses a quieter clip 0.05 dB below its most gain', 0.05, -20, false],
    ['refuses a quieter clip 0.06 dB below its most gain', 0.06, -20, false],
  ])('%s', (_, lessDb, lufs, isRight) => {
    const task = withSource(-23, 2);
    const most = planGain(task);
    const plan = { ...most, gainDb: most.gainDb - lessDb };
    expect(isRightLoudness(result(lufs, -2), task, plan)).toBe(isRight);
  });
});

describe('correctGain', () => {
  const plan = { gainDb: 5, ceilingDb: undefined };
  const limited = (ceilingDb: number) => ({ gainDb: 5, ceilingDb });
  const loud = withSource(-23, 2);

  test.each([
    ['corrects the whole error if the limiter is not active', plan, result(-18.5, -4), 5.5, undefined],
    ['keeps a gain that is 0.15 LU too low', plan, result(-18.15, -4), 5, undefined],
    ['keeps a gain that is right', plan, result(-18, -4), 5, undefined],
    ['keeps a gain that is 0.15 LU too high', plan, result(-17.85, -4), 5, undefined],
    ['corrects an error of 0.16 LU', plan, result(-17.84, -4), 4.84, undefined],
    ['lowers the ceiling by the excess of a peak, plus 0.1 dB', plan, result(-18, -0.6), 5, -2],
    ['lowers a lower ceiling by as much', limited(-2), result(-18, -0.6), 5, -2.5],
    ['keeps the ceiling while peaks fit', limited(-2), result(-18, -1), 5, -2],
    ['expects 0.6 LU per decibel while the limiter is active', limited(-1.5), result(-18.6, -1.2), 6, -1.5],
  ])('%s', (_, before, measured, gainDb, ceilingDb) => {
    const after = correctGain(before, measured, TASK);
    expect(after).toEqual({ gainDb: close(gainDb), ceilingDb: ceilingDb && close(ceilingDb) });
  });

  test('keeps a gain that is off by exactly half the tolerance', () => {
    expect(correctGain(plan, result(0.15, -4), { ...TASK, targetLufs: 0 }).gainDb).toBe(5);
  });

  test('limits the corrected gain to what the limiter may reduce below a lower ceiling', () => {
    const after = correctGain(planGain(loud), result(-20, -0.6), loud);
    expect(after).toEqual({ gainDb: close(2), ceilingDb: close(-2) });
  });
});

test.each([
  [-25, -1, -18, -0.9, true],
  [-18, -0.9, -25, -1, false],
  [-18.2, -2, -18.3, -2, true],
  [-17.6, -2, -18.3, -2, false],
  [-18.3, -2, -18.3, -2, false],
  [-18.3, 0, -18.4, 0, true],
])(
  'the attempt below the peak ceiling, else the closer one, is the better of two: %d LUFS, %d dBTP than %d, %d: %p',
  (lufs, dbtp, otherLufs, otherDbtp, isBetter) => {
    expect(isBetterLoudness(result(lufs, dbtp), result(otherLufs, otherDbtp), -18)).toBe(isBetter);
  },
);

test('filters: only the gain, or the limiter at four times the rate', () => {
  expect(gainFilters({ gainDb: 5.12345, ceilingDb: undefined }, 44_100)).toEqual([
    'volume=5.1235dB:precision=double',
  ]);
  expect(gainFilters({ gainDb: -2, ceilingDb: -6.0206 }, 44_100)).toEqual([
    'volume=-2.0000dB:precision=double',
    'aresample=176400',
    'alimiter=limit=0.500000:level=false:attack=2:release=80:latency=true',
    'aresample=44100',
  ]);
});
