import { afterAll, afterEach, expect, test } from 'bun:test';
import { openDatabase } from '../../../../src/db/database.ts';
import { aSteamId, insertPenalties, insertServer } from '../../../support/database/builders.ts';
import { createTestDatabase } from '../../../support/database/database.ts';
import { nameDatabase } from '../../../support/database/test-server.ts';
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
const admin = openDatabase(nameDatabase(database.url, 'postgres'), { max: 2 });
await admin.connection.unsafe(`drop role if exists ${role}`);
await admin.connection.unsafe(`create role ${role} superuser login password 'right'`);
const ownUrl = Object.assign(new URL(database.url), { username: role, password: 'right' }).href;
const service = await startTestService({ databaseUrl: ownUrl, hasRealClock: true });
// Before the database is dropped, which happens first.
afterAll(async () => {
  await service.stop();
  await admin.connection.unsafe(`drop role ${role}`);
  await admin.close({ timeoutSeconds: 1 });
});

const UNAVAILABLE = { success: false, message: 'The database is unreachable: try again shortly' };
const PROTECTED_PATHS = ['/penalties', '/bans', `/users/lookup?steamid64=${aSteamId(1)}`];

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

const undo: string[] = [];
afterEach(async () => {
  await change(...undo.splice(0));
  await expectRecovery();
});

test.each([
  ['a password that is no longer valid (28P01)', `password 'other'`, `password 'right'`],
  ['a role that may no longer log in (28000)', 'nologin', 'login'],
])('%s is an outage', async (_, changed, original) => {
  undo.push(`alter role ${role} ${original}`);
  await change(`alter role ${role} ${changed}`);
  await expectUnavailable();
});

test('a database that accepts no connections is an outage (55000)', async () => {
  undo.push(`alter database ${databaseName} allow_connections true`);
  await change(`alter database ${databaseName} allow_connections false`);
  await expectUnavailable();
});

test('a database that was renamed is an outage (3D000)', async () => {
  undo.push(`alter database ${databaseName}_away rename to ${databaseName}`);
  undo.push(`alter database ${databaseName} allow_connections true`);
  await change(`alter database ${databaseName} allow_connections false`);
  // It accepts no connections now; those of the test's own setup are ended as well.
  await admin.connection`select pg_terminate_backend(pid, 60000) from pg_stat_activity where datname = ${databaseName}`;
  const rename = `alter database ${databaseName} rename to ${databaseName}_away`;
  await waitFor(() => admin.connection.unsafe(rename).catch(() => false));
  await expectUnavailable();
});
