import { X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { connect, type Socket } from 'node:net';
import type { Connection, ResultSetHeader, RowDataPacket, SslOptions } from 'mysql2/promise';
import { errorCode, InvalidInput, Unavailable } from '../../domain/errors.ts';
import { withTimeLimit } from '../../runtime/time-limit.ts';
import { type MysqlAddress, type MysqlTls, parseMysqlAddress } from './mysql-address.ts';
import type { SourceDatabase, SourceRow } from './tables.ts';

const CONNECT_TIMEOUT_MS = 10_000;
const QUERY_TIMEOUT_MS = 60_000;
const CLOSE_LIMIT_MS = 500;
/** The largest response to a query, which has some thousands of rows: a source that never stops must not fill the memory. */
const MAX_RESPONSE_BYTES = 67_108_864;
const SIZE_CHECK_MS = 20;

/**
 * Settings without which a read would be cut, changed or ended, whatever the host's configuration or `init_connect` set.
 * The time zone stays the server's own, so that a TIMESTAMP comes back as the wall clock that was written.
 */
const SESSION = `set ${[
  // A server with `skip-character-set-client-handshake` ignores the one of the handshake.
  'names utf8mb4',
  // Its modes change quotes, the empty string, padding and subtraction; backslashes escape in parameters.
  "sql_mode = ''",
  // Shared hosts refuse joins that might read many rows, or cut results.
  'sql_big_selects = 1',
  'sql_select_limit = 18446744073709551615',
  // Pages follow keys, which must be compared in full length.
  'max_sort_length = 1024',
  // Snapshots and table locks end with their statement; a commit neither ends the session nor begins a transaction.
  'autocommit = 1',
  "completion_type = 'NO_CHAIN'",
  // A page may be written here before the next one is read.
  'wait_timeout = 28800',
  'net_read_timeout = 60',
  'net_write_timeout = 60',
].join(', ')}
  /*M!100101 , max_statement_time = ${QUERY_TIMEOUT_MS / 1000} */ /*!50708 , max_execution_time = ${QUERY_TIMEOUT_MS} */`;

/**
 * Opens a MySQL or MariaDB database whose session can only read.
 * @param url `mysql://user:password@host:port/database?ssl-mode=…`
 * @throws {InvalidInput} for an address of another form, or an `ssl-ca` that cannot be read.
 * @throws {Unavailable} when the server does not respond, fails TLS verification or refuses the login.
 */
export async function openMysqlSource(url: string): Promise<SourceDatabase> {
  const { connection, socket, address } = await connectMysql(url);
  await select('SET SESSION TRANSACTION READ ONLY');
  return {
    kind: 'mysql',
    address: `${nameHost(address.host)}:${address.port}/${address.database}`,
    select,
    async listColumns(table) {
      // Without aliases, MySQL 8 names the columns of information_schema in capitals.
      const rows = await select(
        `select column_name as name, extra as extra from information_schema.columns
         where table_schema = database() and table_name = ? and find_in_set('select', privileges)`,
        [table],
      );
      return new Map(rows.map(({ name, extra }) => [(name ?? '').toLowerCase(), extra ?? '']));
    },
    close: async () => {
      // end() would wait for a running query.
      if (!socket.destroyed) await withTimeLimit(connection.end(), CLOSE_LIMIT_MS).catch(() => {});
      socket.destroy();
    },
  };

  async function select(
    statement: string,
    parameters: readonly (string | number)[] = [],
  ): Promise<SourceRow[]> {
    try {
      const query = { sql: statement, values: [...parameters], timeout: QUERY_TIMEOUT_MS };
      const [rows] = await limitResponse(socket, () => connection.query<RowDataPacket[]>(query));
      return rows;
    } catch (error) {
      // After any failure but a response of the server, the server may continue to send.
      if (!isResponse(error)) socket.destroy();
      throw outage(address, error);
    }
  }
}

/** Whether the server responded with this error, so that the connection stays usable. */
function isResponse(error: unknown): error is Error {
  return error instanceof Error && 'sqlState' in error && Boolean(error.sqlState);
}

/** The server refused a statement and changed nothing. */
export class StatementRefused extends Error {
  override name = 'StatementRefused';

  /** @param code the server's name of the error, such as `ER_COLUMNACCESS_DENIED_ERROR`. */
  constructor(
    readonly code: string,
    cause: Error,
  ) {
    super(cause.message, { cause });
  }
}

/**
 * Runs one statement.
 * @returns the number of rows in its result or, for a write, that match its condition.
 * @throws {StatementRefused} · {Unavailable} when the connection fails: the server may have run it or not.
 */
export type WriteMysql = (statement: string, parameters?: readonly (string | null)[]) => Promise<number>;

/** Short, because a page waits for the lift, and a game server may wait for its row. */
const WRITE_LIMIT_MS = 4000;
const LOCK_LIMIT_SECONDS = 3;

/**
 * Opens a MySQL or MariaDB database for some statements that write, in a session like that of readers, and always
 * closes it, which rolls back what is not committed in tables with transactions.
 * @throws as {@link openMysqlSource}, and whatever `work` throws.
 */
export async function writeToMysql<T>(url: string, work: (write: WriteMysql) => Promise<T>): Promise<T> {
  const { connection, socket, address } = await connectMysql(url);
  const write: WriteMysql = async (statement, parameters = []) => {
    try {
      const query = { sql: statement, values: [...parameters], timeout: WRITE_LIMIT_MS };
      const [result] = await connection.query<ResultSetHeader | RowDataPacket[]>(query);
      return Array.isArray(result) ? result.length : result.affectedRows;
    } catch (error) {
      throw isResponse(error) ? new StatementRefused(errorCode(error), error) : outage(address, error);
    }
  };
  try {
    // In strict mode, the server refuses a text that is longer than its column instead of cutting it.
    await write(`set sql_mode = 'STRICT_ALL_TABLES', innodb_lock_wait_timeout = ${LOCK_LIMIT_SECONDS}`);
    return await work(write);
  } finally {
    socket.destroy();
  }
}

/** Connects, with a session that {@link SESSION} describes. A connection that fails is destroyed. */
async function connectMysql(
  url: string,
): Promise<{ connection: Connection; socket: Socket; address: Omit<MysqlAddress, 'tls'> }> {
  const { tls, ...address } = parseMysqlAddress(url);
  const ssl = tls && (await toTlsOptions(tls));
  // Load the driver only when needed.
  const { createConnection } = await import('mysql2/promise');
  const socket = connect({ host: address.host, port: address.port, keepAlive: true, noDelay: true });
  try {
    const connection = await limitResponse(socket, () =>
      createConnection({
        ...address,
        stream: () => socket,
        ...(ssl && { ssl }),
        charset: 'utf8mb4',
        connectTimeout: CONNECT_TIMEOUT_MS,
        // Every value as text: dates have no zone, and ids may exceed 2^53. The driver would take binary columns for Latin-1.
        typeCast: (field) => field.string('utf8'),
      }),
    );
    // A connection that breaks between two queries fails the next one; the event itself must not end the process.
    connection.on('error', () => socket.destroy());
    await limitResponse(socket, () => connection.query({ sql: SESSION, timeout: QUERY_TIMEOUT_MS }));
    return { connection, socket, address };
  } catch (error) {
    socket.destroy();
    throw outage(address, error);
  }
}

/** Ends the connection, and thus the work, when it receives too much meanwhile. */
async function limitResponse<T>(socket: Socket, work: () => Promise<T>): Promise<T> {
  const maxRead = socket.bytesRead + MAX_RESPONSE_BYTES;
  const timer = setInterval(() => {
    if (socket.bytesRead > maxRead) socket.destroy(new Error('its response is larger than 64 MB'));
  }, SIZE_CHECK_MS);
  try {
    return await work();
  } finally {
    clearInterval(timer);
  }
}

/** The driver's options for `ssl-mode`. */
async function toTlsOptions({ mode, caPath }: MysqlTls): Promise<SslOptions> {
  return {
    rejectUnauthorized: mode !== 'required',
    verifyIdentity: mode === 'verify-identity',
    ...(caPath !== undefined && { ca: await readAuthorities(caPath) }),
  };
}

async function readAuthorities(path: string): Promise<string> {
  try {
    const pem = await readFile(path, 'utf8');
    // Checks it now: an invalid certificate would only fail during the connection.
    new X509Certificate(pem);
    return pem;
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new InvalidInput(
      `ssl-ca ${JSON.stringify(path)} cannot be read: give a PEM file of certificates (${reason})`,
    );
  }
}

/** The same name for all spellings of the local host. */
function nameHost(host: string): string {
  return /^(localhost|127\.0\.0\.1|::1)$/i.test(host) ? 'localhost' : host.toLowerCase();
}

/** The error for a source that cannot be read; its message never contains the password. */
function outage({ host, port, database }: Omit<MysqlAddress, 'tls'>, cause: unknown): Unavailable {
  return new Unavailable(`Cannot read mysql://${host}:${port}/${database}: ${reasonOf(cause)}`, { cause });
}

function reasonOf(cause: unknown): string {
  const code = errorCode(cause);
  if (code === 'ENOTFOUND') return 'its host name has no address';
  const plugin = /using unknown plugin (\w+)/.exec(cause instanceof Error ? cause.message : '')?.[1];
  if (plugin !== undefined) {
    return `the account uses the plugin ${plugin}, which is not supported: give it mysql_native_password or caching_sha2_password`;
  }
  // An error of several addresses, all refused, has only a code.
  return cause instanceof Error ? cause.message || code || cause.name : String(cause);
}
