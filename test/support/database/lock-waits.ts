import { sql } from 'drizzle-orm';
import type { Db } from '../../../src/db/client.ts';

/** How many sessions of this database wait for a lock. */
export async function countWaiting(db: Db): Promise<number> {
  const [row] = await db.execute(sql`
    select count(distinct pid)::int as count from pg_locks join pg_stat_activity using (pid)
    where not granted and datname = current_database()`);
  return Number(row?.count);
}
