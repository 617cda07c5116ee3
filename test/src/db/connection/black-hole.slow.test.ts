import { afterAll, afterEach, beforeEach, describe, expect, test } from 'bun:test';
import tls from 'node:tls';
import postgres from 'postgres';
import { createSocketFactory } from '../../../../src/db/connection/socket.ts';
import { createTestDatabase } from '../../../support/database/database.ts';
import { startDatabaseProxy } from '../../../support/database/database-proxy.ts';
import { encryptServer, openTestServer } from '../../../support/database/test-server.ts';
import { CERTIFICATE, KEY } from '../../../support/http/certificate.ts';

const SILENCE_MS = 200;
/** Longer than the limit, while no response is due. */
const PAUSE_MS = 400;

const { url } = await createTestDatabase();
const encrypted = await openTestServer();
afterAll(encrypted.stop);
await encryptServer(encrypted);

describe.each([
  ['plain', url, false],
  ['over TLS', encrypted.url, 'require'],
] as const)('a connection, %s,', async (_, address, ssl) => {
  const proxy = await startDatabaseProxy(address);
  const options = {
    max: 1,
    fetch_types: false,
    ssl,
    backoff: false,
    socket: createSocketFactory(SILENCE_MS),
  } as const;
  let pool: postgres.Sql;
  beforeEach(() => {
    pool = postgres(proxy.url, options);
  });
  afterEach(async () => {
    await pool.end({ timeout: 0 });
    proxy.restore();
  });
  const isAlive = async () => (await pool`select 1 as one`)[0]?.one === 1;
  const backend = async () => (await pool`select pg_backend_pid() as pid`)[0]?.pid;
  /** The code of the error; fails the test when nothing settles. */
  const codeOf = (query: PromiseLike<unknown>) =>
    Promise.race([
      Promise.resolve(query).then(
        () => 'no error',
        (error) => error.code,
      ),
      Bun.sleep(5000).then(() => 'not settled'),
    ]);

  test('ends a connection in a black hole, however often it sends', async () => {
    expect(await isAlive()).toBe(true);
    proxy.freeze();
    const asking = setInterval(() => void isAlive().catch(() => {}), 20);
    expect(await codeOf(isAlive())).toBe('ETIMEDOUT');
    clearInterval(asking);
  });

  test('keeps a connection that responded while this process was suspended', async () => {
    const pid = await backend();
    const query = pool`select pg_sleep(0.1)`.execute();
    // Until the query is sent.
    await Bun.sleep(20);
    Bun.sleepSync(PAUSE_MS);
    expect(await query).toHaveLength(1);
    expect(await backend()).toBe(pid);
  });

  test('keeps a connection that waits for the client: idle, in a transaction, in a cursor, listening, and after errors', async () => {
    const pid = await backend();
    await pool.begin(async (transaction) => {
      await transaction`select 1`;
      await Bun.sleep(PAUSE_MS);
      await transaction`select ${'x'}::text`;
    });
    for await (const rows of pool`select * from generate_series(1, 4)`.cursor(2)) {
      expect(rows).toHaveLength(2);
      await Bun.sleep(PAUSE_MS);
    }
    await expect(pool`select ${'x'}::int`.execute()).rejects.toThrow('invalid input');
    await expect(pool`select nonsense`.execute()).rejects.toThrow('nonsense');
    await expect(pool`select ${1} + nonsense`.execute()).rejects.toThrow('nonsense');
    await Promise.allSettled(
      [pool`select 1`, pool`select 1 / 0`, pool`select 2`].map((query) => query.execute()),
    );
    await pool`select 1; select 2`.simple();
    await Bun.sleep(PAUSE_MS);
    expect(await backend()).toBe(pid);
    const heard: string[] = [];
    const { unlisten } = await pool.listen('news', (payload) => void heard.push(payload));
    for (const news of ['one', 'two']) {
      await pool`select pg_notify('news', ${news})`;
      await Bun.sleep(PAUSE_MS);
    }
    expect(heard).toEqual(['one', 'two']);
    await unlisten();
    expect(await backend()).toBe(pid);
  });
});

test('a connection over TLS that is closed before the first response fails its query', async () => {
  const proxy = tls.createServer({ key: KEY, cert: CERTIFICATE }, (socket) => {
    socket.on('error', () => {});
    // As a proxy does whose database is down.
    socket.once('data', () => socket.end());
  });
  await new Promise<void>((settle) => proxy.listen(0, '127.0.0.1', settle));
  const address = proxy.address();
  const port = typeof address === 'object' ? address?.port : 0;
  const options = {
    max: 1,
    ssl: 'require',
    sslnegotiation: 'direct',
    socket: createSocketFactory(undefined),
  } as const;
  const pool = postgres(`postgres://user@127.0.0.1:${port}/x`, options);
  await expect(pool`select 1`.execute()).rejects.toThrow('closed the connection without a response');
  await pool.end({ timeout: 0 });
  proxy.close();
});
