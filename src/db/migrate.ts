import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { readMigrationFiles } from 'drizzle-orm/migrator';
import { PgDialect } from 'drizzle-orm/pg-core';
import { PostgresJsSession } from 'drizzle-orm/postgres-js';
import type { Logger } from 'pino';
import { hasErrorCode, InvalidInput } from '../domain/errors.ts';
import { type Connection, connect, LOCKED_CODE, openSession } from './client.ts';
import { LOCKS } from './locks.ts';
import journal from './migrations/meta/_journal.json';

const MIGRATIONS_FOLDER = fileURLToPath(new URL('./migrations', import.meta.url));
const MIGRATIONS = readMigrationFiles({ migrationsFolder: MIGRATIONS_FOLDER });
/** The SHA-256 of each migration, in the order in which they are applied; together they identify the schema. */
export const MIGRATION_HASHES: readonly string[] = MIGRATIONS.map(({ hash }) => hash);

/** The number of migrations that 1.0.0 has. */
export const RELEASED_MIGRATIONS = 6;

/**
 * The tables of the schema after that many migrations, all by default. Tables that an operator added are not
 * included.
 */
export function listTables(migrations = MIGRATIONS.length): Set<string> {
  const tables = new Set<string>();
  const statements = MIGRATIONS.slice(0, migrations).flatMap(({ sql }) => sql.join('\n'));
  for (const [, verb, name = ''] of statements.join('\n').matchAll(/^(CREATE|DROP) TABLE "(\w+)"/gm))
    if (verb === 'CREATE') tables.add(name);
    else tables.delete(name);
  return tables;
}

/** Several tries, because the pooler may by chance hand out sessions as if they were not shared. */
const POOLER_TRIES = 5;
/** https://www.postgresql.org/docs/current/errcodes-appendix.html */
const UNDEFINED_TABLE = '42P01';
const LOCKED_CODES = new Set([
  LOCKED_CODE, // by the `lock_timeout` of the first migration after 1.0.0
  '40P01', // deadlock_detected
]);
/** Between two attempts, other processes can use the tables. */
const RETRY_PAUSE_MS = { least: 1000, most: 3000 };
const WAIT_LOG_MS = 60_000;

export type MigrateOptions = {
  /** Gets a warning while waiting for another process, and what was migrated. */
  log?: Pick<Logger, 'info' | 'warn'>;
  /** Aborts at once; a running migration is rolled back. */
  signal?: AbortSignal | undefined;
  /** How many migrations to apply, the oldest first; all by default. A database with more is left unchanged. */
  upTo?: number | undefined;
  /** Called before a database that an unreleased version migrated is emptied; without it, such a database is refused. */
  beforeEmptying?: ((session: Connection) => Promise<void>) | undefined;
};

/**
 * Migrates the database to the newest schema. Processes that start together wait for one another, and for sessions that keep
 * the tables busy; those never fail because of the migration.
 * @throws {InvalidInput} when the schema does not begin like ours, and for a pooler in transaction mode; the signal's
 * reason; what the driver throws.
 */
export async function migrateDatabase(
  url: string,
  { log, signal, upTo = MIGRATIONS.length, beforeEmptying }: MigrateOptions = {},
): Promise<void> {
  signal?.throwIfAborted();
  const session = openSession(url, 'migrate');
  const other = connect(url, { max: 1, applicationName: 'migrate' });
  const abort = () => void Promise.all([session, other].map((each) => each.end({ timeout: 0 })));
  signal?.addEventListener('abort', abort);
  try {
    await refuseTransactionPooling(session, other);
    if (beforeEmptying && isUnreleased(await loadMigrationHashes(other))) {
      await beforeEmptying(session);
      await session.unsafe('drop schema public, drizzle cascade; create schema public').simple();
    }
    if (await isUpToDate(other, upTo)) return;
    await takeLock(session, log);
    if (await isUpToDate(other, upTo)) return;
    const { length } = await loadMigrationHashes(other);
    const dialect = new PgDialect();
    const migrate = () =>
      dialect.migrate(
        MIGRATIONS.slice(0, upTo),
        new PostgresJsSession(session, dialect, undefined),
        MIGRATIONS_FOLDER,
      );
    await untilUnlocked(migrate, { other, log, signal });
    log?.info({ from: nameOf(length), to: nameOf(upTo) }, 'database migrated');
  } catch (error) {
    signal?.throwIfAborted();
    throw error;
  } finally {
    signal?.removeEventListener('abort', abort);
    await Promise.all([session.end({ timeout: 5 }), other.end({ timeout: 0 })]);
  }
}

