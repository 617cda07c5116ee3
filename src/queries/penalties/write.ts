import { type Db, inTransaction, type Tx } from '../../db/client.ts';
import { hasWaitedForLock, limitLockWaits, lockPenalties, retryConflicts } from '../../db/locks.ts';
import { holdOffErasures, lockErasures } from '../personal-data/tombstones.ts';

type Options<T> = {
  /** Blocks whoever writes about people, not only erasures. */
  isErasure?: boolean;
  /**
   * The result if other writers hold the lock for two seconds. For loops, which run again: while they wait, they would occupy
   * one of the two background connections.
   */
  ifBusy?: T;
  /** Runs before the other writers are blocked; if it returns a result, nothing is to be written. */
  unless?: (tx: Tx) => Promise<T | undefined>;
};

/**
 * Writes penalties in a transaction that blocks erasures and all other writers. Every write goes through it, apart from
 * migrations, restored backups and the demo's. Each lock is taken by a separate statement, because a statement does not
 * see commits made while it waited; later statements see which rows are due, changed or erased.
 * @param work may run several times, since it is repeated after deadlocks. It uses only its transaction: waiting for another
 * connection could deadlock.
 */
export async function writePenalties<T>(
  db: Db,
  work: (tx: Tx) => Promise<T>,
  { isErasure = false, ifBusy, unless }: Options<T> = {},
): Promise<T> {
  const write = async (tx: Tx): Promise<T> => {
    if (ifBusy !== undefined) await limitLockWaits(tx);
    await (isErasure ? lockErasures(tx) : holdOffErasures(tx));
    const result = await unless?.(tx);
    if (result !== undefined) return result;
    await lockPenalties(tx);
    return work(tx);
  };
  try {
    return await retryConflicts(() => inTransaction(db, write));
  } catch (error) {
    if (ifBusy === undefined || !hasWaitedForLock(error)) throw error;
    return ifBusy;
  }
}
