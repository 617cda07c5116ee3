import { afterAll, describe, expect, spyOn, test } from 'bun:test';
import { sql } from 'drizzle-orm';
import { createTokenChecker } from '../../../../api/http/authentication.ts';
import {
  type Db,
  databaseTroubleOf,
  inTransaction,
  silenceAfter,
  type Tx,
} from '../../../../src/db/client.ts';
import { ask, createPool } from '../../../../src/db/connection/pool.ts';
import { openDatabase } from '../../../../src/db/database.ts';
import { asExpensive } from '../../../../src/db/select.ts';
import { errorCauses } from '../../../../src/domain/errors.ts';
import { recordAudit } from '../../../../src/queries/audit-log.ts';
import { findSession } from '../../../../src/queries/users/sessions.ts';
import { lockUser } from '../../../../src/queries/users/users.ts';
import { asRequest, ClientLeft, currentRequest, withNewDeadline } from '../../../../src/runtime/request.ts';
import { aSteamId } from '../../../support/database/builders.ts';
import { createTestDatabase } from '../../../support/database/database.ts';
import { startDatabaseProxy } from '../../../support/database/database-proxy.ts';
import { countWaiting as countLockWaits } from '../../../support/database/lock-waits.ts';
import { waitFor } from '../../../support/wait.ts';

const { url, connection: admin, db: testDb } = await createTestDatabase();
const proxy = await startDatabaseProxy(url);
const database = openDatabase(proxy.url);
const { requestDb, db } = database;
afterAll(async () => {
  await database.close({ timeoutSeconds: 0 });
});

const LOCK = 4211;
/** Runs until nobody else holds the lock, also for longer than the time limit on locks. */
const waitForLock = async (handle: Db | Tx) =>
  await handle.execute(
    sql`select set_config('lock_timeout', '0', true), pg_advisory_xact_lock_shared(${LOCK}::bigint)`,
  );
const lookUp = (limitMs?: number) =>
  asRequest('user 0', () => findSession(requestDb, 'none', new Date()), { limitMs });
const readUnprepared = async () => await requestDb.execute(sql`select 1`);
const troubleOf = (work: Promise<unknown>) => work.then(() => 'none', databaseTroubleOf);

/** Runs the test while statements with {@link waitForLock} wait. */
async function whileLocked(run: () => Promise<void>): Promise<void> {
  await admin.begin(async (transaction) => {
    await transaction`select pg_advisory_xact_lock(${LOCK})`;
    await run();
  });
}

const countWaiting = () => countLockWaits(testDb);
const isIdle = () => database.poolLoad().inUse === 0;

/** Compiled, never run. */
export async function mixHandles(tx: Tx): Promise<void> {
  // @ts-expect-error A transaction opens no other.
  await inTransaction(tx, async () => {});
  // @ts-expect-error An entry of the audit log is written in the transaction of the change.
  await recordAudit(requestDb, { actor: 'operator', action: 'user.exported', subject: '' });
  // @ts-expect-error What locks rows has no effect without a transaction.
  await lockUser(db, aSteamId(1));
  // @ts-expect-error What a request waits for uses the connections of requests.
  createTokenChecker({ db, requestDb: db });
}

