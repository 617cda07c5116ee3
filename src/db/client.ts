import { drizzle, type PostgresJsDatabase } from 'drizzle-orm/postgres-js';
import postgres from 'postgres';
import { errorCauses, errorCode } from '../error-causes.ts';
import { Unavailable } from '../errors.ts';
import * as schema from './schema.ts';
import { createSocketFactory } from './socket.ts';

/** A Drizzle handle on one server; also what a transaction is. */
export type Db = Pick<
  PostgresJsDatabase<typeof schema>,
  'select' | 'selectDistinct' | 'insert' | 'update' | 'delete' | 'execute' | 'transaction' | 'with' | '$with'
>;

/** The driver's own handle, for what Drizzle has no words for: LISTEN, COPY, advisory locks that outlive a query. */
export type Connection = postgres.Sql;

export type Database = {
  /** Reads and writes. */
  db: Db;
  /** List and lookup queries: a read replica while one answers, else the primary. */
  reader: Db;
  connection: Connection;
  /** The primary's address, for parts that need a connection of their own. */
  url: string;
  /** Waits for running queries, at most `timeoutSeconds` (5 by default). */
  close: (options?: { timeoutSeconds?: number }) => Promise<void>;
};

type ConnectOptions = {
  max?: number;
  applicationName?: string;
  statementTimeoutMs?: number;
  /** The driver replaces its connections every half hour or so, and what a session holds is lost: not these. */
  keepsSession?: boolean;
};

const STATEMENT_TIMEOUT_MS = 15_000;
/** How much later than the statement time limit a silent connection is given up. */
const SILENCE_MARGIN_MS = 2000;

/**
 * Opens the primary and its read replicas. No connection is made before the first query.
 * @param replicaUrls read in turn, one after another.
 */
export function openDatabase(
  url: string,
  { replicaUrls = [], max = 16 }: { replicaUrls?: readonly string[]; max?: number } = {},
): Database {
  const connection = connect(url, { max });
  const db: Db = openDrizzle(connection);
  const replicas = replicaUrls.map((replicaUrl) => openReplica(replicaUrl, max));
  let turn = 0;
  return {
    db,
    get reader() {
      const answering = replicas.filter((replica) => replica.isAnswering());
      turn += 1;
      return answering[turn % Math.max(answering.length, 1)]?.db ?? db;
    },
    connection,
    url,
    close: async ({ timeoutSeconds = 5 } = {}) => {
      await Promise.all([
        connection.end({ timeout: timeoutSeconds }),
        ...replicas.map((replica) => replica.close(timeoutSeconds)),
      ]);
    },
  };
}

const REPLICA_PROBE_MS = 500;
/** A replica further behind than this does not answer for the truth. */
const REPLICA_LAG_SECONDS = 5;

/** A read replica, asked twice a second whether it answers and is not far behind; the primary serves for one that does not. */
function openReplica(url: string, max: number) {
  const connection = connect(url, { max });
  const probe = connect(url, { max: 1, applicationName: 'replica probe', statementTimeoutMs: 1000 });
  let isAnswering = false;
  let isAsking = false;
  const ask = async () => {
    if (isAsking) return;
    isAsking = true;
    try {
      // A replica that has replayed all it received is not behind, however long ago that was.
      const [row] = await probe`
        select not pg_is_in_recovery() or pg_last_wal_receive_lsn() is not distinct from pg_last_wal_replay_lsn()
          or now() - pg_last_xact_replay_timestamp() < make_interval(secs => ${REPLICA_LAG_SECONDS}) as "isFresh"`;
      isAnswering = row?.isFresh === true;
    } catch {
      isAnswering = false;
    } finally {
      isAsking = false;
    }
  };
  void ask();
  const timer = setInterval(ask, REPLICA_PROBE_MS);
  const db: Db = openDrizzle(connection);
  return {
    db,
    isAnswering: () => isAnswering,
    close: async (timeoutSeconds: number) => {
      clearInterval(timer);
      await Promise.all([connection, probe].map((open) => open.end({ timeout: timeoutSeconds })));
    },
  };
}

