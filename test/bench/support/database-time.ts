import { existsSync, readFileSync } from 'node:fs';
import { sql } from 'drizzle-orm';
import { type Connection, openDrizzle } from '../../../src/db/client.ts';
import { instrument } from '../../../src/db/connection/instrument.ts';
import { createPool } from '../../../src/db/connection/pool.ts';
import type { Database } from '../../../src/db/database.ts';
import { BACKGROUND } from '../../../src/runtime/request.ts';
import { NotMeasured } from '../bench.ts';

/** A database whose queries take one connection, which is closed at the end of the block that uses it. */
export type OpenDatabase = AsyncDisposable & Pick<Database, 'db' | 'connection'>;

/** The time that the server process of a database spends on a core for some work, in milliseconds. */
type MeasureDatabaseMs = (work: () => PromiseLike<unknown>) => Promise<number>;
export type Watched = OpenDatabase & { measureMs: MeasureDatabaseMs };

export async function open(url: string): Promise<OpenDatabase> {
  const pool = createPool(url, { max: 1, sentAhead: 4 });
  const getConnection = { name: 'open', kind: 'other', run: async (sql: Connection) => sql } as const;
  // Statements by hand take the connection of the pool: a session that does nothing else needs a third of the time for them.
  const connection = await pool.submit(getConnection, BACKGROUND);
  const db = openDrizzle(
    instrument(connection, { run: (work) => pool.submit(work, BACKGROUND), onQuery: () => {} }),
  );
  return { db, connection, [Symbol.asyncDispose]: async () => void (await pool.close(5)) };
}

/** @throws {NotMeasured} where there is no /proc. */
export async function watch(url: string): Promise<Watched> {
  const database = await open(url);
  const [row] = await database.db.execute(sql`select pg_backend_pid() as pid`);
  const file = `/proc/${row?.pid}/schedstat`;
  if (!existsSync(file)) throw new NotMeasured('database time is read from /proc, which is Linux');
  const readMs = () => Number(readFileSync(file, 'utf8').split(' ')[0]) / 1e6;
  const measureMs: MeasureDatabaseMs = async (work) => {
    const before = readMs();
    await work();
    return readMs() - before;
  };
  return { ...database, measureMs };
}
