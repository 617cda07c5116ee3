import { describe, expect, test } from 'bun:test';
import { randomInt } from 'node:crypto';
import { sql } from 'drizzle-orm';
import pino from 'pino';
import { aSteamId } from '../../../support/database/builders.ts';
import { createTestDatabase } from '../../../support/database/database.ts';
import { findTestRedis } from '../../../support/database/redis.ts';
import { findFreePort } from '../../../support/machine/free-port.ts';
import { startSteamOpenIdProvider } from '../../../support/providers/steam-openid-provider.ts';
import { NOW, startTestService } from '../../../support/service/service.ts';
import { waitFor } from '../../../support/wait.ts';
import { openBrowser, signIn } from '../../../support/web/browser.ts';

/** An IPv6 network that no limit has counted yet. */
const aNetwork = () => `${randomInt(65_536).toString(16)}:${randomInt(65_536).toString(16)}`;

const redisUrl = await findTestRedis();
const database = await createTestDatabase();
const steam = startSteamOpenIdProvider();
steam.now = () => NOW;
const port = findFreePort();

describe.skipIf(redisUrl === undefined)('two processes with one Redis', async () => {
  const env = {
    REDIS_URL: redisUrl ?? '',
    TRUSTED_PROXIES: '127.0.0.1',
    PUBLIC_URL: `http://127.0.0.1:${port}`,
    STEAM_OPENID_URL: steam.url,
  };
  /** How often a process has logged that Redis is unreachable, and whether it still is. */
  const outages = [0, 0];
  const isAway = [false, false];
  const startProcess = (index: 0 | 1) =>
    startTestService({
      databaseUrl: database.url,
      env: { ...env, PORT: String(index === 0 ? port : 0) },
      log: pino(
        { level: 'info' },
        {
          write: (line: string) => {
            if (line.includes('Redis is back')) isAway[index] = false;
            if (!line.includes('Redis is unreachable')) return;
            outages[index] = (outages[index] ?? 0) + 1;
            isAway[index] = true;
          },
        },
      ),
    });
  const processes = [await startProcess(0), await startProcess(1)] as const;

  /**
   * Counts once, or again if a process was without Redis meanwhile, as may happen on a busy machine: it then counts by
   * itself for a second of its clock.
   */
  async function countShared<T>(count: () => Promise<T>): Promise<T> {
    const { counted } = await waitFor(async () => {
      for (const { clock, ask } of processes) {
        clock.monotonicMs += 5000;
        // Shows whether Redis is back.
        await ask('/account/sign-in', { headers: { 'X-Forwarded-For': `2001:db8:${aNetwork()}::1` } });
      }
      if (isAway.includes(true)) return undefined;
      const before = [...outages];
      const counted = await count();
      return Bun.deepEquals(outages, before) ? { counted } : undefined;
    });
    return counted;
  }

  /** How that many requests end; every other one goes to the second process. */
  async function countStatuses(count: number, path: string, init: RequestInit) {
    const statuses: Record<number, number> = {};
    for (let sent = 0; sent < count; sent += 10) {
      const responses = await Promise.all(
        Array.from({ length: 10 }, (_, i) => processes[i % 2 ? 1 : 0].ask(path, init)),
      );
      for (const { status } of responses) statuses[status] = (statuses[status] ?? 0) + 1;
    }
    return statuses;
  }

  test("two processes share an address's limit of sign-in attempts", async () => {
    const counted = await countShared(() =>
      countStatuses(50, '/account/sign-in', {
        headers: { 'X-Forwarded-For': `2001:db8:${aNetwork()}::1` },
      }),
    );
    expect(counted).toEqual({ 303: 30, 429: 20 });
  });

  test("two processes share a user's limit of forms", async () => {
    // Redis may remember user 1 of another run.
    await database.db.execute(
      sql`select setval(pg_get_serial_sequence('users', 'id'), ${randomInt(1_000_000, 2_000_000_000)})`,
    );
    let number = 0;
    const counted = await countShared(async () => {
      number += 1;
      steam.steamId = aSteamId(number);
      const browser = openBrowser(processes[0].origin);
      await signIn(browser);
      const form = { method: 'POST', headers: { Cookie: browser.cookieLine() } };
      // Without the CSRF token a form is refused, and counts.
      return countStatuses(100, '/account/sign-out', form);
    });
    expect(counted).toEqual({ 403: 60, 429: 40 });
  });
});
