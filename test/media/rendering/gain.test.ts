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
const close = (value: number) => expect.closeTo(value, 6);

test('a clip below -60 LUFS counts as silent', () => {
  expect(SILENT_LUFS).toBe(-60);
});

describe('planGain', () => {
  test('raises a clip to the target plus the loss of the encoder, without the limiter while peaks fit', () => {
    expect(planGain(TASK)).toEqual({ gainDb: close(5.1), ceilingDb: undefined });
  });

  test('runs the limiter from the first peak above its ceiling', () => {
    expect(planGain(withSource(-23, -6.6)).ceilingDb).toBeUndefined();
    expect(planGain(withSource(-23, -6.59))).toEqual({ gainDb: close(5.1), ceilingDb: -1.5 });
  });

  test('gives no more gain than the limiter may take back, and never more than 40 dB', () => {
    expect(planGain(withSource(-23, 2))).toEqual({ gainDb: close(2.5), ceilingDb: -1.5 });
    expect(planGain(withSource(-70, -60))).toEqual({ gainDb: 40, ceilingDb: undefined });
  });
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
  ])('a sound of %d LUFS and %d dBTP has the right loudness: %p', (integratedLufs, truePeakDbtp, isRight) => {
    expect(isRightLoudness({ integratedLufs, truePeakDbtp }, TASK, plan)).toBe(isRight);
  });

  test('accepts a loudness up to and including 0.3 LU from the target', () => {
    const task = { ...TASK, targetLufs: 0 };
    expect(isRightLoudness({ integratedLufs: 0.3, truePeakDbtp: -3 }, task, plan)).toBe(true);
  });

  test('lets a clip at its bounds be quieter, never louder', () => {
    const task = withSource(-23, 2);
    const bound = planGain(task);
    expect(isRightLoudness({ integratedLufs: -20, truePeakDbtp: -2 }, task, bound)).toBe(true);
    expect(isRightLoudness({ integratedLufs: -16, truePeakDbtp: -2 }, task, bound)).toBe(false);
    const below = (lessDb: number) => ({ ...bound, gainDb: bound.gainDb - lessDb });
    expect(isRightLoudness({ integratedLufs: -20, truePeakDbtp: -2 }, task, below(0.04))).toBe(true);
    expect(isRightLoudness({ integratedLufs: -20, truePeakDbtp: -2 }, task, below(0.05))).toBe(false);
    expect(isRightLoudness({ integratedLufs: -20, truePeakDbtp: -2 }, task, below(0.06))).toBe(false);
  });
});

describe('correctGain', () => {
  const plan = { gainDb: 5, ceilingDb: undefined };

  test('corrects the whole error if the limiter is not active', () => {
    const result = { integratedLufs: -18.5, truePeakDbtp: -4 };
    expect(correctGain(plan, result, TASK)).toEqual({
      gainDb: close(5.5),
      ceilingDb: undefined,
    });
  });

  test('keeps the gain within half the tolerance', () => {
    for (const integratedLufs of [-18.15, -18, -17.85]) {
      const result = { integratedLufs, truePeakDbtp: -4 };
      expect(correctGain(plan, result, TASK).gainDb).toBe(5);
    }
    const result = { integratedLufs: -17.84, truePeakDbtp: -4 };
    expect(correctGain(plan, result, TASK).gainDb).toBeCloseTo(4.84, 6);
    const atHalf = { integratedLufs: 0.15, truePeakDbtp: -4 };
    expect(correctGain(plan, atHalf, { ...TASK, targetLufs: 0 }).gainDb).toBe(5);
  });

  test('lowers the ceiling by as much as peaks exceed -1 dBTP, plus 0.1 dB', () => {
    const result = { integratedLufs: -18, truePeakDbtp: -0.6 };
    expect(correctGain(plan, result, TASK).ceilingDb).toBeCloseTo(-2, 6);
    const limited = { gainDb: 5, ceilingDb: -2 };
    expect(correctGain(limited, result, TASK).ceilingDb).toBeCloseTo(-2.5, 6);
    const fitting = { integratedLufs: -18, truePeakDbtp: -1 };
    expect(correctGain(limited, fitting, TASK).ceilingDb).toBe(-2);
  });

  test('expects 0.6 LU per decibel while the limiter is active', () => {
    const result = { integratedLufs: -18.6, truePeakDbtp: -1.2 };
    expect(correctGain({ gainDb: 5, ceilingDb: -1.5 }, result, TASK).gainDb).toBeCloseTo(6, 6);
  });

  test('limits the corrected gain to what the limiter may reduce below a lower ceiling', () => {
    const task = withSource(-23, 2);
    const result = { integratedLufs: -20, truePeakDbtp: -0.6 };
    expect(correctGain(planGain(task), result, task)).toEqual({
      gainDb: close(2),
      ceilingDb: close(-2),
    });
  });
});

test('the better of two attempts is the one below the peak ceiling, else the one closer to the target', () => {
  const of = (integratedLufs: number, truePeakDbtp: number) => ({ integratedLufs, truePeakDbtp });
  expect(isBetterLoudness(of(-25, -1), of(-18, -0.9), -18)).toBe(true);
  expect(isBetterLoudness(of(-18, -0.9), of(-25, -1), -18)).toBe(false);
  expect(isBetterLoudness(of(-18.2, -2), of(-18.3, -2), -18)).toBe(true);
  expect(isBetterLoudness(of(-17.6, -2), of(-18.3, -2), -18)).toBe(false);
  expect(isBetterLoudness(of(-18.3, -2), of(-18.3, -2), -18)).toBe(false);
  expect(isBetterLoudness(of(-18.3, 0), of(-18.4, 0), -18)).toBe(true);
});

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
