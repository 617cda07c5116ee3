import { afterAll, expect, test } from 'bun:test';
import { sql } from 'drizzle-orm';
import { openDatabase } from '../../../../src/db/database.ts';
import type { ReplicaState } from '../../../../src/db/replicas/replica.ts';
import { selectFromSnapshot } from '../../../../src/db/select.ts';
import { startReplicatedPostgres } from '../../../support/database/replicated-postgres.ts';
import { waitFor } from '../../../support/wait.ts';

const { primary, replicas } = await startReplicatedPostgres({ replicas: 2 });
const [first, second] = replicas;
if (!first || !second) throw new Error('there are two replicas');
const changes: ReplicaState[] = [];
const database = openDatabase(primary.url, {
  replicaUrls: [first.url],
  max: 4,
  onReplicaChange: (state) => changes.push(state),
});
afterAll(() => database.close({ timeoutSeconds: 1 }));

const stateOf = () => database.replicaStates()[0];
const isRead = () => stateOf()?.isRead === true;
const isReadOnReplica = async () => {
  const [row] = await database.replica.execute(sql`select pg_is_in_recovery() as "isReplica"`);
  return row?.isReplica === true;
};

test('a replica that follows is read, and the primary while none does', async () => {
  await waitFor(isRead);
  expect(await isReadOnReplica()).toBe(true);
  expect(changes.map(({ isRead }) => isRead)).toEqual([true]);
});

test.each(['40001', '57P01', '22012'])(
  'a read that ends with %s on a replica is asked again on the primary',
  async (code) => {
    await waitFor(isRead);
    await database.connection.unsafe(`
    create or replace function fail_on_replica() returns boolean language plpgsql as $$ begin
      if pg_is_in_recovery() then raise sqlstate '${code}'; end if;
      return true;
    end $$`);
    const [before] = await database.connection`select pg_current_wal_lsn() as lsn`;
    const replica = openDatabase(first.url, { max: 1 });
    await waitFor(async () => {
      const [row] = await replica.connection`select pg_last_wal_replay_lsn() >= ${before?.lsn} as "isThere"`;
      return row?.isThere;
    });
    await expect(replica.connection`select fail_on_replica()`.execute()).rejects.toMatchObject({ code });
    await replica.close({ timeoutSeconds: 1 });
    const [row] = await database.replica.execute(sql`select fail_on_replica() as "isDone"`);
    expect(row?.isDone).toBe(true);
    const inSnapshot = await selectFromSnapshot(database.replica, (select) =>
      select('fail on replica', () => sql`select fail_on_replica()`, {}),
    );
    expect(inSnapshot).toEqual([[true]]);
  },
);

test.each([
  ['cut', () => first.link.cut(), () => first.link.restore()],
  ['silent', () => first.link.freeze(), () => first.link.restore()],
] as const)(
  'a replica whose link to the primary is %s is left within five seconds',
  async (_, fail, heal) => {
    await waitFor(isRead);
    const fails = performance.now();
    fail();
    await database.connection`create table if not exists lags ()`;
    await waitFor(() => stateOf()?.fault === 'behind');
    expect(performance.now() - fails).toBeGreaterThan(4000);
    expect(await isReadOnReplica()).toBe(false);
    heal();
    await database.connection`drop table lags`;
    await waitFor(isRead);
  },
);

test('a replica whose replay is paused is left', async () => {
  await waitFor(isRead);
  const replica = openDatabase(first.url, { max: 1 });
  await replica.connection`select pg_wal_replay_pause()`;
  await database.connection`create table pauses ()`;
  await waitFor(() => stateOf()?.fault === 'behind');
  await replica.connection`select pg_wal_replay_resume()`;
  await waitFor(isRead);
  await replica.close({ timeoutSeconds: 1 });
});

test('what is no replica of this primary is never read, and said at the start', async () => {
  const faults: (string | undefined)[] = [];
  const elsewhere = new URL(first.url);
  elsewhere.pathname = '/template1';
  const wrong = openDatabase(primary.url, {
    replicaUrls: [primary.url, 'postgres://nobody@127.0.0.1:1/none', elsewhere.href],
    max: 2,
    onReplicaChange: ({ fault }) => faults.push(fault),
  });
  await waitFor(() => faults.length === 3);
  expect(faults.sort()).toEqual(['another database', 'not in recovery', 'unreachable']);
  await wrong.close({ timeoutSeconds: 1 });
});

test('a replica promoted by mistake is left for good', async () => {
  const mistaken = openDatabase(primary.url, { replicaUrls: [second.url], max: 2 });
  const state = () => mistaken.replicaStates()[0];
  await waitFor(() => state()?.isRead);
  await second.promote();
  await waitFor(() => state()?.fault === 'not in recovery');
  await mistaken.close({ timeoutSeconds: 1 });
});
