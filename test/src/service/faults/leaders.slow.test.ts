import { afterEach, expect, test } from 'bun:test';
import { join } from 'node:path';
import { createTestDatabase } from '../../../support/database/database.ts';
import { startDatabaseProxy } from '../../../support/database/database-proxy.ts';
import { type FakeDiscord, startFakeDiscord } from '../../../support/discord/fake-discord.ts';
import { botEnv, createTestFolder, startProgram } from '../../../support/service/program.ts';
import { waitFor, waitForProcess } from '../../../support/wait.ts';

const database = await createTestDatabase();
const folder = createTestFolder();
const proxy = await startDatabaseProxy(database.url);
const stops: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const stop of stops.splice(0).reverse()) await stop();
  proxy.restore();
});

/** A service with the bot. A separate fake Discord shows whether this bot is connected. */
async function startBotProcess(name: string, databaseUrl: string, shared?: FakeDiscord) {
  const discord = shared ?? (await startFakeDiscord());
  const env = {
    ...botEnv(join(folder, name), { databaseUrl, discord }),
    ROLES: 'bot',
    HEALTH_PORT: '0',
  };
  const program = startProgram('src/main.ts', env);
  stops.push(async () => {
    program.kill('SIGCONT');
    program.kill('SIGKILL');
    await program.exited;
  });
  await program.waitFor('health server listening');
  return { program, isConnected: () => discord.gateway.isReady };
}

/** A leader that reaches the database through the proxy, and another process that waits. */
async function startTwo() {
  const first = await startBotProcess('first', proxy.url);
  await waitForProcess(first.isConnected);
  const second = await startBotProcess('second', database.url);
  await second.program.waitFor('waiting: another process runs this part');
  return { first, second };
}

/** Beyond the promise: 15 s for a leader that hangs, and at once for one that stops. */
const LATE_MS = 40_000;

test.each([
  ['stops', 'SIGTERM'],
  ['is killed', 'SIGKILL'],
  ['hangs', 'SIGSTOP'],
] as const)('another process takes over in time when the leader %s', async (_, signal) => {
  const { first, second } = await startTwo();
  first.program.kill(signal);
  await waitFor(second.isConnected, { limitMs: LATE_MS });
  if (signal !== 'SIGSTOP') return expect(first.isConnected()).toBe(false);
  first.program.kill('SIGCONT');
  await first.program.waitFor('lost the lock of bot: another process has it');
  await waitForProcess(() => !first.isConnected());
});

test.each([
  ['loses its database', 'cut'],
  ['hears nothing of its database', 'freeze'],
] as const)(
  'another process takes over in time when the leader %s, which leaves once it learns of that',
  async (_, how) => {
    const { first, second } = await startTwo();
    proxy[how]();
    await waitFor(second.isConnected, { limitMs: LATE_MS });
    expect(first.isConnected()).toBe(true);
    proxy.restore();
    await first.program.waitFor('lost the lock of bot: another process has it');
    await waitForProcess(() => !first.isConnected());
    expect(second.isConnected()).toBe(true);
  },
);

test('the only bot stays connected while the database is away, also after another login', async () => {
  const discord = await startFakeDiscord();
  const alone = await startBotProcess('alone', proxy.url, discord);
  await waitForProcess(alone.isConnected);
  proxy.cut();
  await Bun.sleep(7000);
  expect(alone.isConnected()).toBe(true);
  discord.gateway.invalidateSessions({ isResumable: false });
  await waitForProcess(() => discord.gateway.identifies === 2 && alone.isConnected());
  await Bun.sleep(2000);
  expect(alone.isConnected()).toBe(true);
  proxy.restore();
  await Bun.sleep(2000);
  expect(alone.isConnected()).toBe(true);
});
