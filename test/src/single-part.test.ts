import { expect, test } from 'bun:test';
import pino from 'pino';
import { runSinglePart } from '../../src/single-part.ts';
import { createTestDatabase } from '../support/database.ts';
import { startDatabaseProxy } from '../support/database-proxy.ts';
import { waitFor } from '../support/wait.ts';

const { url, connection } = await createTestDatabase();
const log = pino({ level: 'silent' });

function aPart(databaseUrl: string) {
  const calls: string[] = [];
  const part = runSinglePart({
    databaseUrl,
    name: 'bot',
    log,
    create: () => ({
      start: () => void calls.push('start'),
      stop: async () => void calls.push('stop'),
    }),
    isReachable: async () => (await connection`select 1`).length === 1,
    stopAfterMs: 1000,
  });
  return { calls, part };
}

test('runs in one process at a time; the next takes over', async () => {
  const first = aPart(url);
  await waitFor(() => first.calls.includes('start'));
  const second = aPart(url);
  await Bun.sleep(1200);
  expect(second.calls).toEqual([]);
  await first.part.stop();
  expect(first.calls).toEqual(['start', 'stop']);
  await waitFor(() => second.calls.includes('start'));
  await second.part.stop();
});

test('goes on while the database is away, and stops once another process has taken over', async () => {
  const proxy = await startDatabaseProxy(url);
  const first = aPart(proxy.url);
  await waitFor(() => first.calls.includes('start'));
  proxy.cut();
  await Bun.sleep(500);
  proxy.restore();
  await Bun.sleep(2500);
  // Back within the time allowed: neither stopped nor started anew.
  expect(first.calls).toEqual(['start']);
  proxy.cut();
  const second = aPart(url);
  await waitFor(() => second.calls.includes('start'));
  await waitFor(() => first.calls.includes('stop'));
  await second.part.stop();
  await first.part.stop();
  await proxy.stop();
}, 20_000);
