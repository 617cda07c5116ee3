import { afterAll, expect, test } from 'bun:test';
import { once } from 'node:events';
import { sql } from 'drizzle-orm';
import pino from 'pino';
import type { Reads } from '../../../src/db/client.ts';
import { openDatabase } from '../../../src/db/database.ts';
import { openLeaders } from '../../../src/db/leader.ts';
import { retryConflicts } from '../../../src/db/locks.ts';
import type { ReplicaState } from '../../../src/db/replicas.ts';
import { selectFrom } from '../../../src/db/select.ts';
import type { SteamId64 } from '../../../src/domain/steam-id.ts';
import { listPenalties } from '../../../src/queries/penalties/list.ts';
import { asRequest } from '../../../src/runtime/request.ts';
import { aSteamId, insertPenalties } from '../../support/database/builders.ts';
import { startReplicatedPostgres } from '../../support/database/replicated-postgres.ts';
import { waitForProcess } from '../../support/wait.ts';

const { primary, replicas } = await startReplicatedPostgres({ replicas: 2 });
const [first, second] = replicas;
if (!first || !second) throw new Error('there are two replicas');
const changes: ReplicaState[] = [];
const database = openDatabase(primary.url, {
  replicaUrls: [first.url],
  max: 4,
  onReplicaChange: (state) => changes.push(state),
});
const onFirst = openDatabase(first.url, { max: 1 });
afterAll(async () => {
  for (const { close } of [database, onFirst]) await close({ timeoutSeconds: 1 });
});

const stateOf = () => database.replicaStates()[0];
const isRead = () => stateOf()?.fault === undefined;
const read: ReturnType<typeof selectFrom> = (...query) =>
  asRequest('user 1', () => selectFrom(database.reads)(...query));
const isReadOnReplica = async () => {
  const [row] = await read('is a replica', () => sql`select pg_is_in_recovery()`, {});
  return row?.[0] === true;
};
const isBanned = (db: Reads, playerSteamId: SteamId64, now: Date) =>
  asRequest('user 1', async () => {
    const { total } = await listPenalties(
      db,
      { playerSteamId, status: 'ACTIVE' },
      { page: 1, perPage: 1, now },
    );
    return total > 0;
  });
// Both ask again when the replica cancels the query in favour of what it replays.
const isBannedOnFirst = (id: SteamId64) => retryConflicts(() => isBanned(onFirst.db, id, new Date()));
const askFirst = (query: string) => retryConflicts(async () => (await onFirst.connection.unsafe(query))[0]);

let lastBanned = 0;
/** Bans somebody new on the primary. */
const ban = async () => {
  lastBanned += 1;
  const id = aSteamId(lastBanned);
  await insertPenalties(database.db, [{ playerSteamId: id }]);
  return id;
};

test('a replica that follows is read, and the primary while none does', async () => {
  await waitForProcess(isRead);
  expect(await isReadOnReplica()).toBe(true);
  expect(changes.map(({ fault }) => fault)).toEqual([undefined]);
});

test.each(['40001', '57P01', '22012'])(
  'a read that ends with %s on a replica is repeated on the primary',
  async (code) => {
    await waitForProcess(isRead);
    await database.connection.unsafe(`
    create or replace function fail_on_replica() returns boolean language plpgsql as $$ begin
      if pg_is_in_recovery() then raise sqlstate '${code}'; end if;
      return true;
    end $$`);
    const [before] = await database.connection`select pg_current_wal_lsn() as lsn`;
    const replica = openDatabase(first.url, { max: 1 });
    await waitForProcess(async () => {
      const [row] = await replica.connection`select pg_last_wal_replay_lsn() >= ${before?.lsn} as "isThere"`;
      return row?.isThere;
    });
    await expect(replica.connection`select fail_on_replica()`.execute()).rejects.toMatchObject({ code });
    await replica.close({ timeoutSeconds: 1 });
    expect(await read('fail on replica', () => sql`select fail_on_replica()`, {})).toEqual([[true]]);
  },
);

test('a read that takes longer than two seconds on a replica is repeated on the primary, and ends there', async () => {
  await waitForProcess(isRead);
  const late = () => sql`select pg_is_in_recovery(), case when pg_is_in_recovery() then pg_sleep(60) end`;
  const rows = await read('late on replica', late, {});
  expect(rows[0]?.[0]).toBe(false);
  const isCanceled = () =>
    askFirst("select not exists (select from pg_stat_activity where wait_event = 'PgSleep') as done");
  await waitForProcess(async () => (await isCanceled())?.done);
});

