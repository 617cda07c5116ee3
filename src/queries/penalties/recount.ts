import { type Connection, connect, type Transaction } from '../../db/client.ts';
import { PENALTY_TALLIES_LOCK } from '../../db/locks.ts';
import { recordOperatorAudit } from '../audit-log.ts';

export type Recount = {
  /** Tallies that there should be: of all, each server, each admin …, ever, by month and day. */
  tallies: number;
  /** Of them, and of those that should not be there, how many are or were wrong. */
  wrong: number;
};

/** Compares the tallies with the penalties themselves, of one snapshot; nobody waits for it. */
export async function checkPenaltyTallies(databaseUrl: string): Promise<Recount> {
  return withPatientConnection(databaseUrl, async (connection) => {
    const [row] =
      await connection`select ${COUNTS(connection)} from recount_penalty_tallies() as recount ${BESIDE(connection)}`;
    return { tallies: Number(row?.tallies), wrong: Number(row?.wrong) };
  });
}

/**
 * Makes the tallies what the penalties themselves say, for the operator. Writers of penalties wait meanwhile; lists do
 * not. Written to the audit log.
 */
export async function recountPenaltyTallies(databaseUrl: string): Promise<Recount> {
  return withPatientConnection(databaseUrl, async (connection) => {
    // Each statement has to see what was committed while the first one waited.
    const { recount } = await connection.begin('isolation level read committed', async (transaction) => {
      const counted = await recountWithin(transaction);
      await recordOperatorAudit(transaction, {
        action: 'penalties.recounted',
        subject: '',
        details: { wrong: counted.wrong },
      });
      return { recount: counted };
    });
    return recount;
  });
}

/** The same as a part of a transaction, of isolation level read committed. */
export async function recountWithin(transaction: Transaction): Promise<Recount> {
  await transaction`select pg_advisory_xact_lock(hashtext(${PENALTY_TALLIES_LOCK}))`;
  await transaction`create temp table recount on commit drop as select * from recount_penalty_tallies()`;
  const [row] = await transaction`select ${COUNTS(transaction)} from recount ${BESIDE(transaction)}`;
  await transaction`delete from penalty_tallies as tally where not exists (
    select from recount where (recount.scope, recount.server_id, recount.admin_steamid, recount.period, recount.bucket)
      = (tally.scope, tally.server_id, tally.admin_steamid, tally.period, tally.bucket))`;
  // Else only the triggers of the penalties add tallies (migration 0001).
  await transaction`select set_config('community_api.recounts', 'on', true)`;
  await transaction`insert into penalty_tallies as tally (scope, server_id, admin_steamid, period, bucket, counts)
    select scope, server_id, admin_steamid, period, bucket, counts from recount
    on conflict (scope, server_id, admin_steamid, period, bucket) do update set counts = excluded.counts
    where tally.counts <> excluded.counts`;
  return { tallies: Number(row?.tallies), wrong: Number(row?.wrong) };
}

/** Tallies that went down to zero are kept: without rows to count they are still right. */
const COUNTS = (connection: Pick<Connection, 'unsafe'>) =>
  connection.unsafe(`count(recount.counts) as tallies, count(*) filter (
    where coalesce(recount.counts, array_fill(0, array[15])) <> coalesce(tally.counts, array_fill(0, array[15]))) as wrong`);
const BESIDE = (connection: Pick<Connection, 'unsafe'>) =>
  connection.unsafe(
    'full join penalty_tallies as tally using (scope, server_id, admin_steamid, period, bucket)',
  );

/** Millions of rows take minutes. */
async function withPatientConnection<T>(
  databaseUrl: string,
  work: (connection: Connection) => Promise<T>,
): Promise<T> {
  const connection = connect(databaseUrl, { max: 1, applicationName: 'recount', statementTimeoutMs: 0 });
  try {
    return await work(connection);
  } finally {
    await connection.end({ timeout: 5 });
  }
}
