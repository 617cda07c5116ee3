import type { MeasuredMixes, Mix } from './measurement.ts';

/** Filters that mix two channels into one; `both` keeps them. */
export const MIX_FILTERS: Record<Mix, string> = {
  both: 'anull',
  average: 'pan=mono|c0=0.5*c0+0.5*c1',
  left: 'pan=mono|c0=c0',
  right: 'pan=mono|c0=c1',
};

/** One of two equal channels is this much quieter than both: BS.1770 adds the power of the channels. */
const ONE_OF_TWO_CHANNELS_LU = 3.01;
/** If averaging loses more than this, the channels cancel each other out, and the louder channel is used instead. */
const MAX_AVERAGING_LOSS_LU = 6;

/** Which mix of two channels is used in place of both. */
export function chooseMix({ both, average, left, right }: MeasuredMixes): Exclude<Mix, 'both'> {
  const loss = both.integratedLufs - ONE_OF_TWO_CHANNELS_LU - average.integratedLufs;
  if (loss <= MAX_AVERAGING_LOSS_LU) return 'average';
  return left.integratedLufs >= right.integratedLufs ? 'left' : 'right';
}
