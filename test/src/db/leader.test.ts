import { afterEach, expect, test } from 'bun:test';
import { once } from 'node:events';
import pino from 'pino';
import { connect } from '../../../src/db/client.ts';
import { type Leaders, type Leadership, openLeaders, type Part } from '../../../src/db/leader.ts';
import { LOCKS } from '../../../src/db/locks.ts';
import { createTestDatabase } from '../../support/database/database.ts';
import { startDatabaseProxy } from '../../support/database/database-proxy.ts';
import { waitForProcess } from '../../support/wait.ts';

const { url, connection } = await createTestDatabase();
const stops: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const stop of stops.splice(0).reverse()) await stop();
});

/** A process that may lead, with a clock that stands still until a test moves it. */
function aProcess(databaseUrl = url) {
  const lines: string[] = [];
  const log = pino({}, { write: (line: string) => void lines.push(JSON.parse(line).msg) });
  const clock = { ms: 0 };
  const leaders = openLeaders(databaseUrl, { log, clockMs: () => clock.ms, everyMs: 10 });
  return { leaders, lines, clock };
}

/** Work that notes when it begins and ends. */
function aPart(leaders: Leaders, part: Part = 'poller', options: { outlastsDatabase?: boolean } = {}) {
  const calls: string[] = [];
  const lead = async (signal: AbortSignal) => {
    calls.push('start');
    await once(signal, 'abort');
    calls.push('stop');
  };
  const leadership: Leadership = leaders.run(part, lead, options);
  stops.push(leadership.stop);
  return { ...leadership, calls };
}

async function listSessions() {
  return connection`
    select pid, application_name as name from pg_stat_activity
    where datname = current_database() and application_name like 'leader %'`;
}

/** The session that has the lock of a part. */
async function findHolder() {
  const [holder] = await connection`
    select pid, application_name as name from pg_locks join pg_stat_activity using (pid)
    where locktype = 'advisory' and classid = ${LOCKS.leader} and datname = current_database()`;
  return holder;
}

test('a part runs in one process, and the next one begins after its work has ended', async () => {
  const [first, second] = [aProcess(), aProcess()];
  const order: string[] = [];
  const lead = (name: string) => async (signal: AbortSignal) => {
    order.push(`${name} starts`);
    await once(signal, 'abort');
    await Bun.sleep(50);
    order.push(`${name} ends`);
  };
  const leading = first.leaders.run('bot', lead('first'));
  await waitForProcess(leading.isLeader);
  const waiting = second.leaders.run('bot', lead('second'));
  stops.push(waiting.stop);
  await waitForProcess(() => second.lines.length > 0);
  expect(second.lines).toEqual(['waiting: another process runs this part']);
  expect(waiting.isLeader()).toBe(false);
  await leading.stop();
  await waitForProcess(waiting.isLeader);
  expect(order).toEqual(['first starts', 'first ends', 'second starts']);
});

test('the parts of a process share one session, which ends with the last; each lock is released separately', async () => {
  const [first, second] = [aProcess(), aProcess()];
  const parts = (['poller', 'bot', 'mirror_iks'] as const).map((part) => aPart(first.leaders, part));
  await waitForProcess(() => parts.every(({ isLeader }) => isLeader()));
  expect(first.leaders.states()).toEqual([
    { part: 'poller', isLeader: true },
    { part: 'bot', isLeader: true },
    { part: 'mirror_iks', isLeader: true },
  ]);
  expect(await listSessions()).toHaveLength(1);
  const [poller, bot] = [aPart(second.leaders, 'poller'), aPart(second.leaders, 'bot')];
  await parts[0]?.stop();
  await waitForProcess(poller.isLeader);
  expect(bot.isLeader()).toBe(false);
  await Promise.all(parts.map((part) => part.stop()));
  await waitForProcess(async () => (await listSessions()).length === 1);
});

test('a session that the server ended brings its locks back, and the work goes on', async () => {
  const { leaders, lines } = aProcess();
  const part = aPart(leaders);
  await waitForProcess(part.isLeader);
  const before = await findHolder();
  await connection`select pg_terminate_backend(${before?.pid})`;
  await waitForProcess(async () => ![undefined, before?.pid].includes((await findHolder())?.pid));
  expect(part.calls).toEqual(['start']);
  expect(lines.filter((line) => line.startsWith('lost'))).toEqual([]);
});

test('an earlier session of the same process, which the server takes for alive, is ended', async () => {
  const proxy = await startDatabaseProxy(url);
  const { leaders } = aProcess(proxy.url);
  const part = aPart(leaders);
  await waitForProcess(part.isLeader);
  const session = await findHolder();
  proxy.cut();
  await waitForProcess(async () => (await findHolder()) === undefined);
  const orphan = connect(url, { max: 1 });
  const [{ pid } = {}] = await orphan`select pg_backend_pid() as pid,
    set_config('application_name', ${session?.name}, false), pg_advisory_lock(${LOCKS.leader}, hashtext('poller'))`;
  proxy.restore();
  await waitForProcess(async () => ![undefined, pid].includes((await findHolder())?.pid));
  expect(part.calls).toEqual(['start']);
  await orphan.end({ timeout: 0 });
});

test('work ends when another process has its lock', async () => {
  const proxy = await startDatabaseProxy(url);
  const first = aProcess(proxy.url);
  const lost = aPart(first.leaders, 'bot', { outlastsDatabase: true });
  await waitForProcess(lost.isLeader);
  proxy.cut();
  const taken = aPart(aProcess().leaders, 'bot');
  await waitForProcess(taken.isLeader);
  expect(lost.calls).toEqual(['start']);
  proxy.restore();
  await waitForProcess(() => lost.calls.length === 2);
  expect(first.lines.at(-2)).toBe('lost the lock of bot: another process has it');
  await taken.stop();
  await waitForProcess(lost.isLeader);
  expect(lost.calls).toEqual(['start', 'stop', 'start']);
});

test.each(['cut', 'freeze'] as const)(
  'work ends five seconds after the database went (%s) unless it outlasts that, and begins again later',
  async (how) => {
    const proxy = await startDatabaseProxy(url);
    const { leaders, lines, clock } = aProcess(proxy.url);
    const [part, patient] = [aPart(leaders, 'poller'), aPart(leaders, 'bot', { outlastsDatabase: true })];
    await waitForProcess(() => part.isLeader() && patient.isLeader());
    proxy[how]();
    // The next heartbeat: a frozen connection reports nothing.
    clock.ms += 3000;
    await waitForProcess(() => how === 'freeze' || lines.includes('leadership cannot be checked: retrying'));
    await Bun.sleep(50);
    clock.ms += 4999;
    await Bun.sleep(50);
    expect(part.calls).toEqual(['start']);
    clock.ms += 1;
    await waitForProcess(() => part.calls.length === 2);
    expect(lines).toContain('lost the lock of poller: the database does not respond');
    expect(patient.isLeader()).toBe(true);
    clock.ms += 3_600_000;
    await Bun.sleep(50);
    expect(patient.isLeader()).toBe(true);
    proxy.restore();
    await waitForProcess(() => {
      clock.ms += 100;
      return part.isLeader() && patient.isLeader();
    });
    expect([part.calls, patient.calls]).toEqual([['start', 'stop', 'start'], ['start']]);
  },
);
