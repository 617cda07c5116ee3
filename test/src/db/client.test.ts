import { afterAll, beforeAll, expect, test } from 'bun:test';
import { readFile, writeFile } from 'node:fs/promises';
import { createServer, connect as dial } from 'node:net';
import { join } from 'node:path';
import { sql } from 'drizzle-orm';
import {
  type Connection,
  connect,
  databaseTroubleOf,
  INSTANCE,
  isDatabaseOutage,
} from '../../../src/db/client.ts';
import { openDatabase } from '../../../src/db/database.ts';
import { toOpenFailure } from '../../../src/db/open.ts';
import { listPenalties } from '../../../src/queries/penalties/list.ts';
import { insertPenalties } from '../../support/database/builders.ts';
import { createTestDatabase } from '../../support/database/database.ts';
import { encryptServer, openTestServer } from '../../support/database/test-server.ts';
import { CERTIFICATE } from '../../support/http/certificate.ts';
import { createTestFolder } from '../../support/service/program.ts';
import { waitFor } from '../../support/wait.ts';

const server = await openTestServer();
const folder = createTestFolder();
const database = await createTestDatabase();
const opened: Connection[] = [];
afterAll(async () => {
  await Promise.all(opened.map((connection) => connection.end({ timeout: 1 })));
  await server.stop();
});

/** A single connection, until the end of the tests. */
function open(url: string, options: Parameters<typeof connect>[1] = {}): Connection {
  const connection = connect(url, { max: 1, ...options });
  opened.push(connection);
  return connection;
}

const admin = open(server.url);
const failureOf = (url: string) => open(url)`select 1`.catch((error: unknown) => error);
/** The line with which a start fails when this is its address. */
const lineOf = (url: string, failure: unknown) => String(toOpenFailure(failure, { url, isEmbedded: false }));
const withParameters = (parameters: string) => `${server.url}?${parameters}`;

test('a start that fails for another reason than the database says so itself', () => {
  expect(lineOf(server.url, new TypeError('not a database'))).toBe('TypeError: not a database');
});

test('parameters of the address change neither the name nor the settings of a session', async () => {
  const url = withParameters(
    'application_name=x&statement_timeout=1&DateStyle=SQL&options=-cwork_mem%3D64kB',
  );
  const connection = open(url, { statementTimeoutMs: 7000 });
  const settings = await connection`
    select current_setting('application_name') as name, current_setting('statement_timeout') as timeout,
      current_setting('datestyle') as datestyle`;
  expect([...settings]).toEqual([
    { name: `community-api ${INSTANCE}`, timeout: '7s', datestyle: expect.stringContaining('ISO') },
  ]);
});

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

test('transactions see commits made while they waited, whatever the default isolation of the database', async () => {
  const name = new URL(database.url).pathname.slice(1);
  await database.db.execute(
    sql.raw(`alter database ${name} set default_transaction_isolation = 'repeatable read'`),
  );
  const isolation = await open(database.url).begin((tx) => tx`show transaction_isolation`);
  expect([...isolation]).toEqual([{ transaction_isolation: 'read committed' }]);
});

test('queries without a time limit have none, whatever the database has as default', async () => {
  const name = new URL(database.url).pathname.slice(1);
  await database.db.execute(sql.raw(`alter database ${name} set statement_timeout = '100ms'`));
  expect(await open(database.url, { statementTimeoutMs: 0 })`select pg_sleep(0.3)`).toHaveLength(1);
});

test.each([
  ['for half a minute', {}, '30s'],
  ['without a limit if its statements have none', { statementTimeoutMs: 0 }, '0'],
])('a transaction may rest %s', async (_, options, timeout) => {
  expect([...(await open(database.url, options)`show idle_in_transaction_session_timeout`)]).toEqual([
    { idle_in_transaction_session_timeout: timeout },
  ]);
});

test('a socket that is missing is an outage, a file that is missing is not', async () => {
  const ofSocket = await new Promise<unknown>((settle) => dial('/none/.s.PGSQL.5432').once('error', settle));
  const ofFile = await readFile('/none/file').catch((error: unknown) => error);
  expect([ofSocket, ofFile].map((error) => error instanceof Error && 'code' in error && error.code)).toEqual([
    'ENOENT',
    'ENOENT',
  ]);
  expect([isDatabaseOutage(ofSocket), isDatabaseOutage(ofFile)]).toEqual([true, false]);
});

test('connects through a Unix socket as soon as it is there', async () => {
  const { port, username, password } = new URL(server.url);
  const url = `postgres://${username}:${password}@/postgres?host=${folder}`;
  const connection = open(url);
  const failure = await connection`select 1`.catch((error: unknown) => error);
  expect(lineOf(url, failure)).toEndWith(`: The database of DATABASE_URL is unreachable: ${folder}`);

  const socket = createServer((client) => void client.pipe(dial(Number(port), '127.0.0.1')).pipe(client));
  await new Promise<void>((settle) => socket.listen(join(folder, '.s.PGSQL.5432'), settle));
  await waitFor(() => connection`select 1`.catch(() => undefined));
  await connection.end();
  await new Promise((settle) => socket.close(settle));
});

test('a role without a free connection gets an error that says so', async () => {
  await admin.unsafe("create role limited login password 'x' connection limit 1");
  const url = new URL(server.url);
  Object.assign(url, { username: 'limited', password: 'x' });
  await open(url.href)`select 1`;
  const failure = await failureOf(url.href);
  expect(databaseTroubleOf(failure)).toBe('busy');
  expect(lineOf(url.href, failure)).toEndWith(
    `: The database of DATABASE_URL accepts no more connections: too many connections for role "limited" (${url.host})`,
  );
});

test('a server without TLS is named as the reason when the address requires it', async () => {
  const url = `${database.url}?sslmode=require`;
  expect(lineOf(url, await failureOf(url))).toEndWith(
    `: The database of DATABASE_URL cannot be used: the server does not support TLS (${new URL(url).host})`,
  );
});

test('replicas of one host and database have different names', async () => {
  const replicaUrls = ['one@127.0.0.1:1', 'two@127.0.0.1:1', 'localhost'].map((at) => `postgres://${at}/x`);
  const replicated = openDatabase(server.url, { max: 1, replicaUrls });
  const names = replicated.replicaStates().map(({ name }) => name);
  expect(names).toEqual(['127.0.0.1:1/x', '127.0.0.1:1/x (2)', 'localhost/x']);
  await replicated.close({ timeoutSeconds: 0 });
});

const authority = join(folder, 'ca.pem');

beforeAll(async () => {
  await writeFile(authority, CERTIFICATE);
  await encryptServer(server);
});

test.each([
  ['sslmode=disable', false],
  ['sslmode=prefer', true],
  ['sslmode=require', true],
  [`sslmode=verify-ca&sslrootcert=${authority}`, true],
])('connects with %s', async (parameters, isEncrypted) => {
  const connection = open(withParameters(parameters));
  expect([...(await connection`select ssl from pg_stat_ssl where pid = pg_backend_pid()`)]).toEqual([
    { ssl: isEncrypted },
  ]);
});

test.each([
  ['sslmode=verify-ca', 'self signed certificate'],
  [`sslmode=verify-full&sslrootcert=${authority}`, "does not match certificate's altnames"],
])('refuses the certificate with %s, in one line', async (parameters, reason) => {
  const url = withParameters(parameters);
  const failure = await failureOf(url);
  expect(isDatabaseOutage(failure)).toBe(true);
  expect(lineOf(url, failure)).toMatch(
    new RegExp(`^InvalidInput: The database of DATABASE_URL cannot be used: .*${reason}`),
  );
});
