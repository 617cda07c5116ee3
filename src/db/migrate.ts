import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { readMigrationFiles } from 'drizzle-orm/migrator';
import { PgDialect } from 'drizzle-orm/pg-core';
import { PostgresJsSession } from 'drizzle-orm/postgres-js';
import type { Logger } from 'pino';
import { hasErrorCode } from '../domain/error-causes.ts';
import { InvalidInput, Unavailable } from '../domain/errors.ts';
import { TimeLimitExceeded, withTimeLimit } from '../runtime/time-limit.ts';
import { type Connection, connect } from './client.ts';
import { LOCKS } from './locks.ts';

export const MIGRATIONS_FOLDER = fileURLToPath(new URL('./migrations', import.meta.url));
const MIGRATIONS = readMigrationFiles({ migrationsFolder: MIGRATIONS_FOLDER });
/** The SHA-256 of each migration, in the order in which they are applied; together they identify the schema. */
export const MIGRATION_HASHES: readonly string[] = MIGRATIONS.map(({ hash }) => hash);

/** A short wait for another process that starts at the same time is not logged. */
const WARN_AFTER_MS = 2000;
/** No migration takes this long; a process that holds the lock longer hangs. */
const WAIT_LIMIT_MS = 10 * 60_000;
const WATCH_EVERY_MS = 2000;
const WATCH_LIMIT_MS = 5000;
/** Several tries, because the pooler may by chance hand out sessions as if they were not shared. */
const POOLER_TRIES = 5;

/** https://www.postgresql.org/docs/current/errcodes-appendix.html */
const UNDEFINED_TABLE = '42P01';
const LOCK_NOT_AVAILABLE = '55P03';

type Options = {
  /** Gets one warning while waiting for another process. */
  log?: Pick<Logger, 'warn'>;
  /** Aborts at once; a running migration is rolled back. */
  signal?: AbortSignal | undefined;
  /** How many migrations to apply, the oldest first; all by default. A database with more is left unchanged. */
  upTo?: number | undefined;
  /** How long to wait for another process, in milliseconds; 10 minutes by default. */
  waitLimitMs?: number;
};

/**
 * Migrates the database to the newest schema; processes that start together wait for one another.
 * @throws {InvalidInput} when the schema does not begin like ours, and for a pooler in transaction mode;
 * {@link Unavailable} when another process has been migrating for too long; the signal's reason; what the driver
 * throws, within 10 seconds after the database stops responding.
 */
export async function migrateDatabase(url: string, options: Options = {}): Promise<void> {
  options.signal?.throwIfAborted();
  // A migration has no time limit: only the second connection can tell a long one from a database that hangs.
  const session = connect(url, {
    max: 1,
    applicationName: 'migrate',
    statementTimeoutMs: 0,
    keepsSession: true,
  });
  const watch = connect(url, { max: 1, applicationName: 'migrate watch' });
  const finished = new AbortController();
  let isMigrated = false;
  const work = async () => {
    await refuseTransactionPooling(session, watch);
    await migrateWhenFree(session, options);
    isMigrated = true;
  };
  try {
    await Promise.race([work(), watchDatabase(watch, finished.signal, options.signal)]);
  } finally {
    finished.abort();
    await Promise.all([session.end({ timeout: isMigrated ? 5 : 0 }), watch.end({ timeout: 0 })]);
  }
}

async function migrateWhenFree(
  session: Connection,
  { log, upTo = MIGRATIONS.length, waitLimitMs = WAIT_LIMIT_MS }: Options,
): Promise<void> {
  if (await isUpToDate(session, upTo)) return;
  if (!(await tryLock(session, Math.min(WARN_AFTER_MS, waitLimitMs)))) {
    const holder = await findHolder(session);
    log?.warn({ holder }, 'waiting for another process that migrates the database');
    if (!(await tryLock(session, waitLimitMs))) {
      const seconds = Math.round(waitLimitMs / 1000);
      throw new Unavailable(
        `Another process (${await findHolder(session)}) has been migrating the database for ${seconds} s: end it, then start this one again`,
      );
    }
  }
  if (await isUpToDate(session, upTo)) return;
  const dialect = new PgDialect();
  await dialect.migrate(
    MIGRATIONS.slice(0, upTo),
    new PostgresJsSession(session, dialect, undefined),
    MIGRATIONS_FOLDER,
  );
}