describe('a pool for requests', () => {
  test('a pool runs prepared statements while sixty slow ones of one owner wait, three of which run', async () => {
    let slow: Promise<unknown>[] = [];
    await whileLocked(async () => {
      slow = Array.from({ length: 60 }, () => asRequest('user 1', () => waitForLock(requestDb)));
      await waitFor(async () => (await countWaiting()) === 3);
      await Promise.all(Array.from({ length: 20 }, () => lookUp()));
      expect(await countWaiting()).toBe(3);
      expect(database.poolLoad()).toMatchObject({ inUse: 3, waiting: 57 });
    });
    await Promise.all(slow);
  });

  test('refuses what waits and what runs at its deadline, and names what is slow', async () => {
    await whileLocked(async () => {
      const late = Array.from({ length: 4 }, () =>
        asRequest('user 1', () => waitForLock(requestDb), { limitMs: 200 }),
      );
      const errors = (await Promise.allSettled(late)).map((result) => 'reason' in result && result.reason);
      expect(errors.map(databaseTroubleOf)).toEqual(['busy', 'busy', 'busy', 'busy']);
      expect(errors[0].cause.load).toMatchObject({
        slow: [/^select/, /^select/, /^select/].map(expect.stringMatching),
      });
      // The places are taken for as long as the statements run.
      expect(database.poolLoad()).toMatchObject({ inUse: 3, waiting: 0 });
    });
    await waitFor(isIdle);
  });

  test('a pool for requests never begins a transaction that was refused', async () => {
    const bodies: string[] = [];
    let slow: Promise<unknown>[] = [];
    const begin = (limitMs: number) =>
      asRequest('user 1', () => inTransaction(requestDb, async () => void bodies.push('begun')), { limitMs });
    await whileLocked(async () => {
      slow = [1, 2, 3].map(() => asRequest('user 2', () => waitForLock(requestDb)));
      await waitFor(async () => (await countWaiting()) === 3);
      expect(await troubleOf(begin(200))).toBe('busy');
    });
    await Promise.all(slow);
    await waitFor(isIdle);
    expect(bodies).toEqual([]);
    await begin(4000);
    expect(bodies).toEqual(['begun']);
  });

  test('waits for a transaction that has begun, however long it takes', async () => {
    const result = asRequest(
      'user 1',
      () =>
        inTransaction(requestDb, async (tx) => {
          await tx.execute(sql`select pg_sleep(0.3)`);
          return 'committed' as const;
        }),
      { limitMs: 200 },
    );
    expect(await result.catch(databaseTroubleOf)).toBe('committed');
    expect(await troubleOf(lookUp(0))).toBe('busy');
  });

  test('refuses a statement outside of the open transaction', async () => {
    for (const outer of [requestDb, db]) {
      for (const inner of [requestDb, db]) {
        const nested = asRequest('user 1', () =>
          inTransaction(outer, async () => await inner.execute(sql`select 1`)),
        );
        const error = await nested.catch((reason: unknown) => reason);
        expect(errorCauses(error).at(-1)?.message).toBe('use the handle of the open transaction');
      }
    }
  });

  test('runs a transaction as part of the request that asked for it, whoever made room for it', async () => {
    let all: Promise<unknown>[] = [];
    await whileLocked(async () => {
      all = ['user 1', 'user 2', 'user 3', 'user 4'].map((owner) =>
        asRequest(owner, async () => {
          const read = async (tx: Tx) => {
            await waitForLock(tx);
            return currentRequest().owner;
          };
          expect(await inTransaction(requestDb, read)).toBe(owner);
        }),
      );
      await waitFor(async () => (await countWaiting()) === 2);
    });
    await Promise.all(all);
  });

  test('a pool runs other statements while transactions wait for a lock', async () => {
    let writers: Promise<unknown>[] = [];
    await whileLocked(async () => {
      writers = ['user 1', 'user 2', 'user 3'].map((owner) =>
        asRequest(owner, () => inTransaction(requestDb, waitForLock)),
      );
      await waitFor(async () => (await countWaiting()) === 2);
      await asRequest('user 4', () => readUnprepared());
      expect(await countWaiting()).toBe(2);
    });
    await Promise.all(writers);
  });

  test('a transaction of a request that waits a second for a lock is refused, with nothing written', async () => {
    await admin`create table written (who text)`;
    await whileLocked(async () => {
      const write = inTransaction.bind(undefined, requestDb, async (tx) => {
        await tx.execute(sql`insert into written values ('user 1')`);
        await tx.execute(sql`select pg_advisory_xact_lock_shared(${LOCK}::bigint)`);
      });
      expect(await troubleOf(asRequest('user 1', write))).toBe('busy');
    });
    expect(await admin`select from written`).toHaveLength(0);
  });

  test('a pool runs one expensive statement of an owner at a time, beside those of others and all cheap ones', async () => {
    let all: Promise<unknown>[] = [];
    await whileLocked(async () => {
      const readMany = (owner: string) => asRequest(owner, () => asExpensive(() => waitForLock(requestDb)));
      all = Array.from({ length: 60 }, () => readMany('user 1'));
      await waitFor(async () => (await countWaiting()) === 1);
      all.push(readMany('user 2'));
      await waitFor(async () => (await countWaiting()) === 2);
      await asRequest('user 1', () => readUnprepared());
      await lookUp();
      expect(database.poolLoad()).toMatchObject({ inUse: 2, waiting: 59 });
    });
    await Promise.all(all);
  });

  test('a request runs statements beside its open transaction; a new deadline in one branch leaves the others theirs', async () => {
    const { promise: isOpen, resolve: open } = Promise.withResolvers<void>();
    const { promise: isOver, resolve: end } = Promise.withResolvers<void>();
    await asRequest('user 1', async () => {
      const { deadlineMs } = currentRequest();
      const writing = inTransaction(requestDb, async () => {
        open();
        await isOver;
      });
      await isOpen;
      await Promise.all([readUnprepared(), lookUp()]);
      end();
      await writing;
      await withNewDeadline(async () => {
        await readUnprepared();
        expect(currentRequest().deadlineMs).toBeGreaterThan(deadlineMs);
      });
      expect(currentRequest().deadlineMs).toBe(deadlineMs);
    });
  });

  test('a pool begins no statement for a client that has disconnected', async () => {
    const client = new AbortController();
    let slow: Promise<unknown>[] = [];
    await whileLocked(async () => {
      slow = ['user 1', 'user 2', 'user 4'].map((owner) => asRequest(owner, () => waitForLock(requestDb)));
      await waitFor(async () => (await countWaiting()) === 3);
      const lists = Array.from({ length: 20 }, () =>
        asRequest('user 3', () => waitForLock(requestDb), { client }),
      );
      await waitFor(() => database.poolLoad().waiting === 20);
      client.abort();
      expect(database.poolLoad().waiting).toBe(0);
      const late = asRequest('user 3', () => waitForLock(requestDb), { client });
      const errors = await Promise.allSettled([...lists, late]);
      expect(errors.map((result) => 'reason' in result && errorCauses(result.reason).at(-1))).toEqual(
        Array.from({ length: 21 }, () => expect.any(ClientLeft)),
      );
    });
    await Promise.all(slow);
  });

  test('a pool waits beyond the deadline for a write that was sent, not for a read', async () => {
    await admin`create table kept (who text)`;
    const write = async () =>
      await requestDb.execute(sql`insert into kept select 'user 1' from pg_sleep(0.3)`);
    await asRequest('user 1', write, { limitMs: 100 });
    expect(await admin`select from kept`).toHaveLength(1);
    const read = async () => await requestDb.execute(sql`select 'user 1' from pg_sleep(0.3)`);
    expect(await troubleOf(asRequest('user 1', read, { limitMs: 100 }))).toBe('busy');
    await waitFor(isIdle);
  });

  test('a statement for requests outside of a request is an error', async () => {
    const error = await findSession(requestDb, 'none', new Date()).catch((reason: unknown) => reason);
    expect(errorCauses(error).at(-1)?.message).toContain('outside of a request');
  });

  test('gives its connections their limits with a statement, which a pooler passes on', async () => {
    const read = (handle: Db) =>
      asRequest(
        'user 1',
        async () =>
          await handle.execute(sql`
        select name, setting, source from pg_settings
        where name in ('statement_timeout', 'lock_timeout', 'max_parallel_workers_per_gather', 'idle_in_transaction_session_timeout')
        order by name`),
      );
    const [idle, lock, parallel, statement] = await read(requestDb);
    expect([idle?.setting, idle?.source]).toEqual(['30000', 'session']);
    expect([lock?.setting, lock?.source]).toEqual(['1000', 'session']);
    expect([parallel?.setting, parallel?.source]).toEqual(['0', 'session']);
    expect([statement?.setting, statement?.source]).toEqual(['3500', 'session']);
    expect((await read(db))[3]).toMatchObject({ setting: '15000', source: 'session' });
  });

  test('says that a server is unreachable which has been silent for as long as a request waits', async () => {
    await lookUp();
    proxy.freeze();
    expect(await troubleOf(lookUp())).toBe('unreachable');
    proxy.cut();
    proxy.restore();
    await waitFor(async () => (await troubleOf(lookUp())) === 'none');
  });
});

