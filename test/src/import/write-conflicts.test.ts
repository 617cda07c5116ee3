import { expect, test } from 'bun:test';
import { connect } from '../../../src/db/client.ts';
import { markExpiredPenalties } from '../../../src/queries/penalties/expiry.ts';
import { insertPenalties } from '../../support/database/builders.ts';
import { countWaiting } from '../../support/database/lock-waits.ts';
import { tallyDifferences } from '../../support/database/tallies.ts';
import { LINE, openImports } from '../../support/import/penalty-rows.ts';
import { waitFor } from '../../support/wait.ts';

const { db, connection, url, stored, importLines } = await openImports();
const importLine = (reason: string) => importLines([{ ...LINE, source_id: 1, reason }]);

async function countDeadlocks(): Promise<number> {
  const [row] =
    await connection`select deadlocks::int as n from pg_stat_database where datname = current_database()`;
  return row?.n;
}

/**
 * Locks a row first and takes the lock of penalties second, while the write under test does so in reverse: PostgreSQL
 * aborts the write under test, because its deadlock check runs first.
 */
async function collide<T>(write: () => Promise<T>): Promise<T> {
  const other = connect(url, { max: 1 });
  try {
    await other`set deadlock_timeout = '60s'`;
    const { written } = await other.begin(async (transaction) => {
      await transaction`select id from penalties for update`;
      const written = write();
      written.catch(() => {});
      await waitFor(async () => (await countWaiting(db)) === 1);
      await transaction`update penalties set player_name = 'by another'`;
      return { written };
    });
    return await written;
  } finally {
    await other.end();
  }
}

test("an import's write that is a deadlock's victim is tried again", async () => {
  await importLine('before');
  const summary = await collide(() => importLine('after'));
  expect(summary).toMatchObject({ read: 1, changed: 1 });
  expect(await stored()).toMatchObject([{ reason: 'after' }]);
  await waitFor(async () => (await countDeadlocks()) >= 1);
  expect(await tallyDifferences(connection)).toEqual([]);
});

test("the marking of expired penalties that is a deadlock's victim is tried again", async () => {
  const ended = new Date(Date.now() - 7_200_000);
  await insertPenalties(db, [{ createdAt: ended, endsAt: ended, durationMinutes: 1 }]);
  expect(await collide(() => markExpiredPenalties(db, new Date()))).toBe(1);
});

test('a write that cannot be serialised is tried again', async () => {
  await importLine('before');
  await connection`do $$ begin execute format('alter database %I set default_transaction_isolation = serializable', current_database()); end $$`;
  const { written } = await connection.begin(async (transaction) => {
    await transaction`update penalties set player_name = 'by another'`;
    const written = importLine('after');
    written.catch(() => {});
    await waitFor(async () => (await countWaiting(db)) === 1);
    return { written };
  });
  expect(await written).toMatchObject({ changed: 1 });
  expect(await stored()).toMatchObject([{ reason: 'after' }]);
});

test('a write that loses again and again fails in the end', async () => {
  await importLine('before');
  await connection`create function lose() returns trigger language plpgsql as $$
    begin raise exception 'lost' using errcode = 'serialization_failure'; end $$`;
  await connection`create trigger lose before update on penalties for each row execute function lose()`;
  const error = await importLine('after').catch((cause: Error) => cause);
  expect(error).toMatchObject({ cause: { message: 'lost' } });
  await connection`drop trigger lose on penalties`;
});
