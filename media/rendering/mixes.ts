import type { Loudness } from './measurement.ts';

/** Filters that mix two channels into one; `both` keeps them. */
export const MIXES = {
  both: 'anull',
  average: 'pan=mono|c0=0.5*c0+0.5*c1',
  left: 'pan=mono|c0=c0',
  right: 'pan=mono|c0=c1',
} as const;
export type Mix = keyof typeof MIXES;

/** Loudness of both channels of a sound, and of their average. */
export type MeasuredChannels = Record<'both' | 'average', Loudness>;

/** One of two equal channels is this much quieter than both: BS.1770 adds the power of the channels. */
const ONE_OF_TWO_CHANNELS_LU = 3.01;
/** If averaging loses more than this, the channels cancel each other out: then the louder channel is used. */
const MOST_AVERAGING_LOSS_LU = 6;

/** Whether the average of two channels may be used for both. */
export function isAverageEnough({ both, average }: MeasuredChannels): boolean {
  const loss = both.integratedLufs - ONE_OF_TWO_CHANNELS_LU - average.integratedLufs;
  return loss <= MOST_AVERAGING_LOSS_LU;
}