/**
 * Repeats a migration, which PostgreSQL has rolled back, for as long as other sessions hold locks that it needs.
 * @param other a session that can find those sessions.
 */
async function untilUnlocked(
  migrate: () => Promise<void>,
  { other, log, signal }: Pick<MigrateOptions, 'signal'> & { other: Connection; log: MigrateOptions['log'] },
): Promise<void> {
  for (let nextLineMs = 0; ; ) {
    try {
      return await migrate();
    } catch (error) {
      if (!hasErrorCode(error, LOCKED_CODES)) throw error;
    }
    if (performance.now() >= nextLineMs) {
      nextLineMs = performance.now() + WAIT_LOG_MS;
      log?.warn(await findOldestTransaction(other), 'waiting for another session to migrate the database');
    }
    const { least, most } = RETRY_PAUSE_MS;
    await pause(least + Math.random() * (most - least), undefined, { signal });
  }
}

/** The session whose transaction has held locks in this database for longest; undefined if there is none any more. */
async function findOldestTransaction(session: Connection): Promise<object> {
  const [row] = await session`
    select pid, backend_type as type, application_name as application, usename as "user", client_addr as address, xact_start as since, state
    from pg_stat_activity
    where datname = current_database() and xact_start is not null and pid <> pg_backend_pid()
      and pid in (select pid from pg_locks where locktype in ('relation', 'advisory') and granted)
    order by xact_start limit 1`;
  return { session: row };
}

/** The name of the newest migration of a database that has `count` of them. */
function nameOf(count: number): string {
  return journal.entries[count - 1]?.tag ?? 'an empty database';
}

/**
 * Whether there is nothing to do. False for a read-only database, so that the migration fails on it.
 * @throws {InvalidInput} when its migrations do not begin like ours, or it cannot store every name.
 */
async function isUpToDate(session: Connection, upTo: number): Promise<boolean> {
  // In this order: another process may finish its migration in between.
  const isUsed = await hasTables(session);
  const hashes = await loadMigrationHashes(session);
  if (isUnreleased(hashes)) {
    throw new InvalidInput(
      'The database was migrated by an unreleased version of this program: restore a backup that 1.0.0 or this version made, ' +
        'or point DATABASE_URL (or DATA_DIR) at an empty one',
    );
  }
  if (!areOurs(hashes) || (isUsed && hashes.length === 0)) {
    throw new InvalidInput(
      'The database has the schema of another program, or of another version before 1.0.0: ' +
        'point DATABASE_URL (or DATA_DIR) at an empty one',
    );
  }
  const [row] = await session`
    select current_setting('transaction_read_only') = 'off' as "isWritable", current_setting('server_encoding') as encoding`;
  if (row?.encoding !== 'UTF8') {
    throw new InvalidInput(
      `The database has the encoding ${row?.encoding}: create one with UTF8 (createdb --encoding UTF8 --template template0)`,
    );
  }
  return row?.isWritable === true && hashes.length >= upTo;
}

/** Whether there are tables in the schema `public` besides those of extensions. */
async function hasTables(session: Connection): Promise<boolean> {
  const tables = await session`
    select from pg_class where relkind in ('r', 'p', 'f')
      and relnamespace = (select oid from pg_namespace where nspname = 'public')
      and not exists (select from pg_depend where classid = 'pg_class'::regclass and objid = pg_class.oid and deptype = 'e')
    limit 1`;
  return tables.length > 0;
}

/**
 * Whether the applied migrations, oldest first, begin like ours. Those of a later version may follow: during an upgrade
 * its schema keeps working for this version.
 */
export function areOurs(hashes: readonly string[]): boolean {
  return hashes.every((hash, index) => hash === (MIGRATION_HASHES[index] ?? hash));
}

/** Whether an unreleased version has migrated the database further than 1.0.0, by migrations that are not ours. */
function isUnreleased(hashes: readonly string[]): boolean {
  const isOf1_0_0 = MIGRATION_HASHES.slice(0, RELEASED_MIGRATIONS).every(
    (hash, index) => hash === hashes[index],
  );
  return isOf1_0_0 && !areOurs(hashes);
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

/** The session holds the lock until it ends. */
async function takeLock(session: Connection, log: MigrateOptions['log']): Promise<void> {
  const [row] = await session`select pg_try_advisory_lock(${LOCKS.migration}) as "isHeld"`;
  if (row?.isHeld === true) return;
  log?.warn('waiting for another process that migrates the database');
  await session`select pg_advisory_lock(${LOCKS.migration})`;
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