/**
 * Whether there is nothing to do. False for a read-only database, so that the migration fails on it.
 * @throws {InvalidInput} when its migrations do not begin like ours.
 */
async function isUpToDate(session: Connection, upTo: number): Promise<boolean> {
  const hashes = await loadMigrationHashes(session);
  if (!areOurs(hashes)) {
    throw new InvalidInput(
      'The database has the schema of another program, or of another version before 1.0.0: ' +
        'point DATABASE_URL (or DATA_DIR) at an empty one',
    );
  }
  const [row] = await session`select current_setting('transaction_read_only') = 'off' as "isWritable"`;
  return row?.isWritable === true && hashes.length >= upTo;
}

/**
 * Whether the applied migrations, oldest first, begin like ours. Those of a later version may follow: during an upgrade
 * its schema keeps working for this version.
 */
export function areOurs(hashes: readonly string[]): boolean {
  return hashes.every((hash, index) => hash === (MIGRATION_HASHES[index] ?? hash));
}

/** The hashes of the migrations that were applied to a database, oldest first; empty if there were none. */
export async function loadMigrationHashes(session: Connection): Promise<string[]> {
  try {
    const rows = await session<{ hash: string }[]>`
      select hash from drizzle.__drizzle_migrations order by created_at`;
    return rows.map(({ hash }) => hash);
  } catch (error) {
    if (hasErrorCode(error, [UNDEFINED_TABLE])) return [];
    throw error;
  }
}

/** Waits for the lock, which the session then holds until it ends. */
async function tryLock(session: Connection, limitMs: number): Promise<boolean> {
  try {
    await session`select set_config('lock_timeout', ${String(limitMs)}, false)`;
    await session`select pg_advisory_lock(${LOCKS.migration})`;
    await session`set lock_timeout = 0`;
    return true;
  } catch (error) {
    if (hasErrorCode(error, [LOCK_NOT_AVAILABLE])) return false;
    throw error;
  }
}

/** The application name of the session that holds the lock. */
async function findHolder(session: Connection): Promise<string> {
  const [row] = await session`
    select regexp_replace(application_name, ' [0-9a-f]{8}(\\.[0-9]+)?$', '') as name from pg_locks join pg_stat_activity using (pid)
    where locktype = 'advisory' and granted and objid = ${LOCKS.migration} and objsubid = 1
      and database = (select oid from pg_database where datname = current_database())`;
  return String(row?.name ?? 'gone already');
}

/** Rejects once the database does not respond, or with the signal's reason; resolves when the migration has ended. */
async function watchDatabase(watch: Connection, finished: AbortSignal, signal = finished): Promise<void> {
  const ended = AbortSignal.any([finished, signal]);
  while (!ended.aborted) {
    await sleep(WATCH_EVERY_MS, undefined, { signal: ended }).catch(() => {});
    if (!ended.aborted) await withTimeLimit(watch`select 1`, WATCH_LIMIT_MS).catch(throwOutage);
  }
  if (!finished.aborted) throw signal.reason;
}

function throwOutage(error: unknown): never {
  if (!(error instanceof TimeLimitExceeded)) throw error;
  throw Object.assign(new Error('the database has not responded for too long'), { code: 'ETIMEDOUT' });
}

/**
 * Refuses a pooler in transaction mode, where each transaction may run in another session: LISTEN and session locks do
 * not work there, and a lock that was taken might never be released.
 * @throws {InvalidInput} that says what to set.
 */
async function refuseTransactionPooling(one: Connection, other: Connection): Promise<void> {
  const readPid = async (connection: Pick<Connection, 'unsafe'>) => {
    const [row] = await connection.unsafe('select pg_backend_pid() as pid');
    return Number(row?.pid);
  };
  for (let attempt = 0; attempt < POOLER_TRIES; attempt++) {
    const pid = await readPid(one);
    // Without such a pooler, each client keeps its session.
    const isPooled = await other.begin(async (transaction) => {
      return (await readPid(transaction)) === pid || (await readPid(one)) !== pid;
    });
    if (!isPooled) continue;
    throw new InvalidInput(
      'DATABASE_URL leads to a pooler in transaction mode, which does not work: set pool_mode=session, or connect to PostgreSQL itself',
    );
  }
}
