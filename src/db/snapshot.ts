import { asRequest, currentRequest, tryCurrentRequest } from '../runtime/request.ts';
import type { Connection } from './client.ts';
import { createPool } from './connection/pool.ts';

/** A read-only snapshot of the database on a separate connection. */
type Snapshot<T> = { value: T; connection: Connection; close: () => Promise<unknown> };

/** A statement timeout would limit the whole export, since it includes the pauses of a cursor. */
const SESSION = { max: 1, applicationName: 'export', keepsSession: true, statementTimeoutMs: 0 };
/** The idle timeout ends the snapshot of a process that hangs. */
const BEGIN = `begin isolation level repeatable read read only; set local timezone = 'UTC';
  set local idle_in_transaction_session_timeout = '60s'`;

/**
 * Opens a snapshot for an export, and reads what the export begins with.
 * @throws an outage when that takes longer than the request may wait · what `read` throws.
 */
export async function openSnapshot<T>(
  databaseUrl: string,
  read: (connection: Connection) => Promise<T>,
): Promise<Snapshot<T>> {
  const pool = createPool(databaseUrl, SESSION);
  const close = () => pool.close(0);
  const begin = async (connection: Connection) => {
    await connection.unsafe(BEGIN);
    return { value: await read(connection), connection, close };
  };
  const submit = () => pool.submit({ name: 'export', kind: 'other', run: begin }, currentRequest());
  // A person waits at the command line, too.
  const snapshot = tryCurrentRequest() ? submit() : asRequest('operator', submit);
  snapshot.catch(close);
  return snapshot;
}
