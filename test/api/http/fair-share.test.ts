import { afterEach, expect, test } from 'bun:test';
import { connect, type Socket } from 'node:net';
import { createSigner, hashOf } from '../../../api/web/request/signing.ts';
import { createSession } from '../../../src/queries/users/sessions.ts';
import { aSteamId, insertUser } from '../../support/database/builders.ts';
import { createTestDatabase } from '../../support/database/database.ts';
import { readMetrics } from '../../support/service/metrics.ts';
import { aToken, bearer, startTestService } from '../../support/service/service.ts';
import { waitFor } from '../../support/wait.ts';

const SECRET = 'a-secret-of-the-tests-0123456789abcdef';

const database = await createTestDatabase();
const { db, connection } = database;
const service = await startTestService({
  databaseUrl: database.url,
  env: { SESSION_SECRET: SECRET, PUBLIC_URL: 'http://127.0.0.1', TRUSTED_PROXIES: '127.0.0.1' },
  hasRealClock: true,
});
const { token } = await aToken(db, 1);
const sockets: Socket[] = [];
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  await waitFor(async () => (await countWaiting()) === 0);
});

/** Runs the test while nobody can read a table. */
async function whileLocked(table: string, run: () => Promise<void>): Promise<void> {
  await connection.begin(async (transaction) => {
    await transaction.unsafe(`lock table ${table}`);
    await run();
  });
}

/** The statements of the service that wait for a connection. */
async function countWaiting(): Promise<number> {
  return (await readMetrics(service)).database_queries_waiting ?? Number.NaN;
}

/** The statements that have begun and wait for a lock. */
async function countLocked(): Promise<number> {
  const rows = await connection`
    select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
  return rows.length;
}

/** The headers of somebody who is signed in. */
async function signIn(number: number): Promise<{ Cookie: string }> {
  const { id: userId } = await insertUser(db, number);
  const id = `session-of-${aSteamId(number)}`;
  const now = new Date();
  const expiresAt = new Date(now.getTime() + 3_600_000);
  await createSession(db, { idHash: hashOf(id), userId, expiresAt, now, browser: null, system: null });
  return { Cookie: `session=${id}.${createSigner(SECRET).sign('session', id)}` };
}

/** Sends a request of its own connection, whose response nobody awaits. */
function send(path: string, headers: Record<string, string>): Socket {
  const socket = connect(Number(service.service.port), '127.0.0.1');
  socket.on('error', () => {});
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.write(`GET ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\n${lines.join('')}\r\n`);
  sockets.push(socket);
  return socket;
}

test('a list that waits is not read once its client has disconnected', async () => {
  const list = () => send('/api/v1/penalties?reason=none', bearer(token).headers);
  await whileLocked('penalties', async () => {
    list();
    await waitFor(async () => (await countLocked()) === 1);
    const waiting = Array.from({ length: 19 }, list);
    await waitFor(async () => (await countWaiting()) === 19);
    for (const client of waiting) client.destroy();
    // Less than the four seconds after which a list that waits is refused.
    await waitFor(async () => (await countWaiting()) === 0, { limitMs: 2000 });
    expect(await countLocked()).toBe(1);
  });
});

/** Sends forms of somebody who is signed in, with the CSRF token of their session. */
async function openForms(member: { Cookie: string }) {
  const { text } = await service.ask('/account', { headers: member });
  const csrfToken = /name="csrf_token" value="([^"]*)"/.exec(text)?.[1] ?? '';
  const post = (path: string) =>
    service.ask(path, {
      method: 'POST',
      headers: { ...member, 'Content-Type': 'application/x-www-form-urlencoded' },
      body: new URLSearchParams({ csrf_token: csrfToken }),
    });
  return { csrfToken, post };
}

test('a form looks its session up once', async () => {
  const { post } = await openForms(await signIn(5));
  const countLookups = async () =>
    (await readMetrics(service))['database_query_duration_seconds_count{query="session"}'] ?? Number.NaN;
  const before = await countLookups();
  expect((await post('/account/discord/unlink')).status).toBe(303);
  expect(await countLookups()).toBe(before + 1);
});

test('a sign-out that waits for a lock is 503, and the session stays valid', async () => {
  const member = await signIn(4);
  const { csrfToken, post } = await openForms(member);
  await connection.begin(async (transaction) => {
    await transaction`select from sessions for update`;
    expect((await post('/account/sign-out')).status).toBe(503);
  });
  expect((await service.ask('/account', { headers: member })).text).toContain(csrfToken);
  expect((await post('/account/sign-out')).status).toBe(303);
});

test('a member is recognised while another member has more pages open than may wait', async () => {
  const [busy, other] = [await signIn(2), await signIn(3)];
  let page: ReturnType<typeof service.ask> | undefined;
  await whileLocked('sessions', async () => {
    for (let number = 0; number < 1100; number++)
      send('/account', { ...busy, 'X-Forwarded-For': '192.0.2.1' });
    await waitFor(async () => (await countWaiting()) >= 1000);
    page = service.ask('/account', { headers: { ...other, 'X-Forwarded-For': '192.0.2.2' } });
    await waitFor(async () => (await countWaiting()) > 1000);
  });
  expect((await page)?.status).toBe(200);
});
