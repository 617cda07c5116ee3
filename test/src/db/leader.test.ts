import { expect, test } from 'bun:test';
import { once } from 'node:events';
import pino from 'pino';
import { type Fence, runAsLeader } from '../../../src/db/leader.ts';
import { fenceDatabase } from '../../../src/db/lease/fence.ts';
import { acquireLease, renewLease } from '../../../src/db/lease/lease-row.ts';
import { findSetting, saveSetting } from '../../../src/queries/settings.ts';
import { createTestDatabase } from '../../support/database/database.ts';
import { startDatabaseProxy } from '../../support/database/database-proxy.ts';
import { waitFor } from '../../support/wait.ts';

const opened = await createTestDatabase();
const { url, db: openedDb } = opened;
const log = pino({ level: 'silent' });

function aPart(databaseUrl: string) {
  const calls: string[] = [];
  const part = runAsLeader({
    databaseUrl,
    name: 'bot',
    log,
    lead: async (signal) => {
      calls.push('start');
      await once(signal, 'abort');
      calls.push('stop');
    },
    outlivesOutage: true,
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

test('gives way to another process while the lease is lost, never while it is held, and begins again with it', async () => {
  const proxy = await startDatabaseProxy(url);
  const { calls, part } = aPart(proxy.url);
  await waitFor(() => calls.includes('start'));
  part.stepDown();
  expect([part.isLeader(), calls]).toEqual([true, ['start']]);
  proxy.cut();
  await waitFor(() => !part.isExclusive());
  part.stepDown();
  await waitFor(() => calls.includes('stop'));
  proxy.restore();
  await waitFor(() => calls.length === 3);
  expect(calls).toEqual(['start', 'stop', 'start']);
  await part.stop();
  await proxy.stop();
});

test('goes on while the database is away, and stops once another process has taken over', async () => {
  const proxy = await startDatabaseProxy(url);
  const first = aPart(proxy.url);
  await waitFor(() => first.calls.includes('start'));
  proxy.cut();
  await Bun.sleep(4500);
  proxy.restore();
  await Bun.sleep(2500);
  // No other process stood by, so the work neither stopped nor started again.
  expect(first.calls).toEqual(['start']);
  proxy.cut();
  const second = aPart(url);
  await waitFor(() => second.calls.includes('start'));
  proxy.restore();
  await waitFor(() => first.calls.includes('stop'));
  await second.part.stop();
  await first.part.stop();
  await proxy.stop();
});

test('a write under a lost lease is refused, in a transaction and outside', async () => {
  const fences: Fence[] = [];
  const part = runAsLeader({
    databaseUrl: url,
    name: 'mirror',
    log,
    lead: async (signal, fence) => {
      fences.push(fence);
      await once(signal, 'abort');
    },
  });
  await part.decided;
  const [fence] = fences;
  if (!fence) throw new Error('this process leads');
  const fenced = fence(openedDb);
  await saveSetting(fenced, 'fenced', 'one');
  await fenced.transaction((tx) => saveSetting(tx, 'fenced', 'two'));
  expect(await findSetting(fenced, 'fenced')).toBe('two');
  // As another process would after this one was suspended for long.
  await opened.connection`update leases set token = token + 1 where name = 'mirror'`;
  await expect(saveSetting(fenced, 'fenced', 'three')).rejects.toThrow();
  await expect(fenced.transaction((tx) => saveSetting(tx, 'fenced', 'four'))).rejects.toThrow(
    'Another process runs this part now',
  );
  expect(await findSetting(openedDb, 'fenced')).toBe('two');
  await waitFor(() => !part.isLeader());
  await part.stop();
});

test('a process that takes over after a failover that lost the last takeover is not mistaken for the previous leader', async () => {
  const { connection, db } = opened;
  const takeOver = async (holder: string) => {
    const token = await acquireLease(connection, 'retention', holder);
    if (token === undefined) throw new Error(`${holder} could not take over`);
    return token;
  };
  await takeOver('first.1');
  const replicated = await connection`
    update leases set expires_at = '-infinity' where name = 'retention' returning token`;
  const lost = await takeOver('second.1');
  // What a replica has that was promoted before it received this.
  await connection`
    update leases set token = ${String(replicated[0]?.token)}, expires_at = '-infinity' where name = 'retention'`;
  await takeOver('third.1');
  expect(await renewLease(connection, 'retention', lost)).toBeUndefined();
  const fenced = fenceDatabase(db, 'retention', lost);
  await expect(fenced.transaction((tx) => saveSetting(tx, 'fenced', 'late'))).rejects.toThrow(
    'Another process runs this part now',
  );
});

test('nobody takes over while something written under the lease is being committed', async () => {
  const [row] = await opened.connection`
    insert into leases (name, holder, token, expires_at) values ('webhooks', 'gone', 7, now()) returning token`;
  const fenced = fenceDatabase(openedDb, 'webhooks', Number(row?.token));
  const order: string[] = [];
  const { promise: mayCommit, resolve: commit } = Promise.withResolvers<void>();
  const writing = fenced.transaction(async (tx) => {
    await saveSetting(tx, 'written', 'under the old token');
    await mayCommit;
    order.push('committed');
  });
  const part = runAsLeader({
    databaseUrl: url,
    name: 'webhooks',
    log,
    lead: async (signal) => {
      order.push('taken over');
      await once(signal, 'abort');
    },
  });
  await Bun.sleep(700);
  commit();
  await writing;
  await waitFor(() => order.length === 2);
  expect(order).toEqual(['committed', 'taken over']);
  await part.stop();
});

test('work that needs the database ends when the lease is lost, and begins again with the next lease', async () => {
  const proxy = await startDatabaseProxy(url);
  const calls: string[] = [];
  const leadership = runAsLeader({
    databaseUrl: proxy.url,
    name: 'poller',
    log,
    lead: async (signal) => {
      calls.push('start');
      await once(signal, 'abort');
      calls.push('stop');
    },
  });
  await leadership.decided;
  expect(leadership.isLeader()).toBe(true);
  proxy.cut();
  await waitFor(() => calls.includes('stop'));
  expect(leadership.isLeader()).toBe(false);
  proxy.restore();
  await waitFor(() => calls.length === 3);
  await leadership.stop();
  await proxy.stop();
  expect(calls).toEqual(['start', 'stop', 'start', 'stop']);
});
