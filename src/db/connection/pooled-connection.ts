import { InvalidInput } from '../../domain/errors.ts';
import type { Connection } from '../client.ts';

/** Several tries, because the pooler may by chance hand out sessions as if they were not shared. */
const TRIES = 5;

/**
 * Refuses a pooler in transaction mode, where each transaction may run in another session: LISTEN and session locks do
 * not work there, and a lock that was taken might never be released.
 * @param one a pool of one connection. @param other another one, to the same address.
 * @throws {InvalidInput} that says what to set.
 */
export async function refuseTransactionPooling(one: Connection, other: Connection): Promise<void> {
  for (let attempt = 0; attempt < TRIES; attempt++) {
    const before = await readPid(one);
    const { isPooled } = await other.begin(async (transaction) => {
      const held = await readPid(transaction);
      // Without such a pooler, each client keeps a session of its own.
      return { isPooled: held === before || (await readPid(one)) !== before };
    });
    if (!isPooled) continue;
    throw new InvalidInput(
      'DATABASE_URL leads to a pooler in transaction mode, which does not work: set pool_mode=session, or connect to PostgreSQL itself',
    );
  }
}

async function readPid(connection: Pick<Connection, 'unsafe'>): Promise<number> {
  const [row] = await connection.unsafe('select pg_backend_pid() as pid');
  return Number(row?.pid);
}
