import { drizzle, type PostgresJsDatabase } from 'drizzle-orm/postgres-js';
import postgres from 'postgres';
import * as schema from './schema.ts';

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
  /** List and lookup queries: a read replica when there are any. */
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

/**
 * Opens the primary and its read replicas. No connection is made before the first query.
 * @param replicaUrls read in turn, one after another.
 */
export function openDatabase(
  url: string,
  { replicaUrls = [], max = 16 }: { replicaUrls?: readonly string[]; max?: number } = {},
): Database {
  const connection = connect(url, { max });
  const replicas = replicaUrls.map((replicaUrl) => connect(replicaUrl, { max }));
  const db: Db = drizzle(connection, { schema });
  const readers: Db[] = replicas.map((replica) => drizzle(replica, { schema }));
  let turn = 0;
  return {
    db,
    get reader() {
      turn = (turn + 1) % Math.max(readers.length, 1);
      return readers[turn] ?? db;
    },
    connection,
    url,
    close: async ({ timeoutSeconds = 5 } = {}) => {
      await Promise.all([connection, ...replicas].map((open) => open.end({ timeout: timeoutSeconds })));
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
  return postgres(url, {
    max,
    connect_timeout: 5,
    // A server that came back is found within half a second, however long it was away.
    backoff: () => 0.3,
    onnotice: () => {},
    ...(keepsSession && { max_lifetime: null }),
    connection: { application_name: applicationName, statement_timeout: statementTimeoutMs },
  });
}

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
  '57P01',
  '57P02',
  '57P03',
  '57014',
  '53300',
]);

/** Whether a failed query says that the database is out of reach, starting, stopping or overloaded (not that the query is wrong). */
export function isDatabaseOutage(error: unknown): boolean {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    const code = 'code' in cause ? String(cause.code) : '';
    if (OUTAGE_CODES.has(code) || code.startsWith('08')) return true;
  }
  return false;
}

const statementsByDb = new WeakMap<object, Map<string, unknown>>();

/**
 * A statement prepared once for each handle: the server parses it once a connection, Drizzle builds it once
 * (inside a transaction once for each transaction, which is a handle of its own).
 * @param name unique over the program.
 */
export function prepared<T>(db: Db, name: string, build: (db: Db) => T): T {
  const statements = statementsByDb.get(db) ?? new Map<string, unknown>();
  statementsByDb.set(db, statements);
  if (!statements.has(name)) statements.set(name, build(db));
  return statements.get(name) as T;
}
