import { and, asc, eq, inArray, sql } from 'drizzle-orm';
import type { Db } from '../../db/client.ts';
import { retryVictim } from '../../db/retry.ts';
import { penalties } from '../../db/schema/penalties.ts';
import { isDue } from './filter.ts';

/** A clock that is ahead by less marks nothing that is not over. */
const MARK_AFTER = sql`interval '1 hour'`;

/**
 * Marks ACTIVE rows as EXPIRED that ended an hour ago or earlier by `now` and by the database's own clock alike, so that
 * few are left for each response to correct.
 * @param limit rows at most, in one statement.
 * @returns how many were marked.
 */
export async function markExpiredPenalties(db: Db, now: Date, limit = 5000): Promise<number> {
  const due = () =>
    db
      .select({ id: penalties.id })
      .from(penalties)
      .where(isDue(sql`least(${now.toISOString()}::timestamptz, now()) - ${MARK_AFTER}`))
      .orderBy(asc(penalties.endsAt));
  // Any update waits for other writers, an import perhaps: none is begun without need.
  if ((await due().limit(1)).length === 0) return 0;
  const marked = await retryVictim(() =>
    db
      .update(penalties)
      .set({ status: 'EXPIRED' })
      .where(and(inArray(penalties.id, due().limit(limit)), eq(penalties.status, 'ACTIVE')))
      .returning({ id: penalties.id }),
  );
  return marked.length;
}
