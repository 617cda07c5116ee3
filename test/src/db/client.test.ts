import { expect, test } from 'bun:test';
import { readFile } from 'node:fs/promises';
import { connect as dial } from 'node:net';
import { sql } from 'drizzle-orm';
import { connect, isDatabaseOutage } from '../../../src/db/client.ts';
import { openDatabase } from '../../../src/db/database.ts';
import { listPenalties } from '../../../src/queries/penalties/list.ts';
import { insertPenalties } from '../../support/database/builders.ts';
import { createTestDatabase } from '../../support/database/database.ts';

const database = await createTestDatabase();

test('dates are read alike whatever notation the database is set to', async () => {
  const name = new URL(database.url).pathname.slice(1);
  await database.db.execute(sql.raw(`alter database ${name} set datestyle = 'SQL, DMY'`));
  const createdAt = new Date('2026-11-03T10:00:00Z');
  const other = openDatabase(database.url, { max: 1 });
  await insertPenalties(other.db, [{ createdAt }]);
  const { rows } = await listPenalties(other.db, {}, { page: 1, perPage: 1, now: createdAt });
  expect(rows.map((row) => row.createdAt)).toEqual([createdAt]);
  await other.close({ timeoutSeconds: 1 });
});

test('queries without a time limit have none, whatever the database has as default', async () => {
  const name = new URL(database.url).pathname.slice(1);
  await database.db.execute(sql.raw(`alter database ${name} set statement_timeout = '100ms'`));
  const unlimited = connect(database.url, { max: 1, statementTimeoutMs: 0 });
  expect(await unlimited`select pg_sleep(0.3)`).toHaveLength(1);
  await unlimited.end();
});

test('a transaction that rests blocks nobody for long, unless its statements have no time limit', async () => {
  for (const [options, timeout] of [
    [{}, '30s'],
    [{ statementTimeoutMs: 0 }, '0'],
  ] as const) {
    const connection = connect(database.url, { max: 1, ...options });
    expect([...(await connection`show idle_in_transaction_session_timeout`)]).toEqual([
      { idle_in_transaction_session_timeout: timeout },
    ]);
    await connection.end();
  }
});

test('a socket that is missing is an outage, a file that is missing is not', async () => {
  const failureOf = (work: (settle: (error: unknown) => void) => void) => new Promise<unknown>(work);
  const ofSocket = await failureOf((settle) => dial('/none/.s.PGSQL.5432').once('error', settle));
  const ofFile = await readFile('/none/file').catch((error: unknown) => error);
  expect([ofSocket, ofFile].map((error) => error instanceof Error && 'code' in error && error.code)).toEqual([
    'ENOENT',
    'ENOENT',
  ]);
  expect([isDatabaseOutage(ofSocket), isDatabaseOutage(ofFile)]).toEqual([true, false]);
});
