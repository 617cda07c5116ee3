import { cp, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { drizzle } from 'drizzle-orm/postgres-js';
import { migrate } from 'drizzle-orm/postgres-js/migrator';
import type { Logger } from 'pino';
import { InvalidInput, Unavailable } from '../domain/errors.ts';
import { type Connection, connect, isDatabaseOutage } from './client.ts';
import { refuseTransactionPooling } from './connection/pooled-connection.ts';
import { LOCKS } from './locks.ts';
import journal from './migrations/meta/_journal.json';

export const MIGRATIONS_FOLDER = fileURLToPath(new URL('./migrations', import.meta.url));
/** The `created_at` that Drizzle stores for each migration, in the order it applies them. */
export const MIGRATION_TIMES: readonly number[] = journal.entries
  .map(({ when }) => when)
  .sort((a, b) => a - b);
const RETRY_MS = 200;
/** A short wait for another process that starts at the same time is not logged. */
const WARN_AFTER_MS = 2000;
/** No migration takes this long; a process that holds the lock longer hangs. */
const WAIT_LIMIT_MS = 10 * 60_000;
const WATCH_EVERY_MS = 2000;
const WATCH_LIMIT_MS = 5000;

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
 * @throws {InvalidInput} when the schema belongs to another program or predates the first release, and for a pooler in
 * transaction mode; {@link Unavailable} when another process has been migrating for too long; the signal's reason;
 * what the driver throws, within 10 seconds after the database stops responding.
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
  const watch = connect(url, {
    max: 1,
    applicationName: 'migrate watch',
    statementTimeoutMs: WATCH_LIMIT_MS,
  });
  const finished = new AbortController();
  let isMigrated = false;
  const work = async () => {
    await refuseTransactionPooling(session, watch);
    await migrateWhenFree(session, finished.signal, options);
    isMigrated = true;
  };
  try {
    await Promise.race([
      work(),
      rejectWhenLost(watch, finished.signal),
      rejectWhenAborted(options, finished.signal),
    ]);
  } finally {
    finished.abort();
    await Promise.all([session.end({ timeout: isMigrated ? 5 : 0 }), watch.end({ timeout: 0 })]);
  }
}

async function migrateWhenFree(
  session: Connection,
  finished: AbortSignal,
  { log, upTo = MIGRATION_TIMES.length, waitLimitMs = WAIT_LIMIT_MS }: Options,
): Promise<void> {
  const startedAtMs = performance.now();
  let hasWarned = false;
  while (!(await isUpToDate(session, upTo))) {
    if (await tryLock(session)) {
      await applyMigrations(session, upTo);
      return;
    }
    const waitedMs = performance.now() - startedAtMs;
    if (waitedMs > waitLimitMs) {
      const seconds = Math.round(waitedMs / 1000);
      throw new Unavailable(
        `Another process (${await findHolder(session)}) has been migrating the database for ${seconds} s: end it, then start this one again`,
      );
    }
    if (waitedMs > WARN_AFTER_MS && !hasWarned) {
      hasWarned = true;
      log?.warn(
        { holder: await findHolder(session) },
        'waiting for another process that migrates the database',
      );
    }
    await sleep(RETRY_MS, undefined, { signal: finished });
  }
}

/**
 * Whether there is nothing to do. False for a read-only database, so that the migration fails on it.
 * @throws {InvalidInput} when its migrations are not the first of ours.
 */
async function isUpToDate(session: Connection, upTo: number): Promise<boolean> {
  const { isWritable, times } = await loadApplied(session);
  // Migrations of a later version are allowed: during an upgrade its schema keeps working for this version.
  if (!areOurs(times)) {
    throw new InvalidInput(
      'The database was migrated by another program, or by a version from before the first release: ' +
        'point DATABASE_URL (or DATA_DIR) at an empty one',
    );
  }
  return isWritable && times.length >= upTo;
}

/** Whether the applied migrations, oldest first, begin like ours; those of a later version may follow. */
export function areOurs(times: readonly number[]): boolean {
  return times.every((time, index) => time === (MIGRATION_TIMES[index] ?? time));
}

/** Drizzle always applies all migrations of a folder: for fewer, they are copied into a temporary one. */
async function applyMigrations(session: Connection, upTo: number): Promise<void> {
  if (upTo >= MIGRATION_TIMES.length) {
    await migrate(drizzle(session), { migrationsFolder: MIGRATIONS_FOLDER });
    return;
  }
  const folder = await mkdtemp(join(tmpdir(), 'community-api-migrations-'));
  try {
    await cp(MIGRATIONS_FOLDER, folder, { recursive: true });
    const entries = journal.entries.toSorted((a, b) => a.when - b.when).slice(0, upTo);
    await writeFile(join(folder, 'meta/_journal.json'), JSON.stringify({ ...journal, entries }));
    await migrate(drizzle(session), { migrationsFolder: folder });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/**
 * The creation times of the migrations that were applied to a database, oldest first; empty if there were none.
 */
export async function loadMigrationTimes(session: Connection): Promise<number[]> {
  return (await loadApplied(session)).times;
}

type Applied = { isWritable: boolean; times: number[] };

async function loadApplied(session: Connection): Promise<Applied> {
  try {
    const [row] = await session<Applied[]>`
      select current_setting('transaction_read_only') = 'off' as "isWritable",
        coalesce(json_agg(created_at order by created_at), '[]') as times
      from drizzle.__drizzle_migrations`;
    return row ?? { isWritable: false, times: [] };
  } catch (error) {
    if (isDatabaseOutage(error)) throw error;
    // The table does not exist: nothing was migrated yet.
    return { isWritable: false, times: [] };
  }
}

async function tryLock(session: Connection): Promise<boolean> {
  const [row] = await session`select pg_try_advisory_lock(${LOCKS.migration}) as "isMine"`;
  return row?.isMine === true;
}

/** The application name of the session that holds the lock. */
async function findHolder(session: Connection): Promise<string> {
  const [row] = await session`
    select regexp_replace(application_name, ' [0-9a-f]{8}(\\.[0-9]+)?$', '') as name from pg_locks join pg_stat_activity using (pid)
    where locktype = 'advisory' and granted and objid = ${LOCKS.migration} and objsubid = 1
      and database = (select oid from pg_database where datname = current_database())`;
  return String(row?.name ?? 'gone already');
}

/** Rejects once the database does not respond; never resolves. */
async function rejectWhenLost(watch: Connection, finished: AbortSignal): Promise<never> {
  for (;;) {
    await sleep(WATCH_EVERY_MS, undefined, { signal: finished });
    await watch`select 1`;
  }
}

/** Rejects with the signal's reason; never resolves. */
function rejectWhenAborted({ signal }: Options, finished: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    signal?.addEventListener('abort', () => reject(signal.reason), { once: true, signal: finished });
  });
}
