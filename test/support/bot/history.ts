import type { HistoryPoint } from '../../../src/queries/servers/samples.ts';

const to = new Date('2026-11-21T12:00:00Z');
const from = new Date(to.getTime() - 86_400_000);

/** The day that {@link SAMPLE_HISTORY} is about. */
export const SAMPLE_RANGE = { from, to, stepSeconds: 300 };

/** Twelve players all day; offline from hour 8 to 10, not polled from hour 16 to 18. */
export const SAMPLE_HISTORY: readonly HistoryPoint[] = Array.from({ length: 288 }, (_, step) => step)
  .filter((step) => step < 192 || step >= 216)
  .map((step) => {
    const isOnline = step < 96 || step >= 120;
    return {
      at: new Date(from.getTime() + step * 300_000),
      polledSeconds: 300,
      playersAverage: isOnline ? 12 : 0,
      playersMaximum: isOnline ? 14 : 0,
      maxPlayers: 32,
      onlineShare: isOnline ? 1 : 0,
    };
  });
