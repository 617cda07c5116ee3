import { afterAll, afterEach, beforeAll, describe, expect, test } from 'bun:test';
import { existsSync } from 'node:fs';
import { chmod, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import pino from 'pino';
import { connect } from '../../../../src/db/client.ts';
import {
  type EmbeddedPostgres,
  joinServer,
  leaveServer,
  serverUrl,
  startEmbeddedPostgres,
} from '../../../../src/db/embedded/cluster.ts';
import { describeCluster, openCluster } from '../../../../src/db/embedded/data-folder.ts';
import { LOCKS } from '../../../../src/db/locks.ts';
import { TimeLimitExceeded, withTimeLimit } from '../../../../src/runtime/time-limit.ts';
import { createTestFolder, startProgram } from '../../../support/service/program.ts';
import { waitForProcess } from '../../../support/wait.ts';

const log = pino({ level: 'silent' });
const dataDir = createTestFolder();
const started: EmbeddedPostgres[] = [];

async function stopAll(): Promise<void> {
  for (const embedded of started.splice(0)) await embedded.stop();
}

afterAll(stopAll);

async function start(): Promise<EmbeddedPostgres> {
  const embedded = await startEmbeddedPostgres({ dataDir, log });
  started.push(embedded);
  return embedded;
}

async function postmasterPid(): Promise<number> {
  const file = await readFile(join(dataDir, 'postgres', 'postmaster.pid'), 'utf8').catch(() => '');
  return Number(file.split('\n')[0] ?? 0);
}

async function canAsk(url: string): Promise<boolean> {
  const connection = connect(url, { max: 1 });
  try {
    await connection`select 1`;
    return true;
  } catch {
    return false;
  } finally {
    await connection.end({ timeout: 0 });
  }
}

test('two users share one server, and the last to leave stops it', async () => {
  const [first, second] = [await start(), await start()];
  expect(second.url).toBe(first.url);
  await first.stop();
  expect(await canAsk(second.url)).toBe(true);
  await second.stop();
  expect(await canAsk(second.url)).toBe(false);
  expect(await postmasterPid()).toBe(0);
  started.length = 0;
});

test('errors in its log quote no values of rows, which would stay there when a person is erased', async () => {
  const { url } = await start();
  const connection = connect(url, { max: 1 });
  await connection`create table accounts (discord_id bigint unique)`;
  const link = () => connection`insert into accounts values (${'80351110224678912'})`;
  await link();
  await expect(link()).rejects.toThrow('duplicate key');
  await connection.end({ timeout: 1 });
  const logged = await readFile(join(dataDir, 'postgres.log'), 'utf8');
  expect(logged).toContain('duplicate key');
  expect(logged).not.toContain('80351110224678912');
});

test('a server that is killed is started again where it was, with what it held', async () => {
  const { url } = await start();
  const connection = connect(url, { max: 1 });
  await connection`create table kept (what text)`;
  await connection`insert into kept values ('this')`;
  const pid = await postmasterPid();
  process.kill(pid, 'SIGKILL');
  await waitForProcess(async () => ![0, pid].includes(await postmasterPid()) && (await canAsk(url)), {
    everyMs: 100,
  });
  expect([...(await connection`select what from kept`)]).toEqual([{ what: 'this' }]);
  await connection.end({ timeout: 1 });
});

test('a server that ended all sessions, since one of its processes was killed, stays in use', async () => {
  await stopAll();
  const { url } = await start();
  const pid = await postmasterPid();
  /** The process of the server that holds our lock; undefined for none. */
  const lockHolder = async (): Promise<number | undefined> => {
    const connection = connect(url, { max: 1 });
    try {
      const [lock] = await connection`
        select pid from pg_locks where locktype = 'advisory' and objid = ${LOCKS.embeddedServer}`;
      return lock?.pid;
    } catch {
      return undefined;
    } finally {
      await connection.end({ timeout: 0 });
    }
  };
  const first = await lockHolder();
  process.kill(Number(first), 'SIGKILL');
  await waitForProcess(async () => ![undefined, first].includes(await lockHolder()));
  // As a command of the operator does.
  const command = await startEmbeddedPostgres({ dataDir, log });
  await command.stop();
  expect(await canAsk(url)).toBe(true);
  expect(await postmasterPid()).toBe(pid);
});

test('a user that leaves while the server is started again leaves nothing running', async () => {
  await stopAll();
  const { url } = await start();
  const pid = await postmasterPid();
  process.kill(pid, 'SIGKILL');
  await waitForProcess(async () => ![0, pid].includes(await postmasterPid()), { everyMs: 1 });
  await stopAll();
  expect(await canAsk(url)).toBe(false);
  expect(await postmasterPid()).toBe(0);
});

/** The process of the server that writes its last checkpoint; the server stops no sooner than it has. */
async function checkpointerPid(postmaster: number): Promise<number> {
  for (const entry of await readdir('/proc')) {
    const read = (file: string) => readFile(join('/proc', entry, file), 'utf8').catch(() => '');
    if (!(await read('cmdline')).startsWith('postgres: checkpointer')) continue;
    if ((await read('status')).includes(`\nPPid:\t${postmaster}\n`)) return Number(entry);
  }
  throw new Error(`server ${postmaster} has no checkpointer`);
}

test.skipIf(process.platform !== 'linux')(
  'a start waits for a server that is still stopping, since its last user was killed meanwhile',
  async () => {
    await stopAll();
    const { url } = await start();
    const pid = await postmasterPid();
    const checkpointer = await checkpointerPid(pid);
    process.kill(checkpointer, 'SIGSTOP');
    // A fast shutdown, as pg_ctl asks for it.
    process.kill(pid, 'SIGINT');
    await waitForProcess(async () => !(await canAsk(url)));
    const starting = start();
    await expect(withTimeLimit(starting, 1000)).rejects.toThrow(TimeLimitExceeded);
    process.kill(checkpointer, 'SIGCONT');
    expect(await canAsk((await starting).url)).toBe(true);
    expect(await postmasterPid()).not.toBe(pid);
  },
);

describe('what a killed process left behind does not stop the next start', () => {
  /** A new folder: the first start creates the cluster, the second finds it stopped. */
  beforeAll(async () => {
    await stopAll();
    await start();
    await stopAll();
  });
  afterEach(stopAll);

  test.skipIf(process.platform !== 'linux').each([
    ['an empty postmaster.pid', ''],
    ['a postmaster.pid with our number', `${process.pid}\n`],
    ['a postmaster.pid without sense', 'no number\n'],
  ])('%s', async (_, content) => {
    await writeFile(join(dataDir, 'postgres', 'postmaster.pid'), content);
    const { url } = await withTimeLimit(start(), 15_000);
    expect(await canAsk(url)).toBe(true);
  });
});

test.skipIf(process.platform === 'win32')(
  'a process that found the server running may not use it once its last user is stopping it',
  async () => {
    const folder = createTestFolder();
    // PostgreSQL's account writes here too.
    await chmod(folder, 0o777);
    const cluster = await describeCluster(folder, []);
    const password = await openCluster(cluster, log);
    const server = await joinServer(cluster, password, log);
    const joining = connect(serverUrl(server.port, password), { max: 1 });
    await joining`select 1`;

    const [asked, allowed] = [join(folder, 'asked'), join(folder, 'allowed')];
    const pg_ctl = join(folder, 'slow_pg_ctl');
    await writeFile(
      pg_ctl,
      `#!/bin/sh\n: > ${asked}\nwhile [ ! -e ${allowed} ]; do sleep 0.01; done\nexec ${cluster.pg_ctl} "$@"\n`,
      { mode: 0o755 },
    );
    const leaving = leaveServer({ ...cluster, pg_ctl }, server, log);
    await waitForProcess(() => existsSync(asked));
    const joined = joining`select pg_advisory_lock_shared(${LOCKS.embeddedServer})`.then(
      () => 'joined',
      () => 'refused',
    );
    await writeFile(allowed, '');
    await leaving;
    expect(await joined).toBe('refused');
    await joining.end({ timeout: 0 });
  },
);

test.skipIf(process.platform !== 'linux')(
  'a first start that was killed is repeated at once, although its initdb still runs',
  async () => {
    const folder = createTestFolder();
    await chmod(folder, 0o755);
    /** A command that writes creates the database first. */
    const addServer = () =>
      startProgram('src/cli.ts', { DATA_DIR: folder, STORAGE_DIR: join(folder, 'storage') }, [
        ...['servers', 'add', '--name', 'One', '--address', '127.0.0.1:27015'],
      ]);
    const hasVersion = async () => {
      const files = await readdir(folder, { recursive: true }).catch(() => []);
      return files.some((file) => file.endsWith('/PG_VERSION'));
    };

    const killed = addServer();
    const [orphan = 0] = await waitForProcess(async () => {
      const running = await listInitdb(folder);
      return running.length > 0 && (await hasVersion()) && running;
    });
    killed.kill('SIGKILL');
    await killed.exited;
    process.kill(-orphan, 'SIGSTOP');
    const repeated = addServer();
    await waitForProcess(async () => (await listInitdb(folder)).some((pid) => pid !== orphan));
    await waitForProcess(hasVersion);
    process.kill(-orphan, 'SIGCONT');
    const code = await repeated.exited;
    expect([code, repeated.stderr()]).toEqual([0, `Creating a new database in ${folder}\n`]);
    // Nothing is left of the first attempt.
    await waitForProcess(async () => (await listInitdb(folder)).length === 0);
    const files = ['postgres', 'postgres.lock', 'postgres.log', 'postgres.password'];
    expect((await readdir(folder)).sort()).toEqual(files);
  },
);

/** The processes of initdb that make a database in the folder; each leads a process group. */
async function listInitdb(folder: string): Promise<number[]> {
  const running: number[] = [];
  for (const entry of await readdir('/proc')) {
    const command = await readFile(`/proc/${entry}/cmdline`, 'utf8').catch(() => '');
    const [program = '', ...args] = command.split('\0');
    if (program.endsWith('/initdb') && args.some((arg) => arg.includes(folder))) running.push(Number(entry));
  }
  return running;
}
