import { afterEach, describe, expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { eq } from 'drizzle-orm';
import { servers } from '../../../../src/db/schema/servers.ts';
import { revokeApiToken } from '../../../../src/queries/users/api-tokens.ts';
import {
  aSteamId,
  insertPenalties,
  insertReadySound,
  insertServer,
} from '../../../support/database/builders.ts';
import { createTestDatabase } from '../../../support/database/database.ts';
import { startDatabaseProxy } from '../../../support/database/database-proxy.ts';
import { createTestFolder } from '../../../support/service/program.ts';
import { aToken, bearer, startTestService, type TestService } from '../../../support/service/service.ts';
import { waitFor, waitForProcess } from '../../../support/wait.ts';

const database = await createTestDatabase();
const { db } = database;
const server = await insertServer(db, { slug: 'one', name: 'One' });
await insertReadySound(db, aSteamId(1), 'track.mp3');
await insertPenalties(db, [{ type: 'ban' }]);
const { token } = await aToken(db, 1);

const proxy = await startDatabaseProxy(database.url);
const service = await startTestService({ databaseUrl: proxy.url, hasRealClock: true });
/** Its clock stands still, so it learns of changes only by notifications. */
const listening = await startTestService({ databaseUrl: proxy.url });
afterEach(proxy.restore);

const UNAVAILABLE = { success: false, message: 'The database is unreachable: try again shortly' };
const PUBLIC_PATHS = [
  '/servers',
  '/servers/one',
  `/servers/${server.id}/players`,
  '/servers/one/history',
  `/players/${aSteamId(1)}/roundsound`,
  `/players/${aSteamId(2)}/roundsound`,
];
const PROTECTED_PATHS = ['/penalties', '/bans', '/mutes', '/warns', `/users/lookup?steamid64=${aSteamId(1)}`];

const readPublic = async () => {
  const texts: string[] = [];
  for (const path of PUBLIC_PATHS) {
    const { status, text } = await service.ask(`/api/v1${path}`);
    expect([path, status]).toEqual([path, 200]);
    texts.push(text);
  }
  return texts;
};

/** Takes the database away, and waits until a service has noticed. */
const takeAway = async (from: TestService) => {
  proxy.cut();
  await waitFor(async () => (await from.ask('/api/v1/bans', bearer(token))).status === 503);
};

/** Waits until everything answers again. */
const expectRecovery = async (of: TestService) => {
  for (const path of PROTECTED_PATHS) {
    await waitFor(async () => (await of.ask(`/api/v1${path}`, bearer(token))).status === 200);
  }
  await waitFor(async () => (await of.ask('/readyz')).status === 200);
};

/** Waits until the token is refused. */
const expectRefusal = (revoked: string) =>
  waitFor(async () => (await listening.ask('/api/v1/bans', bearer(revoked))).status === 401);

describe('while the database is away', () => {
  test('public responses go on from what was read last, byte for byte', async () => {
    const before = await readPublic();
    proxy.cut();
    for (let round = 0; round < 20; round++) {
      expect(await readPublic()).toEqual(before);
      await Bun.sleep(100);
    }
    const { headers } = await service.ask('/api/v1/servers');
    expect(headers.get('cache-control')).toBe('public, max-age=2, stale-while-revalidate=1');
    const tag = { 'If-None-Match': headers.get('etag') ?? '' };
    expect((await service.get('/servers', { headers: tag })).status).toBe(304);
    expect((await service.get('/servers/nope')).status).toBe(404);
  });

  test('a token that cannot be looked up is 503, a malformed one is 401 as always', async () => {
    await takeAway(service);
    expect((await service.get('/bans')).status).toBe(401);
    expect((await service.get('/bans', bearer('nonsense'))).status).toBe(401);
  });

  test('the process is alive and not ready', async () => {
    proxy.cut();
    expect((await service.ask('/healthz')).status).toBe(200);
    const response = await waitFor(async () => {
      const ready = await service.ask('/readyz');
      return ready.status === 503 && ready;
    });
    expect(response.body).toMatchObject({ status: 'not ready', database: 'down' });
    expect(response.headers.get('retry-after')).toBe('2');
  });
});

describe('when the database returns', () => {
  test('everything answers again, and shows what changed meanwhile', async () => {
    await readPublic();
    await takeAway(service);
    await db.update(servers).set({ mode: 'Wingman' }).where(eq(servers.id, server.id));
    await Bun.sleep(1000);
    proxy.restore();
    await expectRecovery(service);
    const isShown = async () => (await service.ask('/api/v1/servers/one')).text.includes('Wingman');
    await waitFor(isShown);
  });

  test('notifications are received again', async () => {
    const revoked = await aToken(db, 2);
    expect((await listening.get('/bans', bearer(revoked.token))).status).toBe(200);
    await takeAway(listening);
    await Bun.sleep(700);
    proxy.restore();
    await expectRecovery(listening);
    // It is cached again after the outage, so only a notification can revoke it.
    expect((await listening.get('/bans', bearer(revoked.token))).status).toBe(200);
    await revokeApiToken(db, revoked.id, { now: new Date(), actor: 'operator' });
    await expectRefusal(revoked.token);
  });

  test('a token revoked while it was away is refused', async () => {
    const revoked = await aToken(db, 3);
    expect((await listening.get('/bans', bearer(revoked.token))).status).toBe(200);
    proxy.cut();
    await revokeApiToken(db, revoked.id, { now: new Date(), actor: 'operator' });
    proxy.restore();
    await expectRefusal(revoked.token);
  });
});

test('connections lost in every state under load leave a service that answers', async () => {
  let isOver = false;
  const seen = new Set<number>();
  const clients = Array.from({ length: 24 }, async (_, i) => {
    while (!isOver) {
      const path = PROTECTED_PATHS[i % PROTECTED_PATHS.length];
      seen.add((await service.ask(`/api/v1${path}`, bearer(token))).status);
      if (i % 8 === 0) seen.add((await service.ask('/readyz')).status);
    }
  });
  for (let round = 0; round < 12; round++) {
    await Bun.sleep(50 + round * 10);
    proxy.cut();
    await Bun.sleep(round * 15);
    proxy.restore();
  }
  await Bun.sleep(500);
  isOver = true;
  await Promise.all(clients);
  expect([...seen].sort()).toEqual([200, 503]);
  await expectRecovery(service);
  // More requests at once than the pool has connections: no connection was lost for good.
  const responses = await Promise.all(
    Array.from({ length: 64 }, () => service.ask('/api/v1/penalties', bearer(token))),
  );
  expect(new Set(responses.map(({ status }) => status))).toEqual(new Set([200]));
});

test('a database that hangs: public responses go on, protected ones end in 503 in time, and all recovers', async () => {
  const before = await readPublic();
  proxy.freeze();
  const waiting = Promise.all(
    Array.from({ length: 50 }, (_, i) =>
      service.ask(`/api/v1${PROTECTED_PATHS[i % PROTECTED_PATHS.length]}`, bearer(token)),
    ),
  );
  expect(await readPublic()).toEqual(before);
  const ready = await service.ask('/readyz');
  expect([ready.status, (await service.ask('/healthz')).status]).toEqual([503, 200]);

  const responses = await waiting;
  for (const response of responses) {
    expect([response.status, response.body]).toEqual([503, UNAVAILABLE]);
    expect(response.headers.get('retry-after')).toBe('2');
  }
  proxy.restore();
  await expectRecovery(service);
});

test('lists fail once for each of their two connections to a primary whose address moved', async () => {
  const readBans = async () => (await service.ask('/api/v1/bans', bearer(token))).status;
  // At once, so that both connections are open.
  await waitFor(async () => (await Promise.all([readBans(), readBans()])).every((status) => status === 200));
  proxy.strand();
  const statuses: number[] = [];
  // One after the other: each waits for its deadline on another connection, which is given up a second later.
  while (statuses.at(-1) !== 200) statuses.push(await readBans());
  expect(statuses).toEqual([503, 503, 200]);
  await waitFor(async () => (await service.ask('/readyz')).status === 200);
});

describe('while the database is slow', () => {
  test('a request that waits first for its token, then for its data, is 503 after four seconds in all', async () => {
    const { connection } = service.service.database;
    // Opens every connection of the pool, after the outages before.
    const openAll = () => Promise.all(Array.from({ length: 6 }, () => connection`select pg_sleep(0.05)`));
    await waitFor(() => openAll().catch(() => false));
    const unknown = await aToken(db, 4, { now: new Date() });
    // Two round trips for each.
    proxy.slow(650);
    const response = await service.ask('/api/v1/bans', bearer(unknown.token));
    expect([response.status, response.headers.get('retry-after')]).toEqual([503, '2']);
  });

  test('the statement of a request that got its 503 does not run on, and none that waited is sent', async () => {
    const lookup = `/users/lookup?steamid64=${aSteamId(1)}`;
    const paths = ['/bans', lookup, '/players/search?name=one', '/servers/one/history?hours=720'];
    await database.connection.begin(async (transaction) => {
      await transaction.unsafe('lock table penalties, player_names, server_samples');
      const asked = Array.from({ length: 20 }, (_, i) =>
        service.ask(`/api/v1${paths[i % paths.length]}`, bearer(token)),
      );
      const locked = await Promise.all(asked);
      expect(locked.map(({ status }) => status)).toEqual(asked.map(() => 503));
      const isQuiet = async () => {
        const [row] = await transaction`
          select count(*)::integer as running from pg_stat_activity
          where datname = current_database() and state = 'active' and wait_event_type = 'Lock'`;
        return row?.running === 0;
      };
      // Statements of requests that have their 503 are canceled after ten seconds.
      await waitForProcess(isQuiet);
    });
    await expectRecovery(service);
  });
});

test('the service restarts an embedded database that was killed, and recovers', async () => {
  const folder = createTestFolder();
  const own = await startTestService({
    databaseUrl: '',
    env: { DATA_DIR: folder, POLL_INTERVAL_SECONDS: '3600' },
    hasRealClock: true,
  });
  await insertServer(own.service.database.db, { slug: 'kept' });
  const kept = await aToken(own.service.database.db, 1);
  await waitFor(async () => (await own.ask('/api/v1/servers/kept')).status === 200);
  expect((await own.get('/bans', bearer(kept.token))).status).toBe(200);

  const readPid = () =>
    Number(readFileSync(join(folder, 'postgres', 'postmaster.pid'), 'utf8').split('\n')[0]);
  const pid = readPid();
  process.kill(pid, 'SIGKILL');
  let asked = 0;
  await waitFor(async () => {
    asked += 1;
    expect((await own.ask('/api/v1/servers/kept')).status).toBe(200);
    const { status } = await own.ask('/api/v1/bans', bearer(kept.token));
    expect([200, 503]).toContain(status);
    return status === 200 && readPid() !== pid;
  });
  expect(asked).toBeGreaterThan(1);
  await own.stop();
});
