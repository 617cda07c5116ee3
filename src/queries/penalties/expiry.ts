import { asc, inArray, type SQL, sql } from 'drizzle-orm';
import type { Db, Tx } from '../../db/client.ts';
import { penalties } from '../../db/schema/penalties.ts';
import { dueCondition } from './filter.ts';
import { writePenalties } from './write.ts';

/**
 * The time by which EXPIRED is stored: the earlier of `now` and one hour before the database's clock, so that a process
 * clock that is ahead, or both clocks ahead by less than an hour, expire nothing. Responses do not depend on the mark.
 */
function expiryMark(now: Date): SQL<string> {
  return sql`least(${now.toISOString()}::timestamptz, now() - interval '1 hour')`;
}

/** The {@link expiryMark}, for rows that are marked before they are written. */
export async function loadExpiryMark(db: Db, now: Date): Promise<Date> {
  const [row] = await db.execute<{ mark: string }>(sql`select ${expiryMark(now)} as mark`);
  if (!row) throw new Error('the database does not tell its time');
  return new Date(row.mark);
}

/**
 * Marks as EXPIRED the ACTIVE rows that ended before the {@link expiryMark}, so that responses have few rows to
 * correct.
 * @param limit the most rows of one statement.
 * @returns how many were marked; 0 while others keep writing.
 */
export async function markExpiredPenalties(db: Db, now: Date, limit = 5000): Promise<number> {
  const selectDue = () =>
    db
      .select({ id: penalties.id })
      .from(penalties)
      .where(dueCondition(expiryMark(now)))
      .orderBy(asc(penalties.endsAt));
  // The update waits for other writers, such as an import, so it only runs when there is something to do.
  if ((await selectDue().limit(1)).length === 0) return 0;
  const mark = async (tx: Tx): Promise<number> => {
    const { count } = await tx
      .update(penalties)
      .set({ status: 'EXPIRED' })
      .where(inArray(penalties.id, selectDue().limit(limit)));
    return count;
  };
  return writePenalties(db, mark, { ifBusy: 0 });
}
