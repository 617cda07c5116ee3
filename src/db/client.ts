import type { PgTransactionConfig } from 'drizzle-orm/pg-core';
import { drizzle, type PostgresJsDatabase } from 'drizzle-orm/postgres-js';
import postgres from 'postgres';
import { errorCauses, errorCode } from '../domain/errors.ts';
import { parsePostgresAddress } from '../runtime/database-address.ts';
import { createSocketFactory, type Traffic } from './connection/socket.ts';

type Statements = Pick<
  PostgresJsDatabase,
  'select' | 'selectDistinct' | '$count' | 'insert' | 'update' | 'delete' | 'execute'
>;

// Brands that exist only for the compiler; not exported, so that no other type can have them.
declare const isTransaction: unique symbol;
declare const isForRequests: unique symbol;

/** A Drizzle handle on one server, outside of any transaction. */
export type Db = Statements & { readonly [isTransaction]?: never };

/** A {@link Db} on the connections of requests, for all statements that a request or interaction waits for. */
export type RequestDb = Db & { readonly [isForRequests]: true };

/** A Drizzle handle on an open transaction, from {@link inTransaction}. It cannot open another one. */
export type Tx = Statements & { readonly [isTransaction]: true };

/** A Drizzle handle for reading only, perhaps on a replica; any {@link Db} or {@link Tx} will do. */
export type Reads = Pick<Statements, 'select' | 'selectDistinct'>;

/** The driver's own handle, for what Drizzle cannot express: LISTEN, COPY, advisory locks that outlive a query. */
export type Connection = postgres.Sql;
/** A {@link Connection} within a transaction. */
export type Transaction = postgres.TransactionSql;
/** A row of a {@link Connection}. */
export type Row = postgres.Row;

/** Suffix of the name of every session of this process, by which other processes identify them. */
export const INSTANCE = crypto.randomUUID().slice(0, 8);
/** PostgreSQL truncates longer names. */
const MAX_NAME_LENGTH = 63;

export type ConnectOptions = {
  max?: number;
  /** The purpose of the sessions; PostgreSQL shows it, followed by `owner`. */
  applicationName?: string;
  /** {@link INSTANCE} by default. */
  owner?: string;
  /** 0: no limit. */
  statementTimeoutMs?: number;
  /** SQL with which each connection begins. */
  settings?: string;
  /** Never replaces a connection. By default the driver does so every half hour or so, and session locks are lost. */
  keepsSession?: boolean;
  /** Called whenever a connection was closed. */
  onClose?: () => void;
  /** Called with the traffic of each socket. */
  onSocket?: (traffic: Traffic) => void;
};

/** For statements in the background. Imports, exports, backups and the like have none. */
const STATEMENT_TIMEOUT_MS = 15_000;

/** Opens a pool on one server, without Drizzle's parsers: dates come as `Date`, bigints as strings. */
export function connect(
  url: string,
  {
    max = 4,
    applicationName = 'community-api',
    owner = INSTANCE,
    statementTimeoutMs = STATEMENT_TIMEOUT_MS,
    settings = '',
    keepsSession = false,
    onClose = () => {},
    onSocket = () => {},
  }: ConnectOptions = {},
): Connection {
  const parameters: Record<string, string> = {
    application_name: `${applicationName.slice(0, MAX_NAME_LENGTH - owner.length - 1)} ${owner}`,
    // Dates are parsed from text; a database or its user may have another DateStyle as default.
    DateStyle: 'ISO',
  };
  // A process that hangs must not block others. A snapshot that is read without a time limit may rest between reads.
  const idleTimeout = statementTimeoutMs === 0 ? '0' : '30s';
  const options = {
    ...parsePostgresAddress(url, 'DATABASE_URL').options,
    max,
    connect_timeout: 3,
    // Otherwise every connection first reads all array types, which takes a quarter of the time to connect. The driver then
    // knows no arrays: parameters are made by `arrayLiteral`, results come as JSON, and Drizzle reads its own columns.
    fetch_types: false,
    // Reconnects within half a second after the server is back, however long the outage was.
    backoff: () => 0.3,
    onnotice: () => {},
    onclose: onClose,
    ...(keepsSession && { max_lifetime: null }),
    connection: parameters,
    // Not as parameters of the connection, which PgBouncer drops. A database or its user may have other defaults. By default, a
    // schema with the user's name comes first; limits are counted after a lock and must see commits made during the wait.
    setup: `set search_path = public; set default_transaction_isolation = 'read committed';
      set statement_timeout = ${statementTimeoutMs}; set idle_in_transaction_session_timeout = '${idleTimeout}'; ${settings}`,
    // Seconds without traffic until the system begins to probe an idle connection, ten times in ten seconds.
    keep_alive: 5,
    socket: createSocketFactory(silenceAfter(statementTimeoutMs), onSocket),
  };
  // By reflection, because the driver's types lack its options `socket` and `setup`, and lists of ports.
  return Reflect.apply(postgres, undefined, [options]);
}

/** How long after the time limit of its statement a response may arrive. */
const RESPONSE_MS = 1500;

/** How long a live connection may be silent. Without a time limit on statements, as long as it likes. */
export function silenceAfter(statementTimeoutMs: number): number | undefined {
  return statementTimeoutMs === 0 ? undefined : statementTimeoutMs + RESPONSE_MS;
}

/** Opens a single session for long work: it is never replaced, and its statements have no time limit. */
export function openSession(
  url: string,
  applicationName: string,
  options: Pick<ConnectOptions, 'statementTimeoutMs' | 'settings'> = {},
): Connection {
  return connect(url, { max: 1, applicationName, keepsSession: true, statementTimeoutMs: 0, ...options });
}