/** Submits a statement to a pool; by default one that runs until nobody else holds the lock. */
function submit(
  pool: ReturnType<typeof createPool>,
  {
    owner = '',
    limitMs = Number.POSITIVE_INFINITY,
    statement = `select pg_advisory_xact_lock_shared(${LOCK})`,
  } = {},
) {
  return pool.submit(
    { name: 'select', kind: 'other', run: (connection) => connection.unsafe(statement) },
    { owner, deadlineMs: performance.now() + limitMs },
  );
}

describe('a pool', () => {
  test('serves owners in turn', async () => {
    const pool = createPool(url, { max: 1 });
    const order: string[] = [];
    let all: Promise<unknown>[] = [];
    await whileLocked(async () => {
      all = ['a1', 'a2', 'a3', 'b1', 'c1', 'b2'].map((name) =>
        submit(pool, { owner: name.slice(0, 1) }).then(() => order.push(name)),
      );
    });
    await Promise.all(all);
    expect(order).toEqual(['a1', 'a2', 'b1', 'c1', 'a3', 'b2']);
    await pool.close(1);
  });

  test('a pool that begins with the newest serves owners in turn, each from their newest', async () => {
    const pool = createPool(url, { max: 1, newestFirst: true });
    const order: string[] = [];
    let all: Promise<unknown>[] = [];
    await whileLocked(async () => {
      all = ['a1', 'a2', 'a3', 'b1', 'b2'].map((name) =>
        submit(pool, { owner: name.slice(0, 1) }).then(() => order.push(name)),
      );
    });
    await Promise.all(all);
    expect(order).toEqual(['a1', 'a3', 'b2', 'a2', 'b1']);
    await pool.close(1);
  });

  test('a pool refuses at once what an owner asks beyond a thousand that wait, and nobody else', async () => {
    const pool = createPool(url, { max: 1 });
    let others: Promise<unknown>[] = [];
    await whileLocked(async () => {
      const owners = [...Array.from({ length: 1001 }, () => 'a'), 'b'];
      others = owners.map((owner) => submit(pool, { owner }));
      await waitFor(async () => (await countWaiting()) === 1);
      expect(await troubleOf(submit(pool, { owner: 'a' }))).toBe('busy');
      expect(pool.load()).toEqual({ inUse: 1, waiting: 1001, max: 1 });
    });
    await Promise.all(others);
    await pool.close(1);
  });

  test('a pool sends nothing later that was refused while its connection opened', async () => {
    const pool = createPool(proxy.url, { max: 1 });
    await admin`create sequence sent`;
    const statement = "select nextval('sent') as number";
    proxy.slow(50);
    expect(await troubleOf(submit(pool, { statement, limitMs: 100 }))).toBe('unreachable');
    expect(await submit(pool, { statement })).toMatchObject([{ number: '1' }]);
    expect(pool.load()).toEqual({ inUse: 0, waiting: 0, max: 1 });
    await pool.close(1);
    proxy.restore();
  });

  test('a pool accepts a response that arrived in time while this process was busy', async () => {
    const pool = createPool(url, { max: 1 });
    await submit(pool, { statement: 'select 1' });
    const response = submit(pool, { statement: 'select 1 as in_time from pg_sleep(0.3)', limitMs: 1000 });
    await waitFor(
      async () =>
        (
          await admin`select from pg_stat_activity
          where state = 'active' and query like '%in_time%' and pid <> pg_backend_pid()`
        ).length > 0,
    );
    Bun.sleepSync(1200);
    expect(await response).toMatchObject([{ in_time: 1 }]);
    await pool.close(1);
  });

  test('a pool without a pending query does not report its server as unreachable', async () => {
    const pool = createPool(url, { max: 1 });
    expect(await troubleOf(submit(pool, { limitMs: 0 }))).toBe('busy');
    await pool.close(1);
  });

  test('a pool gives a free connection to an owner who has none, before one who waits longer', async () => {
    const pool = createPool(url, { max: 2 });
    const order: string[] = [];
    let all: Promise<unknown>[] = [];
    await admin.begin(async (second) => {
      await second`select pg_advisory_xact_lock(${LOCK + 1})`;
      const statement = `select pg_advisory_xact_lock_shared(${LOCK + 1})`;
      await whileLocked(async () => {
        all = [submit(pool, { owner: 'a', statement }), submit(pool, { owner: 'b' })];
        await waitFor(async () => (await countWaiting()) === 2);
        for (const name of ['a', 'c'])
          all.push(submit(pool, { owner: name, statement: 'select 1' }).then(() => order.push(name)));
      });
      await Promise.all(all.slice(1));
    });
    await Promise.all(all);
    expect(order).toEqual(['c', 'a']);
    await pool.close(1);
  });

  test('a pool calls a server busy that was asked nothing for a while before', async () => {
    const now = performance.now.bind(performance);
    let laterMs = 0;
    const clock = spyOn(performance, 'now').mockImplementation(() => now() + laterMs);
    const pool = createPool(url, { max: 1 });
    await submit(pool);
    laterMs = 60_000;
    await whileLocked(async () => expect(await troubleOf(submit(pool, { limitMs: 200 }))).toBe('busy'));
    await pool.close(1);
    clock.mockRestore();
  });

  test('a pool gives up a connection that does not respond, and sends the next statement over another', async () => {
    const pool = createPool(proxy.url, { max: 1, statementTimeoutMs: 100 });
    await submit(pool, { statement: 'select 1' });
    proxy.failAt('swallowed', 'freeze');
    expect(await troubleOf(submit(pool, { statement: "select 'swallowed'" }))).toBe('unreachable');
    proxy.restore();
    await waitFor(async () => (await troubleOf(submit(pool, { statement: 'select 1' }))) === 'none');
    await pool.close(1);
  });

  test('a pool gives up a connection for requests after five seconds of silence', () => {
    expect(silenceAfter(3500)).toBe(5000);
  });

  test('a pool does not count a server as silent that may still be working', () => {
    for (const timeoutMs of [3500, 15_000, 60_000])
      expect(silenceAfter(timeoutMs)).toBeGreaterThan(timeoutMs);
  });
});

test('a probe asks a server that hangs one question, not one more each second', async () => {
  await admin`create sequence questions`;
  const probe = createPool(proxy.url, { max: 1 });
  const askNext = () => ask(probe, "select nextval('questions') as count");
  await askNext();
  proxy.freeze();
  expect(await Promise.all([1, 2, 3].map(() => troubleOf(askNext())))).not.toContain('none');
  proxy.restore();
  proxy.cut();
  proxy.restore();
  await waitFor(async () => (await troubleOf(askNext())) === 'none');
  const [row] = await admin`select last_value::integer as count from questions`;
  // The first, the last, and at most one that was sent while it hung.
  expect(row?.count).toBeLessThanOrEqual(3);
  await probe.close(1);
});