test.each([
  ['whose link to the primary is cut', () => first.link.cut(), () => first.link.restore()],
  ['whose link to the primary is silent', () => first.link.freeze(), () => first.link.restore()],
  [
    'whose replay is paused',
    () => askFirst('select pg_wal_replay_pause()'),
    () => askFirst('select pg_wal_replay_resume()'),
  ],
] as const)(
  'a replica %s is left within five seconds, and hides no ban for longer',
  async (_, fail, heal) => {
    await waitForProcess(isRead);
    const failsMs = performance.now();
    await fail();
    const banned = await ban();
    await Promise.all([expectToSee(banned), waitForProcess(() => stateOf()?.fault === 'behind')]);
    expect(performance.now() - failsMs).toBeGreaterThan(3000);
    expect(await isReadOnReplica()).toBe(false);
    await heal();
    await ban();
    await waitForProcess(isRead);
  },
);

test('a replica that replays everything ten seconds late is not read until it no longer does', async () => {
  await waitForProcess(isRead);
  await askFirst("alter system set recovery_min_apply_delay = '10s'");
  await askFirst('select pg_reload_conf()');
  const isReplayLate = async () => {
    await ban();
    const row = await askFirst("select wait_event from pg_stat_activity where backend_type = 'startup'");
    return row?.wait_event === 'RecoveryApplyDelay';
  };
  await waitForProcess(isReplayLate);
  const banned = await ban();
  expect(await isBannedOnFirst(banned)).toBe(false);
  const isLeft = async () => (await ban()) && stateOf()?.fault === 'behind';
  await Promise.all([expectToSee(banned), waitForProcess(isLeft, { everyMs: 100 })]);

  const bannedThen = await ban();
  const hasReplayed = async () => {
    expect(isRead()).toBe(false);
    expect(await isBanned(database.reads, await ban(), new Date())).toBe(true);
    return isBannedOnFirst(bannedThen);
  };
  await waitForProcess(hasReplayed, { everyMs: 100 });

  await askFirst('alter system reset recovery_min_apply_delay');
  await askFirst('select pg_reload_conf()');
  await waitForProcess(isReadOnReplica);
});

test('a database that is not a replica of this primary is never read, which is reported at the start', async () => {
  const faults: (string | undefined)[] = [];
  const elsewhere = new URL(first.url);
  elsewhere.pathname = '/template1';
  const wrong = openDatabase(primary.url, {
    replicaUrls: [primary.url, 'postgres://nobody@127.0.0.1:1/none', elsewhere.href],
    max: 2,
    onReplicaChange: ({ fault }) => faults.push(fault),
  });
  await waitForProcess(() => faults.length === 3);
  expect(faults.sort()).toEqual(['another database', 'not in recovery', 'unreachable']);
  await wrong.close({ timeoutSeconds: 1 });
});

test('a replica promoted by mistake is left for good', async () => {
  const mistaken = openDatabase(primary.url, { replicaUrls: [second.url], max: 2 });
  const state = () => mistaken.replicaStates()[0];
  await waitForProcess(() => state()?.fault === undefined);
  await second.promote();
  await expectToSee(await ban(), mistaken.reads);
  await waitForProcess(() => state()?.fault === 'not in recovery');
  await mistaken.close({ timeoutSeconds: 1 });
});

test('nobody leads on a standby, which would grant the lock to everybody, until it is promoted', async () => {
  const lines: string[] = [];
  const log = pino({}, { write: (line: string) => void lines.push(line) });
  const leaders = openLeaders(first.url, { log, everyMs: 20 });
  const part = leaders.run('poller', async (signal) => void (await once(signal, 'abort')));
  await waitForProcess(() => lines.some((line) => line.includes('the server is a standby')));
  expect(part.isLeader()).toBe(false);
  await first.promote();
  await waitForProcess(part.isLeader);
  await part.stop();
});

/** A read finds the ban before what it returns may be called too old. */
async function expectToSee(banned: SteamId64, reads = database.reads): Promise<void> {
  await waitForProcess(() => isBanned(reads, banned, new Date()));
}