/** query_canceled: the time limit on statements. */
export const BUSY_CODE = '57014';
/** lock_not_available: the time limit on locks. */
export const LOCKED_CODE = '55P03';
/** too_many_connections: those of the server, of the database or of the role. */
export const FULL_CODE = '53300';

/** Codes of the driver, the system and PostgreSQL for an outage. https://www.postgresql.org/docs/current/errcodes-appendix.html */
const OUTAGE_CODES = new Set([
  'CONNECTION_CLOSED',
  'CONNECTION_ENDED',
  'CONNECTION_DESTROYED',
  'CONNECT_TIMEOUT',
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ENOTFOUND',
  'EHOSTUNREACH',
  'ETIMEDOUT',
  'ENOENT',
  'EACCES',
  '25006', // read_only_sql_transaction: a primary that became a replica; reads still work
  '28000', // invalid_authorization_specification
  '28P01', // invalid_password: changed while the service runs
  '3D000', // invalid_catalog_name: the database was renamed or dropped
  '40001', // serialization_failure: on a replica, a conflict with what it replays
  '53100', // disk_full: reads still work
  FULL_CODE,
  BUSY_CODE,
  LOCKED_CODE,
  '55000', // object_not_in_prerequisite_state: the database accepts no connections
  '57P01', // admin_shutdown
  '57P02', // crash_shutdown
  '57P03', // cannot_connect_now
]);

/** Codes of Node for a certificate that was not accepted, such as `ERR_TLS_CERT_ALTNAME_INVALID`. */
export const CERTIFICATE_CODE = /^ERR_TLS_|CERT|^UNABLE_TO_/;

/** A statement took too long, or waited too long for others: the database responds, but is overloaded. */
export class DatabaseBusy extends Error {
  override name = 'DatabaseBusy';
  readonly code = BUSY_CODE;

  /** @param load what runs, the slowest first, and how much waits for it. */
  constructor(readonly load: { slow: readonly string[]; waiting: number }) {
    super('the database is busy');
  }
}

/** Why a correct query failed; undefined for other errors. */
export function databaseTroubleOf(error: unknown): 'busy' | 'unreachable' | undefined {
  const code = outageCodeOf(error);
  if (code === undefined) return undefined;
  return [BUSY_CODE, LOCKED_CODE, FULL_CODE].includes(code) ? 'busy' : 'unreachable';
}

/** Whether a query failed because the database is busy or unreachable, not because the query is wrong. */
export function isDatabaseOutage(error: unknown): boolean {
  return outageCodeOf(error) !== undefined;
}

/** The code of an outage: system, driver or SQLSTATE; undefined for other errors. */
export function outageCodeOf(error: unknown): string | undefined {
  for (const cause of errorCauses(error)) {
    const code = errorCode(cause);
    // For a Unix socket these are outages, for any other file they are not.
    const isOfFile = code === 'ENOENT' || code === 'EACCES';
    if (isOfFile && !('syscall' in cause && cause.syscall === 'connect')) continue;
    if (OUTAGE_CODES.has(code) || code.startsWith('08') || CERTIFICATE_CODE.test(code)) return code;
  }
  return undefined;
}

const connections = new WeakMap<object, Connection>();

/**
 * The driver's handle below a Drizzle handle.
 * @throws {Error} for a transaction, and for a handle that {@link openDrizzle} did not create.
 */
export function connectionOf(db: Reads): Connection {
  const connection = connections.get(db);
  if (!connection) throw new Error('not a handle of an opened database');
  return connection;
}

/** Opens a Drizzle handle on a pool of {@link connect}. */
export function openDrizzle(connection: Connection): Db {
  const db = drizzle(connection);
  connections.set(db, connection);
  return db;
}

/**
 * Runs work in one transaction, which is rolled back when the work throws.
 * @param work uses no handle but its own: waiting for another connection could deadlock.
 */
export function inTransaction<T>(
  db: Db,
  work: (tx: Tx) => Promise<T>,
  options?: PgTransactionConfig,
): Promise<T> {
  return (db as unknown as PostgresJsDatabase).transaction((tx) => work(tx as unknown as Tx), options);
}

/** The driver's handle on an open transaction. */
export function driverOf(tx: Tx): Transaction {
  // By reflection: Drizzle does not publish it.
  return Reflect.get(Reflect.get(tx, 'session'), 'client');
}

/**
 * A statement that is prepared once for each handle: the server parses it once per connection, Drizzle builds it once
 * (and once per transaction, since each transaction is a new handle).
 * @param name unique in the program.
 * @returns a function that returns the statement for a handle.
 */
export function prepareOnce<T extends { getQuery: () => { sql: string } }>(
  name: string,
  build: (db: Reads) => { prepare: (name: string) => T },
): (db: Reads) => T {
  const statements = new WeakMap<Reads, T>();
  return (db) => {
    const prepared = statements.get(db);
    if (prepared) return prepared;
    const statement = build(db).prepare(name);
    nameStatement(statement.getQuery().sql, name);
    statements.set(db, statement);
    return statement;
  };
}

const names = new Map<string, string>();

/** Sets the name of a prepared statement in `/metrics`. */
export function nameStatement(text: string, name: string): void {
  names.set(text, name);
}

/** Names a statement for metrics: a prepared one by its name, any other by verb and table, such as `update users`. */
export function nameOfStatement(text: string): string {
  const name = names.get(text);
  if (name !== undefined) return name;
  const [, verb = 'other'] = /^\s*(select|insert|update|delete|with|truncate|lock|set)\b/i.exec(text) ?? [];
  const [, table] =
    /\b(?:from|into|update|table)\s+(?:only\s+)?"?([a-z_]{1,63})"?(?![a-z_("])/i.exec(text) ?? [];
  return table === undefined ? verb.toLowerCase() : `${verb.toLowerCase()} ${table}`;
}
