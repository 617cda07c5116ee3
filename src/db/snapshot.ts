import { type Connection, openSession } from './client.ts';
import { createWaitLimit } from './connection/wait-limit.ts';

/** A read-only snapshot of the database on a separate connection. */
type Snapshot<T> = { value: T; connection: Connection; close: () => Promise<void> };

/** Shorter than the time limit of a request, so that an export that nobody receives does not start. */
const beginInTime = createWaitLimit({ limitMs: 3000, maxWaiting: 1000 });
/** The idle timeout ends the snapshot of a process that hangs. */
const BEGIN = `begin isolation level repeatable read read only; set local timezone = 'UTC';
  set local idle_in_transaction_session_timeout = '60s'`;

/**
 * Opens a snapshot for an export, and reads what the export begins with.
 * @throws {Unavailable} when the database takes more than three seconds for it · what `read` throws.
 */
export async function openSnapshot<T>(
  databaseUrl: string,
  read: (connection: Connection) => Promise<T>,
): Promise<Snapshot<T>> {
  // A statement timeout would limit the whole export, since it includes the pauses of a cursor.
  const connection = openSession(databaseUrl, 'export');
  const close = () => connection.end({ timeout: 0 });
  try {
    const value = await beginInTime(async () => {
      await connection.unsafe(BEGIN);
      return read(connection);
    });
    return { value, connection, close };
  } catch (error) {
    await close();
    throw error;
  }
}
