import type { Db } from '../../db/client.ts';
import { markExpiredPenalties } from '../../queries/penalties/expiry.ts';

/** How often to sweep. A clock that is wrong for less than that marks nothing. */
export const EXPIRY_SWEEP_MS = 60_000;

/**
 * Makes the work that marks penalties whose time ran out. Lists correct for them whether or not they are marked, a
 * mark stays: so it goes by the earlier of this sweep's and the last sweep's reading of the clock, and the first sweep
 * only reads it.
 */
export function createExpirySweep(db: Db, now: () => Date): () => Promise<void> {
  let last: Date | undefined;
  return async () => {
    const reading = now();
    const before = last;
    last = reading;
    if (before === undefined) return;
    const earlier = new Date(Math.min(before.getTime(), reading.getTime()));
    while ((await markExpiredPenalties(db, earlier)) > 0);
  };
}
