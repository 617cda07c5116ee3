import { and, asc, eq, ne, type SQL, sql } from 'drizzle-orm';
import { type Db, inTransaction, type Tx } from '../../db/client.ts';
import { hasWaitedForLock, limitLockWaits } from '../../db/locks.ts';
import { appeals } from '../../db/schema/appeals.ts';
import { penalties } from '../../db/schema/penalties.ts';
import { type AppealEnding, isCarriedOut } from '../../domain/appeal.ts';
import { statusSql } from '../penalties/filter.ts';
import { holdOffErasures } from '../personal-data/tombstones.ts';
import { type Appeal, changeAppeal, IS_APPEALED, recordChange, waitFor } from './appeals.ts';

/**
 * Closes undecided appeals whose penalty is over, and records for accepted ones that the penalty is over or in force
 * again. Several processes may do it at once.
 * @returns how many appeals changed; those that others block are left for the next time.
 */
export async function settleAppeals(db: Db, now: Date): Promise<number> {
  const ending = endingSql(sql`${now.toISOString()}::timestamptz`);
  const isDue = sql`${appeals.state} in ('undecided', 'accepted') and (${ending} is null) <> (${appeals.ending} is null)`;
  const selectDue = (source: Db | Tx, where?: SQL) =>
    source
      .select({ appeal: appeals, ending })
      .from(appeals)
      .where(and(isDue, where))
      .orderBy(asc(appeals.id));
  const due = await selectDue(db);
  let settled = 0;
  try {
    for (const { appeal } of due) {
      await inTransaction(db, async (tx) => {
        await limitLockWaits(tx);
        await holdOffErasures(tx);
        const [row] = await selectDue(tx, eq(appeals.id, appeal.id)).for('update', { of: appeals });
        if (row) await settle(tx, row.appeal, { ending: row.ending, now });
      });
      settled += 1;
    }
  } catch (error) {
    if (!hasWaitedForLock(error)) throw error;
  }
  return settled;
}

/**
 * How the penalty of an appeal ended; null while it is in force. Looked up one by one: for a join, the planner reads all
 * penalties.
 */
function endingSql(now: SQL): SQL<AppealEnding | null> {
  // CS2-SimpleAdmin has no status for a lifted warning: it expires before its end. Clocks may differ by a minute.
  const isLiftedWarning = sql`${penalties.type} = 'warn' and ${penalties.status} = 'EXPIRED'
    and (${penalties.endsAt} is null or ${penalties.endsAt} > ${now} + interval '1 minute')`;
  return sql`nullif(coalesce((
    select case
      when ${penalties.goneAt} is not null then 'removed'
      when ${penalties.status} = 'UNBANNED' or (${isLiftedWarning}) then 'lifted'
      when ${ne(statusSql(now), 'ACTIVE')} then 'expired'
      else 'in force'
    end from ${penalties} where ${IS_APPEALED}
  ), 'removed'), 'in force')`;
}

async function settle(
  tx: Tx,
  appeal: Appeal,
  { ending, now }: { ending: AppealEnding | null; now: Date },
): Promise<void> {
  const change = { event: 'appeal.decided', by: 'service' } as const;
  if (appeal.state === 'undecided') {
    await recordChange(tx, appeal, { actor: 'service', action: 'appeal.closed' });
    const closed = { state: 'closed', ending, decidedAt: now, waitsFor: null, news: 'closed' } as const;
    await changeAppeal(tx, appeal, { ...closed, ...change });
  } else if (ending === null) {
    await changeAppeal(tx, appeal, { ending, ...waitFor(appeal, 'lift', now), ...change });
  } else {
    const isLifted = isCarriedOut({ ...appeal, ending });
    const news = isLifted && ({ news: 'carriedOut' } as const);
    await changeAppeal(tx, appeal, { ending, waitsFor: null, ...news, ...change });
  }
}
