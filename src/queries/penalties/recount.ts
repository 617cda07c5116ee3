import { type Connection, openSession, type Transaction } from '../../db/client.ts';
import { lockPenalties } from '../../db/locks.ts';
import { PENALTY_STATUSES, PENALTY_TYPES } from '../../domain/penalty.ts';

export type Recount = {
  /** The number of tallies that should exist: of all, per server, per admin …; in total, by month and by day. */
  tallies: number;
  /** How many are or were wrong, including those that should not exist. */
  wrong: number;
};

/** Compares the tallies with the penalties in one snapshot, without blocking writers. */
export async function checkPenaltyTallies(databaseUrl: string): Promise<Recount> {
  return withPatientConnection(databaseUrl, (connection) =>
    compareTallies(connection, 'recount_penalty_tallies() as recount'),
  );
}

/**
 * Recomputes the tallies from the penalties, for the operator. Writers of penalties are blocked meanwhile, readers are
 * not. Written to the audit log.
 */
export async function recountPenaltyTallies(databaseUrl: string): Promise<Recount> {
  return withPatientConnection(databaseUrl, async (connection) => {
    // Read committed: each statement has to see what was committed while the first one waited for the lock.
    const { recount } = await connection.begin('isolation level read committed', async (transaction) => {
      const tallies = await recountWithin(transaction);
      const details = JSON.stringify({ wrong: tallies.wrong });
      await transaction`insert into audit_log (action, details)
        values ('penalties.recounted', ${details}::text::jsonb)`;
      return { recount: tallies };
    });
    return recount;
  });
}

/** The same within a transaction, which must have isolation level read committed. */
export async function recountWithin(transaction: Transaction): Promise<Recount> {
  await lockPenalties(transaction);
  await transaction`create temp table recount on commit drop as select * from recount_penalty_tallies()`;
  const recount = await compareTallies(transaction, 'recount');
  await transaction`delete from penalty_tallies as tally where not exists (
    select from recount where (recount.scope, recount.server_id, recount.admin_steamid, recount.period, recount.bucket)
      = (tally.scope, tally.server_id, tally.admin_steamid, tally.period, tally.bucket))`;
  // Otherwise only the triggers on penalties may insert tallies (`0001_tallies.sql`).
  await transaction`select set_config('community_api.recounts', 'on', true)`;
  // In the order of the primary key, so that the tallies of one server or admin lie on few pages.
  await transaction`insert into penalty_tallies as tally (scope, server_id, admin_steamid, period, bucket, counts)
    select scope, server_id, admin_steamid, period, bucket, counts from recount
    order by scope, server_id, admin_steamid, period, bucket
    on conflict (scope, server_id, admin_steamid, period, bucket) do update set counts = excluded.counts
    where tally.counts <> excluded.counts`;
  return recount;
}

const NONE = `array_fill(0, array[${PENALTY_TYPES.length * PENALTY_STATUSES.length}])`;

/** A tally of zeros without a recount is correct: tallies that drop to zero are kept. */
async function compareTallies(connection: Pick<Connection, 'unsafe'>, recount: string): Promise<Recount> {
  const [row] = await connection.unsafe(`
    select count(recount.counts) as tallies,
      count(*) filter (where coalesce(recount.counts, ${NONE}) <> coalesce(tally.counts, ${NONE})) as wrong
    from ${recount} full join penalty_tallies as tally using (scope, server_id, admin_steamid, period, bucket)`);
  return { tallies: Number(row?.tallies), wrong: Number(row?.wrong) };
}

/** A connection without statement timeout, since millions of rows take minutes. */
async function withPatientConnection<T>(
  databaseUrl: string,
  work: (connection: Connection) => Promise<T>,
): Promise<T> {
  const connection = openSession(databaseUrl, 'recount');
  try {
    return await work(connection);
  } finally {
    await connection.end({ timeout: 5 });
  }
}
