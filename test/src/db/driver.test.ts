import { afterAll, describe, expect, test } from 'bun:test';
import { connect, isDatabaseOutage } from '../../../src/db/client.ts';
import { createTestDatabase } from '../../support/database/database.ts';
import { startDatabaseProxy } from '../../support/database/database-proxy.ts';

/**
 * What the program relies on when connections are lost: the driver as published lets each of these end in an uncaught
 * exception, a connection that never works again, or statements of one transaction inside another.
 */
const database = await createTestDatabase();
await database.connection`create table notes (text text)`;
const proxy = await startDatabaseProxy(database.url);
/** A single connection, so that each test uses the one that was lost. */
const pool = connect(proxy.url, { max: 1 });
afterAll(async () => {
  await pool.end({ timeout: 1 });
});

const uncaught: unknown[] = [];
process.on('uncaughtException', (error) => void uncaught.push(error));
process.on('unhandledRejection', (error) => void uncaught.push(error));

const kill = (pid: number) => database.connection`select pg_terminate_backend(${pid})`;
const notes = async () =>
  (await database.connection`select text from notes order by text`).map((row) => row.text);
const expectAlive = async () => {
  // The first may still meet the end of the old connection.
  await pool`select 1`.catch(() => {});
  for (let i = 0; i < 2; i++) expect((await pool`select 1 as one`)[0]?.one).toBe(1);
  expect(uncaught).toEqual([]);
};
const failureOf = (work: Promise<unknown>) =>
  work.then(
    () => 'no failure',
    (error) => (isDatabaseOutage(error) ? 'outage' : error),
  );

describe('a transaction whose connection is lost', () => {
  test.each([
    ['by the server', kill, () => {}],
    ['by a network that cuts it', () => proxy.cut(), () => proxy.restore()],
  ])(
    'a transaction that loses its connection in a statement, %s, ends as an outage, and the pool continues',
    async (_, lose, restore) => {
      for (let round = 0; round < 5; round++) {
        const begun = Promise.withResolvers<number>();
        const failure = failureOf(
          pool.begin(async (tx) => {
            const [row] = await tx`select pg_backend_pid() as pid`;
            begun.resolve(row?.pid);
            await tx`select pg_sleep(10)`;
          }),
        );
        await lose(await begun.promise);
        expect(await failure).toBe('outage');
        restore();
        await expectAlive();
      }
    },
  );

  test('a transaction that loses its connection between two statements writes nothing, and nothing into the next transaction', async () => {
    const begun = Promise.withResolvers<number>();
    const lost = Promise.withResolvers<void>();
    const failure = failureOf(
      pool.begin(async (tx) => {
        const [row] = await tx`select pg_backend_pid() as pid`;
        await tx`insert into notes values ('before')`;
        begun.resolve(row?.pid);
        await lost.promise;
        await tx`insert into notes values ('after')`;
      }),
    );
    await kill(await begun.promise);
    await failure;
    // The connection has been reopened, and belongs to another transaction now.
    const next = pool.begin(async (tx) => {
      await tx`insert into notes values ('next, first')`;
      lost.resolve();
      await Bun.sleep(50);
      await tx`insert into notes values ('next, second')`;
    });
    expect(await failureOf(next)).toBe('no failure');
    expect(await notes()).toEqual(['next, first', 'next, second']);
    await expectAlive();
  });

  test('a transaction that loses its connection fails all statements that wait in line', async () => {
    const begun = Promise.withResolvers<number>();
    const failures: Promise<unknown>[] = [];
    const failure = failureOf(
      pool.begin(async (tx) => {
        const [row] = await tx`select pg_backend_pid() as pid`;
        for (let i = 0; i < 5; i++) failures.push(failureOf(tx`select pg_sleep(10)`));
        begun.resolve(row?.pid);
        await Promise.all(failures);
        await tx`select 1`;
      }),
    );
    await kill(await begun.promise);
    expect(await failure).toBe('outage');
    expect(await Promise.all(failures)).toEqual(Array.from({ length: 5 }, () => 'outage'));
    await expectAlive();
  });
});

test('a query that loses its connection leaves no trace in the next one', async () => {
  for (let round = 0; round < 5; round++) {
    const [row] = await pool`select pg_backend_pid() as pid`;
    const failures = [pool`select pg_sleep(10)`, pool`select pg_sleep(10)`].map(failureOf);
    await Bun.sleep(20);
    await kill(row?.pid);
    expect(await failures[0]).toBe('outage');
    const [later] = await database.connection`
      select pid from pg_stat_activity where datname = current_database() and query like '%pg_sleep%'
        and pid <> pg_backend_pid() and state = 'active'`;
    if (later) await kill(later.pid);
    await failures[1];
    await expectAlive();
  }
});
