import { afterAll, beforeAll, expect, test } from 'bun:test';
import { chown, mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { createServer, connect as dial } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect, databaseTroubleOf, INSTANCE, isDatabaseOutage } from '../../../src/db/client.ts';
import { openDatabase } from '../../../src/db/database.ts';
import { toOpenFailure } from '../../../src/db/open.ts';
import { createTestDatabase } from '../../support/database/database.ts';
import { openTestServer } from '../../support/database/test-server.ts';
import { CERTIFICATE, KEY } from '../../support/http/certificate.ts';
import { waitFor } from '../../support/wait.ts';

const server = await openTestServer();
const folder = await mkdtemp(join(tmpdir(), 'address-'));
const admin = connect(server.url, { max: 1 });
afterAll(async () => {
  await admin.end();
  await server.stop();
  await rm(folder, { recursive: true });
});

const withParameters = (parameters: string) => `${server.url}?${parameters}`;

test('parameters of the address change neither the name nor the settings of a session', async () => {
  const url = withParameters(
    'application_name=x&statement_timeout=1&DateStyle=SQL&options=-cwork_mem%3D64kB',
  );
  const connection = connect(url, { max: 1, statementTimeoutMs: 7000 });
  const settings = await connection`
    select current_setting('application_name') as name, current_setting('statement_timeout') as timeout,
      current_setting('datestyle') as datestyle`;
  expect([...settings]).toEqual([
    { name: `community-api ${INSTANCE}`, timeout: '7s', datestyle: expect.stringContaining('ISO') },
  ]);
  await connection.end();
});

test('addresses for other clients connect', async () => {
  const url = withParameters('schema=public&connection_limit=5&channel_binding=require&keepalives_idle=30');
  const connection = connect(url, { max: 1 });
  expect(await connection`select 1`).toHaveLength(1);
  await connection.end();
});

test('connects through a Unix socket as soon as it is there', async () => {
  const { port, username, password } = new URL(server.url);
  const url = `postgres://${username}:${password}@/postgres?host=${folder}`;
  const connection = connect(url, { max: 1 });
  const failure = await connection`select 1`.catch((error: unknown) => error);
  expect(toOpenFailure(failure, { url, isEmbedded: false })).toMatchObject({
    message: `The database of DATABASE_URL is unreachable: ${folder}`,
  });

  const socket = createServer((client) => void client.pipe(dial(Number(port), '127.0.0.1')).pipe(client));
  await new Promise<void>((settle) => socket.listen(join(folder, '.s.PGSQL.5432'), settle));
  await waitFor(() => connection`select 1`.catch(() => undefined));
  await connection.end();
  await new Promise((settle) => socket.close(settle));
});

test('a role that has all its connections is told so', async () => {
  await admin.unsafe("create role limited login password 'x' connection limit 1");
  const url = new URL(server.url);
  Object.assign(url, { username: 'limited', password: 'x' });
  const first = connect(url.href, { max: 1 });
  await first`select 1`;
  const second = connect(url.href, { max: 1 });
  const failure = await second`select 1`.catch((error: unknown) => error);
  expect(databaseTroubleOf(failure)).toBe('busy');
  expect(toOpenFailure(failure, { url: url.href, isEmbedded: false })).toMatchObject({
    message: `The database of DATABASE_URL accepts no more connections: too many connections for role "limited" (${url.host})`,
  });
  await Promise.all([first.end(), second.end()]);
});

test('a server without TLS is named as the reason when the address requires it', async () => {
  const url = `${(await createTestDatabase()).url}?sslmode=require`;
  const connection = connect(url, { max: 1 });
  const failure = await connection`select 1`.catch((error: unknown) => error);
  expect(toOpenFailure(failure, { url, isEmbedded: false })).toMatchObject({
    message: `The database of DATABASE_URL cannot be used: the server does not support TLS (${new URL(url).host})`,
  });
  await connection.end();
});

test('replicas of one host and database have different names', async () => {
  const replicaUrls = [
    'postgres://one@127.0.0.1:1/x',
    'postgres://two@127.0.0.1:1/x',
    'postgres://localhost/x',
  ];
  const database = openDatabase(server.url, { max: 1, replicaUrls });
  expect(database.replicaStates().map(({ name }) => name)).toEqual([
    '127.0.0.1:1/x',
    '127.0.0.1:1/x (2)',
    'localhost/x',
  ]);
  await database.close({ timeoutSeconds: 0 });
});

/** The certificate is for another host than 127.0.0.1. */
const authority = join(folder, 'ca.pem');

beforeAll(async () => {
  const [row] = await admin`show data_directory`;
  const { uid, gid } = await stat(row?.data_directory);
  for (const [name, text] of [
    ['server.crt', CERTIFICATE],
    ['server.key', KEY],
  ] as const) {
    const path = join(row?.data_directory, name);
    await writeFile(path, text, { mode: 0o600 });
    await chown(path, uid, gid);
  }
  await writeFile(authority, CERTIFICATE);
  await admin`alter system set ssl = on`;
  await admin`select pg_reload_conf()`;
  const reads = connect(server.url, { max: 1 });
  await waitFor(async () => (await reads`show ssl`)[0]?.ssl === 'on');
  await reads.end();
});

test.each([
  ['sslmode=disable', false],
  ['sslmode=prefer', true],
  ['sslmode=require', true],
  [`sslmode=verify-ca&sslrootcert=${authority}`, true],
])('connects with %s', async (parameters, isEncrypted) => {
  const connection = connect(withParameters(parameters), { max: 1 });
  expect([...(await connection`select ssl from pg_stat_ssl where pid = pg_backend_pid()`)]).toEqual([
    { ssl: isEncrypted },
  ]);
  await connection.end();
});

test.each([
  ['sslmode=verify-ca', 'self signed certificate'],
  [`sslmode=verify-full&sslrootcert=${authority}`, "does not match certificate's altnames"],
])('refuses the certificate with %s, in one line', async (parameters, reason) => {
  const url = withParameters(parameters);
  const failure = await connect(url, { max: 1 })`select 1`.catch((error: unknown) => error);
  expect(isDatabaseOutage(failure)).toBe(true);
  const line = String(toOpenFailure(failure, { url, isEmbedded: false }));
  expect(line).toMatch(new RegExp(`^InvalidInput: The database of DATABASE_URL cannot be used: .*${reason}`));
});
