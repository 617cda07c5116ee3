import { sql } from 'drizzle-orm';
import type { Logger } from 'pino';
import { errorCauses, errorCode, InvalidInput, Unavailable } from '../domain/errors.ts';
import { parsePostgresAddress } from '../runtime/database-address.ts';
import { requireNoRestore } from '../runtime/folder.ts';
import { BUSY_CODE, CERTIFICATE_CODE, type Db, FULL_CODE, outageCodeOf } from './client.ts';
import { type Database, openDatabase } from './database.ts';
import { startEmbeddedPostgres } from './embedded/cluster.ts';
import { type MigrateOptions, migrateDatabase } from './migrate.ts';

/** The database that an error message names. */
export type DatabaseAddress = { url: string; isEmbedded: boolean };

type Where = {
  /** `DATABASE_URL`; undefined for the embedded server under `dataDir`, which this process then runs. */
  databaseUrl: string | undefined;
  dataDir: string;
};

type Options = {
  log: Logger;
  /** Called for whatever has to be closed, as soon as it is open; to be closed in reverse order. */
  onClose: OnClose;
  /** Aborts at the next step. */
  signal?: AbortSignal | undefined;
  /** As in {@link MigrateOptions}. */
  beforeEmptying?: MigrateOptions['beforeEmptying'];
  /** Options of {@link openDatabase}. */
  pool?: Parameters<typeof openDatabase>[1];
};

type OnClose = (name: string, close: () => Promise<void>, options: { limitMs: number }) => unknown;

/** The embedded server may take as long as it needs: if killed, it has to recover at the next start. */
const UNLIMITED = { limitMs: Number.POSITIVE_INFINITY };
/** A little more than the second that running queries get. */
const POOL_CLOSE = { limitMs: 1200 };

/**
 * Opens the configured database, or the embedded one, at the newest schema.
 * @param where.storageDir `STORAGE_DIR`, where an interrupted restore leaves its mark.
 * @throws {InvalidInput} or {Unavailable} one line for the operator; the signal's reason.
 */
export async function openMigratedDatabase(
  { databaseUrl, dataDir, storageDir }: Where & { storageDir: string },
  { log, onClose, signal, beforeEmptying, pool }: Options,
): Promise<{ database: Database; address: DatabaseAddress }> {
  requireNoRestore(storageDir);
  const address = await openAddress({ databaseUrl, dataDir }, { log, onClose });
  try {
    await migrateDatabase(address.url, { log, signal, beforeEmptying });
  } catch (error) {
    throw toOpenFailure(error, address);
  }
  const database = openDatabase(address.url, pool);
  onClose('database', () => database.close({ timeoutSeconds: 1 }), POOL_CLOSE);
  signal?.throwIfAborted();
  return { database, address };
}

/** The connections that a process needs to run; see docs/scaling.md. */
const NEEDED_CONNECTIONS = 12;

/** Warns when the role, the database or the server allows fewer connections than a process needs: it would never be ready. */
export async function warnOfConnectionLimit(db: Db, log: Logger): Promise<void> {
  const [row] = await db.execute<{ allowed: number }>(sql`
    select least(
      case when rolconnlimit >= 0 and not rolsuper then rolconnlimit end,
      case when datconnlimit >= 0 and not rolsuper then datconnlimit end,
      current_setting('max_connections')::integer - current_setting('superuser_reserved_connections')::integer
    ) as allowed
    from pg_roles, pg_database where rolname = current_user and datname = current_database()`);
  const allowed = row?.allowed ?? NEEDED_CONNECTIONS;
  if (allowed >= NEEDED_CONNECTIONS) return;
  log.warn(
    `PostgreSQL allows ${allowed} connections, and this process needs ${NEEDED_CONNECTIONS}: raise CONNECTION LIMIT or max_connections`,
  );
}

/** The configured database as it is, migrated or not; the embedded one is started. */
export async function openAddress(
  { databaseUrl, dataDir }: Where,
  { log, onClose }: Pick<Options, 'log' | 'onClose'>,
): Promise<DatabaseAddress> {
  if (databaseUrl !== undefined) return { url: databaseUrl, isEmbedded: false };
  const { url, stop } = await startEmbeddedPostgres({ dataDir, log });
  onClose('embedded PostgreSQL', stop, UNLIMITED);
  return { url, isEmbedded: true };
}

/** Errors that the operator has to correct: address, password or rights. https://www.postgresql.org/docs/current/errcodes-appendix.html */
const OPERATORS_CODES = new Set([
  '28000', // invalid_authorization_specification
  '28P01', // invalid_password
  '08P01', // protocol_violation: PgBouncer rejects a setting that is sent when connecting
  '3D000', // invalid_catalog_name: there is no such database
  '42501', // insufficient_privilege: the schema may not be written
  '42P07', // duplicate_table: another program has a table or view of the same name
  '25006', // read_only_sql_transaction: a replica
]);

const DISK_FULL = '53100';

/**
 * Turns the error of a database that could not be opened or migrated, or was lost during the start, into one line;
 * returns other errors unchanged. It names DATABASE_URL, unless the database is the embedded one, and never contains
 * the password of `url`.
 */
export function toOpenFailure(error: unknown, { url, isEmbedded }: DatabaseAddress): unknown {
  const name = isEmbedded ? 'The embedded database' : 'The database of DATABASE_URL';
  const { server } = parsePostgresAddress(url, 'DATABASE_URL');
  for (const cause of errorCauses(error)) {
    if (cause instanceof Unavailable || cause instanceof InvalidInput) return cause;
    const code = errorCode(cause);
    if (code === FULL_CODE)
      return new Unavailable(`${name} accepts no more connections: ${cause.message} (${server})`, {
        cause: error,
      });
    if (OPERATORS_CODES.has(code) || CERTIFICATE_CODE.test(code)) {
      return new InvalidInput(`${name} cannot be used: ${cause.message} (${server})`, { cause: error });
    }
  }
  const code = outageCodeOf(error);
  if (code === undefined) return error;
  const trouble = code === DISK_FULL ? 'cannot be written: its disk is full' : 'is unreachable';
  return new Unavailable(`${name} ${trouble}: ${server}`, { cause: error });
}

/** One line for work that an outage of the database interrupted; undefined for any other error. */
export function describeOutage(error: unknown): string | undefined {
  const code = outageCodeOf(error);
  if (code === DISK_FULL) return "The database's disk is full: make room and try again";
  if (code === FULL_CODE) return 'The database accepts no more connections: try again';
  if (code === BUSY_CODE) return 'The database is busy: try again';
  return code === undefined ? undefined : 'The database became unreachable: try again';
}
