import { currentRequest } from '../runtime/request.ts';
import { TimeLimitExceeded, withTimeLimit } from '../runtime/time-limit.ts';
import { type Connection, DatabaseBusy, openSession } from './client.ts';

/** A read-only snapshot of the database on a separate connection. */
type Snapshot<T> = { value: T; connection: Connection; close: () => Promise<void> };

/** The idle timeout ends the snapshot of a process that hangs. */
const BEGIN = `begin isolation level repeatable read read only; set local timezone = 'UTC';
  set local idle_in_transaction_session_timeout = '60s'`;

/**
 * Opens a snapshot for an export, and reads what the export begins with.
 * @throws {DatabaseBusy} when that takes longer than the request may wait · what `read` throws.
 */
export async function openSnapshot<T>(
  databaseUrl: string,
  read: (connection: Connection) => Promise<T>,
): Promise<Snapshot<T>> {
  const limitMs = currentRequest().deadlineMs - performance.now();
  // A statement timeout would limit the whole export, since it includes the pauses of a cursor.
  const connection = openSession(databaseUrl, 'export');
  const close = () => connection.end({ timeout: 0 });
  try {
    const begun = connection.unsafe(BEGIN).then(() => read(connection));
    return { value: await withTimeLimit(begun, limitMs), connection, close };
  } catch (error) {
    await close();
    throw error instanceof TimeLimitExceeded ? new DatabaseBusy({ slow: ['export'], waiting: 0 }) : error;
  }
}
