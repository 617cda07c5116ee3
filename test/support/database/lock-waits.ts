import { sql } from 'drizzle-orm';
import { type Db, inTransaction, type Tx } from '../../../src/db/client.ts';
import { waitFor } from '../wait.ts';

/** How many sessions of this database wait for a lock. */
export async function countWaiting(db: Db): Promise<number> {
  const [row] = await db.execute(sql`
    select count(distinct pid)::int as count from pg_locks join pg_stat_activity using (pid)
    where not granted and datname = current_database()`);
  return Number(row?.count);
}

/**
 * Starts works in this order while a transaction holds locks: each once the one before waits for a lock or has ended. Then
 * the transaction commits.
 * @param hold takes the locks.
 * @returns the results of the works.
 */
export async function queueBehind(
  db: Db,
  hold: (tx: Tx) => Promise<unknown>,
  works: readonly (() => Promise<unknown>)[],
): Promise<unknown[]> {
  const started: Promise<unknown>[] = [];
  let ended = 0;
  await inTransaction(db, async (tx) => {
    await hold(tx);
    for (const work of works) {
      const running = work().finally(() => {
        ended += 1;
      });
      started.push(running);
      await waitFor(async () => ended + (await countWaiting(db)) === started.length);
    }
  });
  return Promise.all(started);
}
