import { afterAll, afterEach, expect, test } from 'bun:test';
import { join } from 'node:path';
import { createTestDatabase } from '../../../support/database/database.ts';
import { startDatabaseProxy } from '../../../support/database/database-proxy.ts';
import { type FakeDiscord, startFakeDiscord } from '../../../support/discord/fake-discord.ts';
import { connectTo, expectWithin } from '../../../support/machine/time-promise.ts';
import { botEnv, createTestFolder, startProgram } from '../../../support/service/program.ts';
import { waitFor } from '../../../support/wait.ts';

const database = await createTestDatabase();
const folder = createTestFolder();
const proxy = await startDatabaseProxy(database.url);
const reference = connectTo(database.url);
const stops: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const stop of stops.splice(0).reverse()) await stop();
  proxy.restore();
});
afterAll(async () => {
  await proxy.stop();
  await folder.remove();
});

/** A service with the bot. With a fake Discord of its own, that shows whether this bot is connected. */
async function startBotProcess(name: string, databaseUrl: string, shared?: FakeDiscord) {
  const discord = shared ?? (await startFakeDiscord());
  const env = {
    ...botEnv(join(folder.path, name), { databaseUrl, discord }),
    ROLES: 'bot',
    HEALTH_PORT: '0',
  };
  const program = startProgram('src/main.ts', env);
  stops.push(async () => {
    program.kill('SIGCONT');
    program.kill('SIGKILL');
    await program.exited;
    if (!shared) await discord.stop();
  });
  await program.waitFor('health server listening');
  return { program, isConnected: () => discord.gateway.isReady };
}

type BotProcess = Awaited<ReturnType<typeof startBotProcess>>;

/** A leader that reaches the database through the proxy, and a standby beside it. */
async function startTwo() {
  const first = await startBotProcess('first', proxy.url);
  await waitFor(first.isConnected);
  const second = await startBotProcess('second', database.url);
  await second.program.waitFor('standing by');
  // The leader learns of the standby with its next heartbeat, after the standby was first seen.
  const seen = await waitFor(async () => {
    const [lease] = await database.connection`
      select standby_seen_at::text as at from leases where name = 'bot' and standby_seen_at is not null`;
    return lease?.at as string | undefined;
  });
  await waitFor(
    async () =>
      (
        await database.connection`
        select from leases where name = 'bot' and expires_at > ${seen}::text::timestamptz + interval '5.1 seconds'`
      ).length > 0,
  );
  return { first, second };
}

/** How long both are connected, in milliseconds, until the second has been for two seconds. */
async function measureOverlap(first: BotProcess, second: BotProcess): Promise<number> {
  let overlapMs = 0;
  let lastMs = performance.now();
  let connectedAtMs: number | undefined;
  await waitFor(() => {
    const nowMs = performance.now();
    if (second.isConnected()) connectedAtMs ??= nowMs;
    if (first.isConnected() && second.isConnected()) overlapMs += nowMs - lastMs;
    lastMs = nowMs;
    return connectedAtMs !== undefined && nowMs > connectedAtMs + 2000;
  });
  return overlapMs;
}

const FAULTS = {
  'is killed': (pid: number) => process.kill(pid, 'SIGKILL'),
  'loses its database': () => proxy.cut(),
  'hears nothing of its database': () => proxy.freeze(),
} as const;

test.each(Object.entries(FAULTS))(
  'another process takes over within ten seconds when the leader %s, and never are there two',
  async (_, fail) => {
    const { first, second } = await startTwo();
    fail(first.program.pid);
    const overlap = measureOverlap(first, second);
    await expectWithin(10_000, () => waitFor(second.isConnected), reference);
    expect(first.isConnected()).toBe(false);
    expect(await overlap).toBeLessThan(100);
    proxy.restore();
    await Bun.sleep(2000);
    expect([first.isConnected(), second.isConnected()]).toEqual([false, true]);
  },
);

