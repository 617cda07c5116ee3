import type { Db } from '../../db/client.ts';
import { markExpiredPenalties } from '../../queries/penalties/expiry.ts';

/** How often to sweep. A clock that is wrong for a shorter time marks nothing. */
export const EXPIRY_SWEEP_MS = 60_000;

/**
 * Creates the work that marks penalties as expired. A mark cannot be undone, and lists are correct without it: so each
 * sweep uses the earlier of its own and the previous sweep's time, and the first sweep marks nothing.
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