/** Opens a pool on one server, without Drizzle's parsers: dates come as `Date`, bigints as strings. */
export function connect(
  url: string,
  {
    max = 4,
    applicationName = 'community-api',
    statementTimeoutMs = STATEMENT_TIMEOUT_MS,
    keepsSession = false,
  }: ConnectOptions = {},
): Connection {
  const options = {
    max,
    connect_timeout: 3,
    // A server that came back is found within half a second, however long it was away.
    backoff: () => 0.3,
    onnotice: () => {},
    ...(keepsSession && { max_lifetime: null }),
    connection: {
      application_name: applicationName,
      statement_timeout: statementTimeoutMs,
      // Dates are read from their text, which a database or its user may have set to another notation.
      DateStyle: 'ISO',
    },
    // Without a time limit on statements silence says nothing.
    socket: createSocketFactory(
      statementTimeoutMs === 0 ? undefined : statementTimeoutMs + SILENCE_MARGIN_MS,
    ),
  };
  // A name of its own: the driver's types do not know its `socket` option.
  return postgres(url, options);
}

/** What the driver, the system and PostgreSQL say when it is the database that fails. https://www.postgresql.org/docs/current/errcodes-appendix.html */
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
  '25006', // read_only_sql_transaction: a primary that became a replica; reading goes on
  '28000', // invalid_authorization_specification
  '28P01', // invalid_password: changed while the service runs
  '3D000', // invalid_catalog_name: the database was renamed or dropped
  '40001', // serialization_failure: on a replica, a conflict with what it replays
  '53100', // disk_full: reading goes on
  '53300', // too_many_connections
  '57014', // query_canceled: the time limit on statements
  '57P01', // admin_shutdown
  '57P02', // crash_shutdown
  '57P03', // cannot_connect_now
]);

/** Whether a failed query says that the database cannot serve it now (not that the query is wrong). */
export function isDatabaseOutage(error: unknown): boolean {
  return outageCodeOf(error) !== undefined;
}

/** The code of an outage: the system's, the driver's or SQLSTATE; `WAIT_LIMIT` of a gate; undefined for any other error. */
export function outageCodeOf(error: unknown): string | undefined {
  for (const cause of errorCauses(error)) {
    // Drizzle wraps what a gate throws, too.
    if (cause instanceof Unavailable) return 'WAIT_LIMIT';
    const code = errorCode(cause);
    // Of a socket that is not there; a missing file is another matter.
    if (code === 'ENOENT' && !('syscall' in cause && cause.syscall === 'connect')) continue;
    if (OUTAGE_CODES.has(code) || code.startsWith('08')) return code;
  }
  return undefined;
}

const connections = new WeakMap<object, Connection>();

/**
 * The driver's handle under one of Drizzle's.
 * @throws {Error} for a transaction, or a handle that {@link openDatabase} did not make.
 */
export function connectionOf(db: Db): Connection {
  const connection = connections.get(db);
  if (!connection) throw new Error('not a handle of an opened database');
  return connection;
}

/** Opens a Drizzle handle on a pool of {@link connect}. */
export function openDrizzle(connection: Connection): Db {
  const db = drizzle(connection, { schema });
  connections.set(db, connection);
  return db;
}

/**
 * A statement prepared once for each handle: the server parses it once a connection, Drizzle builds it once
 * (inside a transaction once for each transaction, which is a handle of its own).
 * @returns what gives a handle's own.
 */
export function prepareOnce<T extends object>(build: (db: Db) => T): (db: Db) => T {
  const statements = new WeakMap<Db, T>();
  return (db) => {
    const statement = statements.get(db) ?? build(db);
    statements.set(db, statement);
    return statement;
  };
}
