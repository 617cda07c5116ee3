import { afterAll, afterEach, describe, expect, test } from 'bun:test';
import { openDatabase } from '../../../../src/db/database.ts';
import { aSteamId, insertPenalties, insertServer } from '../../../support/database/builders.ts';
import { createTestDatabase } from '../../../support/database/database.ts';
import { aToken, bearer, headersOf, startTestService } from '../../../support/service/service.ts';
import { waitFor } from '../../../support/wait.ts';

/** A database that is reachable but refuses the service: the password changed, the role may no longer log in … */

const database = await createTestDatabase();
const { db } = database;
await insertServer(db, { slug: 'one', name: 'One' });
await insertPenalties(db, [{ type: 'ban' }]);
const { token } = await aToken(db, 1);

const databaseName = new URL(database.url).pathname.slice(1);
const role = `refused_${databaseName}`;
const admin = openDatabase(withPath(database.url, 'postgres'), { max: 2 });
await admin.connection.unsafe(`drop role if exists ${role}`);
await admin.connection.unsafe(`create role ${role} superuser login password 'right'`);
const service = await startTestService({ databaseUrl: ownUrl(), hasRealClock: true });
// Before the database is dropped, which happens first.
afterAll(async () => {
  await service.stop();
  await admin.connection.unsafe(`drop role ${role}`);
  await admin.close({ timeoutSeconds: 1 });
});

const UNAVAILABLE = { success: false, message: 'The database is unreachable: try again shortly' };
const PROTECTED_PATHS = ['/penalties', '/bans', `/users/lookup?steamid64=${aSteamId(1)}`];

function withPath(url: string, name: string): string {
  return new URL(`/${name}`, url).href;
}

function ownUrl(): string {
  const url = new URL(database.url);
  url.username = role;
  url.password = 'right';
  return url.href;
}

/** Changes something in the server, and ends the service's sessions so that they notice; returns when all are gone. */
async function change(...statements: string[]): Promise<void> {
  for (const statement of statements) await admin.connection.unsafe(statement);
  await admin.connection`select pg_terminate_backend(pid, 60000) from pg_stat_activity where usename = ${role}`;
}

async function expectUnavailable(): Promise<void> {
  await waitFor(async () => (await service.ask('/api/v1/bans', bearer(token))).status !== 200);
  for (const path of PROTECTED_PATHS) {
    const response = await service.get(path, bearer(token));
    expect([path, response.status, response.body]).toEqual([path, 503, UNAVAILABLE]);
    expect(headersOf(response)).toMatchObject({ 'retry-after': '2', 'cache-control': 'private, no-store' });
  }
  expect((await service.ask('/account', { headers: { Accept: 'text/html' } })).status).toBe(200);
  expect((await service.ask('/api/v1/servers')).status).toBe(200);
  expect((await service.ask('/readyz')).status).toBe(503);
}

async function expectRecovery(): Promise<void> {
  await waitFor(async () => (await service.ask('/api/v1/bans', bearer(token))).status === 200);
  await waitFor(async () => (await service.ask('/readyz')).status === 200);
}

describe('while the service runs', () => {
  const undo: string[] = [];
  afterEach(async () => {
    await change(...undo.splice(0));
    await expectRecovery();
  });

  test('a password that is no longer valid is an outage (28P01)', async () => {
    undo.push(`alter role ${role} password 'right'`);
    await change(`alter role ${role} password 'other'`);
    await expectUnavailable();
  });

  test('a role that may no longer log in is an outage (28000)', async () => {
    undo.push(`alter role ${role} login`);
    await change(`alter role ${role} nologin`);
    await expectUnavailable();
  });

  test('a database that was renamed is an outage (3D000)', async () => {
    undo.push(`alter database ${databaseName}_away rename to ${databaseName}`);
    undo.push(`alter database ${databaseName} allow_connections true`);
    await change(`alter database ${databaseName} allow_connections false`);
    // It accepts no connections now; those of the test's own setup are ended as well.
    await admin.connection`select pg_terminate_backend(pid, 60000) from pg_stat_activity where datname = ${databaseName}`;
    await waitFor(async () => {
      const renamed = admin.connection.unsafe(
        `alter database ${databaseName} rename to ${databaseName}_away`,
      );
      return renamed.then(
        () => true,
        () => false,
      );
    });
    await expectUnavailable();
  });

  test.each(['40001', '53100', '25006', '28P01', '28000', '3D000', '57P01'])(
    'a query that ends with %s is an outage, not an internal error',
    async (code) => {
      const { connection } = database;
      await connection.unsafe(`
        alter table penalties rename to moved;
        create function fail_as_told() returns boolean language plpgsql as
          $$ begin raise exception 'as told' using errcode = '${code}'; end $$;
        create view penalties as select * from moved where fail_as_told()`);
      const response = await service.get('/bans', bearer(token));
      await connection.unsafe(
        'drop view penalties; drop function fail_as_told(); alter table moved rename to penalties',
      );
      expect([response.status, response.body]).toEqual([503, UNAVAILABLE]);
      expect(response.headers.get('retry-after')).toBe('2');
    },
  );

  test('an invalid query is still an internal error', async () => {
    await database.connection.unsafe('alter table penalties rename to moved');
    const response = await service.get('/bans', bearer(token));
    await database.connection.unsafe('alter table moved rename to penalties');
    expect([response.status, response.body]).toEqual([500, { success: false, message: 'Server error' }]);
  });
});
