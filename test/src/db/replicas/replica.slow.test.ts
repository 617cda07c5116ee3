import { afterAll, expect, test } from 'bun:test';
import { connect } from '../../../../src/db/client.ts';
import { openReplica } from '../../../../src/db/replicas/replica.ts';
import { routeReads } from '../../../../src/db/replicas/routed-reads.ts';
import { openServerProbe } from '../../../../src/db/replicas/server-probe.ts';
import { createWalMarks } from '../../../../src/db/replicas/wal-marks.ts';
import { startDatabaseProxy } from '../../../support/database/database-proxy.ts';
import { startReplicatedPostgres } from '../../../support/database/replicated-postgres.ts';
import { connectTo, expectWithin } from '../../../support/machine/time-promise.ts';
import { waitFor } from '../../../support/wait.ts';

const { primary, replicas } = await startReplicatedPostgres({ replicas: 1 });
const [server] = replicas;
if (!server) throw new Error('there is one replica');
const proxy = await startDatabaseProxy(server.url);
const connection = connect(primary.url, { max: 2 });
const primaryProbe = openServerProbe(primary.url);
afterAll(async () => {
  await primaryProbe.close();
  await connection.end({ timeout: 1 });
  await proxy.stop();
});

/** A replica in use that is checked only when the test says so. */
async function openCheckedReplica() {
  const replica = openReplica(proxy.url, 2, () => {});
  const marks = createWalMarks(10_000);
  const check = async () => {
    const position = await primaryProbe.ask();
    marks.add({ lsn: position.lsn, atMs: position.askedAtMs });
    await replica.check(marks, position);
  };
  const reads = routeReads({
    primary: connection,
    pick: () => (replica.isCaughtUpTo(Number.NEGATIVE_INFINITY) ? replica : undefined),
    onRepeat: () => {},
  });
  /** Whether the replica returned the result. */
  const read = async (statement: string) => {
    const [row] = await reads.unsafe(`select pg_is_in_recovery() as "isReplica", ${statement}`);
    return row?.isReplica === true;
  };
  const isRead = () => replica.state().isRead;
  await waitFor(async () => {
    await check();
    return isRead();
  });
  return {
    ...replica,
    isRead,
    check,
    isReadOnReplica: () => read('1'),
    makeReadLate: () => read('case when pg_is_in_recovery() then pg_sleep(0.5) end'),
    makeProbeLate: async () => {
      proxy.slow(400);
      await check();
      proxy.slow(0);
    },
  };
}

test.each(['makeReadLate', 'makeProbeLate'] as const)(
  'one late response does not end the use of a replica, and a second one does: %s',
  async (makeLate) => {
    const replica = await openCheckedReplica();
    await replica[makeLate]();
    expect(replica.state()).toMatchObject({ isRead: true, fault: undefined });
    expect(await replica.isReadOnReplica()).toBe(true);
    await replica[makeLate]();
    expect(replica.state()).toMatchObject({ isRead: false, fault: 'slow' });
    expect(await replica.isReadOnReplica()).toBe(false);
    await replica.close(1);
  },
);

test('a read that is late on a replica is repeated on the primary', async () => {
  const replica = await openCheckedReplica();
  expect(await replica.makeReadLate()).toBe(false);
  await replica.close(1);
});

test('a replica that was left is read again when its probe has been quick for two seconds in a row', async () => {
  const replica = await openCheckedReplica();
  await replica.makeReadLate();
  await replica.makeReadLate();
  await replica.check();
  await replica.makeProbeLate();
  const quickSinceMs = performance.now();
  const isReadAgain = async () => {
    expect(await replica.isReadOnReplica()).toBe(false);
    await replica.check();
    return replica.isRead();
  };
  await expectWithin(2500, () => waitFor(isReadAgain, { everyMs: 50 }), connectTo(primary.url));
  expect(performance.now() - quickSinceMs).toBeGreaterThanOrEqual(2000);
  expect(await replica.isReadOnReplica()).toBe(true);
  await replica.close(1);
});