test('a leader that hangs is replaced, its sessions are ended, and it leaves as soon as it wakes', async () => {
  const { first, second } = await startTwo();
  const sessionsOf = async (owner: string) =>
    (
      await database.connection`
        select from pg_stat_activity where split_part(substring(application_name from '[^ ]+$'), '.', 1) = ${owner}`
    ).length;
  const [lease] =
    await database.connection`select split_part(holder, '.', 1) as owner from leases where name = 'bot'`;
  const owner = String(lease?.owner);
  expect(await sessionsOf(owner)).toBeGreaterThan(0);
  first.program.kill('SIGSTOP');
  await expectWithin(10_000, () => waitFor(second.isConnected), reference);
  expect(await sessionsOf(owner)).toBe(0);
  first.program.kill('SIGCONT');
  await expectWithin(1000, () => waitFor(() => !first.isConnected()), reference);
  await Bun.sleep(2000);
  expect([first.isConnected(), second.isConnected()]).toEqual([false, true]);
});

test('a leader that stops hands over at once', async () => {
  const { first, second } = await startTwo();
  first.program.kill('SIGTERM');
  const overlap = measureOverlap(first, second);
  await expectWithin(6000, () => waitFor(second.isConnected), reference);
  expect(await overlap).toBeLessThan(100);
});

test('without another process the bot stays connected while the database is away, also after a login of its own', async () => {
  const discord = await startFakeDiscord();
  stops.push(discord.stop);
  const alone = await startBotProcess('alone', proxy.url, discord);
  await waitFor(alone.isConnected);
  proxy.cut();
  await Bun.sleep(7000);
  expect(alone.isConnected()).toBe(true);
  discord.gateway.invalidateSessions({ isResumable: false });
  await waitFor(() => discord.gateway.identifies.length === 2 && alone.isConnected());
  await Bun.sleep(2000);
  expect(alone.isConnected()).toBe(true);
  proxy.restore();
  await Bun.sleep(2000);
  expect(alone.isConnected()).toBe(true);
});

test('a bot without database leaves when one that started later logs in', async () => {
  const discord = await startFakeDiscord();
  stops.push(discord.stop);
  const first = await startBotProcess('cut off', proxy.url, discord);
  await waitFor(first.isConnected);
  proxy.cut();
  const second = await startBotProcess('later', database.url, discord);
  await second.program.waitFor('the bot is connected to Discord');
  await expectWithin(1000, () => waitFor(() => discord.gateway.readySessions === 1), reference);
  expect(first.program.stdout()).toContain('another process was seen doing its work');
  expect(await discord.command('server')).toMatchObject({ callback: 4, refusals: [] });
});

test('a bot without database lets one whose login it missed respond, and leaves once it has seen it', async () => {
  const discord = await startFakeDiscord();
  stops.push(discord.stop);
  discord.gateway.hidesLogins = true;
  const first = await startBotProcess('cut off', proxy.url, discord);
  await waitFor(first.isConnected);
  proxy.cut();
  const second = await startBotProcess('later', database.url, discord);
  const areTwo = () => discord.gateway.readySessions === 2;
  const hasLeft = () => first.program.stdout().includes('another process was seen doing its work');
  // On a busy machine the later one may take longer to respond than the first one waits.
  await waitFor(async () => {
    if (hasLeft() || !areTwo()) return hasLeft();
    const { callback, refusals } = await discord.command('server');
    expect(callback).toBe(4);
    await waitFor(() => refusals.length === 1 || !areTwo());
    expect(refusals).toMatchObject(refusals.map(() => ({ body: { code: 40060 } })));
    return hasLeft();
  });
  await waitFor(() => !areTwo());
  proxy.restore();
  await Bun.sleep(2000);
  expect(areTwo()).toBe(false);
  expect(await discord.command('server')).toMatchObject({ callback: 4, refusals: [] });
  second.program.kill('SIGTERM');
  await waitFor(() => discord.gateway.identifies.length === 3);
});
