import { afterEach, expect, test } from 'bun:test';
import { connect, type Socket } from 'node:net';
import { createSigner, hashOf } from '../../../api/web/request/signing.ts';
import { staffNotes } from '../../../src/db/schema/accounts.ts';
import { revokeApiToken } from '../../../src/queries/users/api-tokens.ts';
import { createSession } from '../../../src/queries/users/sessions.ts';
import { aSteamId, insertPenalty, insertUser } from '../../support/database/builders.ts';
import { createTestDatabase } from '../../support/database/database.ts';
import { startDatabaseProxy } from '../../support/database/database-proxy.ts';
import { openEventStream } from '../../support/http/event-stream.ts';
import { readMetrics } from '../../support/service/metrics.ts';
import { aToken, bearer, startTestService } from '../../support/service/service.ts';
import { waitFor } from '../../support/wait.ts';

const SECRET = 'a-secret-of-the-tests-0123456789abcdef';

const database = await createTestDatabase();
const { db, connection } = database;
const proxy = await startDatabaseProxy(database.url);
const service = await startTestService({
  databaseUrl: proxy.url,
  env: { SESSION_SECRET: SECRET, PUBLIC_URL: 'http://127.0.0.1', TRUSTED_PROXIES: '127.0.0.1' },
  hasRealClock: true,
});
const { token } = await aToken(db, 1);
const sockets: Socket[] = [];
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  await waitFor(() => countWaiting() === 0);
});

/** Runs the test while nobody can read a table. */
async function whileLocked(table: string, run: () => Promise<void>): Promise<void> {
  await connection.begin(async (transaction) => {
    await transaction.unsafe(`lock table ${table}`);
    await run();
  });
}

/** The statements of the service that wait for a connection. */
const countWaiting = () => service.service.database.poolLoad().waiting;

/** The statements that have begun and wait for a lock. */
async function countLocked(): Promise<number> {
  const rows = await connection`
    select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
  return rows.length;
}

/** The headers of somebody who is signed in. */
async function signIn(number: number, values: Parameters<typeof insertUser>[2] = {}) {
  const { id: userId } = await insertUser(db, number, values);
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
    await waitFor(() => countWaiting() === 19);
    for (const client of waiting) client.destroy();
    // Less than the four seconds after which a list that waits is refused.
    await waitFor(() => countWaiting() === 0, { limitMs: 2000 });
    expect(await countLocked()).toBe(1);
  });
});

/** Sends forms of somebody who is signed in, with the CSRF token of their session. */
async function openForms(member: { Cookie: string }) {
  const { text } = await service.ask('/account', { headers: member });
  const csrfToken = /name="csrf_token" value="([^"]*)"/.exec(text)?.[1] ?? '';
  const post = (path: string, fields: Record<string, string> = {}) =>
    service.ask(path, {
      method: 'POST',
      headers: { ...member, 'Content-Type': 'application/x-www-form-urlencoded' },
      body: new URLSearchParams({ csrf_token: csrfToken, ...fields }),
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

test('a note that waits for a lock is shown again on the 503 page, and is saved once when it is sent again', async () => {
  const { post } = await openForms(await signIn(9, { isAdmin: true }));
  const path = `/account/moderation/users/${aSteamId(1)}/notes`;
  const fields = { form_id: crypto.randomUUID(), sender: aSteamId(9), text: 'Two accounts' };
  await whileLocked('staff_notes', async () => {
    const { status, text } = await post(path, fields);
    expect([status, text.includes('Two accounts</textarea>')]).toEqual([503, true]);
  });
  for (let sent = 0; sent < 2; sent++) expect((await post(path, fields)).status).toBe(303);
  expect(await db.$count(staffNotes)).toBe(1);
});

test('a revoked token ends its stream while the replays of two others wait for the database', async () => {
  const open = (of: string, headers = {}) =>
    openEventStream(`${service.origin}/api/v1/events`, { ...bearer(of).headers, ...headers });
  const revoked = await aToken(db, 6, { now: new Date() });
  const stream = await open(revoked.token);
  await waitFor(() => stream.lastEventId());
  const cursor = stream.lastEventId();
  await insertPenalty(db);
  await waitFor(() => stream.events.length === 1);

  // As many as the background has connections.
  let held = 0;
  const release = Promise.withResolvers<void>();
  const holdReplay = () => {
    proxy.before('not "penalty_events"."is_silent"', () => {
      held += 1;
      if (held < 2) holdReplay();
      return release.promise;
    });
  };
  holdReplay();
  const others = [await aToken(db, 7, { now: new Date() }), await aToken(db, 8, { now: new Date() })];
  const replays = await Promise.all(others.map((other) => open(other.token, { 'Last-Event-ID': cursor })));
  await waitFor(() => held === 2);
  await revokeApiToken(db, revoked.id, { now: new Date(), actor: 'operator' });
  await stream.closed;
  release.resolve();
  await waitFor(() => replays.every(({ events }) => events.length === 1));
  for (const { leave } of replays) leave();
});

test('a member is recognised while another member has more pages open than may wait', async () => {
  const [busy, other] = [await signIn(2), await signIn(3)];
  let page: ReturnType<typeof service.ask> | undefined;
  await whileLocked('sessions', async () => {
    for (let number = 0; number < 1100; number++)
      send('/account', { ...busy, 'X-Forwarded-For': '192.0.2.1' });
    await waitFor(() => countWaiting() >= 1000);
    page = service.ask('/account', { headers: { ...other, 'X-Forwarded-For': '192.0.2.2' } });
    await waitFor(() => countWaiting() > 1000);
  });
  expect((await page)?.status).toBe(200);
});
