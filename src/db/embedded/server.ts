import { statSync } from 'node:fs';
import { chmod, chown, open, readFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import type { Logger } from 'pino';
import { Unavailable } from '../../domain/errors.ts';
import { retryPauseMs } from '../../runtime/retry-pause.ts';
import { type Connection, connect } from '../client.ts';
import { LOCKS } from '../locks.ts';
import { runAs } from './account.ts';
import { type Cluster, withStartLock } from './data-folder.ts';
import { findRunningServer, removeStalePidFile } from './postmaster.ts';

/** A running server that this process uses, and the connection whose shared lock marks it as used. */
export type JoinedServer = {
  connection: Connection;
  /** Of the server process that holds the lock for this connection. */
  sessionPid: number;
  pid: number;
  port: number;
};

const JOIN_LIMIT_MS = 60_000;
const RETRY_PAUSE = { firstMs: 50, maxMs: 1000 };

/** Starts the server unless it runs, and registers this process as one of its users. */
export async function joinServer(
  cluster: Cluster,
  password: string,
  log: Logger,
  port?: number,
): Promise<JoinedServer> {
  const deadlineMs = performance.now() + JOIN_LIMIT_MS;
  for (let attempt = 1; ; attempt++) {
    const running = await withStartLock(cluster, () => ensureRunning(cluster, log, port));
    const connection = connect(serverUrl(running.port, password), {
      max: 1,
      applicationName: 'lease',
      keepsSession: true,
    });
    try {
      const [session] = await connection`
        select pg_backend_pid() as pid from pg_advisory_lock_shared(${LOCKS.embeddedServer})`;
      return { connection, sessionPid: Number(session?.pid), ...running };
    } catch (error) {
      await connection.end({ timeout: 0 });
      if (performance.now() > deadlineMs) {
        throw new Unavailable(`The embedded PostgreSQL does not respond: see ${cluster.logFile}`, {
          cause: error,
        });
      }
      // Its last user stopped it after we found it running: try again.
      await Bun.sleep(retryPauseMs(attempt, RETRY_PAUSE));
    }
  }
}

/**
 * Takes the lock again if the session that held it is gone: a server ends all sessions when one of its processes was
 * killed, and goes on under the same PID.
 * @throws when the server does not respond, or its last other user is stopping it.
 */
export async function keepUsing(server: JoinedServer): Promise<void> {
  const { connection, sessionPid } = server;
  const [session] = await connection`
    select pg_backend_pid() as pid,
      case when pg_backend_pid() = ${sessionPid} then true
        else pg_try_advisory_lock_shared(${LOCKS.embeddedServer}) end as "isHeld"`;
  if (session?.isHeld !== true) throw new Unavailable('the embedded PostgreSQL is being stopped');
  server.sessionPid = Number(session.pid);
}

/** Stops the server, unless another process uses it. */
export async function leaveServer(cluster: Cluster, server: JoinedServer, log: Logger): Promise<void> {
  await withStartLock(cluster, async () => {
    try {
      // The lock is kept until the server ends this session: a process that joins meanwhile waits for it, fails with the
      // server, and starts it again.
      if (await isLastUser(server)) await stopServer(cluster, log);
    } finally {
      await server.connection.end({ timeout: 0 });
    }
  });
}

async function stopServer(cluster: Cluster, log: Logger): Promise<void> {
  const stopped = await runAs(cluster, cluster.pg_ctl, [
    'stop',
    '-D',
    cluster.dir,
    '-m',
    'fast',
    '-w',
    '-t',
    '20',
  ]);
  if (stopped.code !== 0) log.error({ output: stopped.output }, 'the embedded PostgreSQL did not stop');
}

/** Ends the use of the server. @returns whether nobody else uses it; then nobody else can begin to. */
async function isLastUser({ connection }: JoinedServer): Promise<boolean> {
  try {
    await connection`select pg_advisory_unlock_shared(${LOCKS.embeddedServer})`;
    const [row] = await connection`select pg_try_advisory_lock(${LOCKS.embeddedServer}) as "isLast"`;
    return row?.isLast === true;
  } catch {
    // The server is gone already.
    return false;
  }
}

async function ensureRunning(
  cluster: Cluster,
  log: Logger,
  wantedPort?: number,
): Promise<{ pid: number; port: number }> {
  const running = await findRunningServer(cluster.dir);
  if (running) return running;
  await removeStalePidFile(cluster.dir);
  const port = wantedPort ?? (await findFreePort());
  const settings = [
    ...cluster.settings,
    `port=${port}`,
    'listen_addresses=127.0.0.1',
    'unix_socket_directories=',
  ];
  await (await open(cluster.logFile, 'a')).close();
  if (cluster.account) await chown(cluster.logFile, cluster.account.uid, cluster.account.gid);
  await chmod(cluster.logFile, 0o600);
  const { size: logBytesBefore } = statSync(cluster.logFile);
  const options = settings.map((setting) => `-c ${setting}`).join(' ');
  const started = await runAs(cluster, cluster.pg_ctl, [
    'start',
    '-w',
    '-t',
    '60',
    '-s',
    '-D',
    cluster.dir,
    '-l',
    cluster.logFile,
    '-o',
    options,
  ]);
  const now = started.code === 0 ? await findRunningServer(cluster.dir) : undefined;
  if (!now) {
    // The end of what this start logged; a missing program logs nothing and reports to pg_ctl's output.
    const logged = (await readFile(cluster.logFile)).subarray(logBytesBefore).toString();
    const lines = (logged.trim() || started.output.trim()).split('\n').slice(-3);
    throw new Unavailable(`The embedded PostgreSQL does not start: ${lines.join(' | ')}`);
  }
  log.debug(now, 'embedded PostgreSQL is running');
  return now;
}

/** The address on loopback, with the password. */
export function serverUrl(port: number, password: string): string {
  return `postgres://postgres:${password}@127.0.0.1:${port}/postgres`;
}

function findFreePort(): Promise<number> {
  return new Promise((settle, reject) => {
    const probe = createServer();
    probe.once('error', reject);
    probe.listen(0, '127.0.0.1', () => {
      const address = probe.address();
      probe.close(() => settle(typeof address === 'object' && address ? address.port : 0));
    });
  });
}
