import { existsSync, readFileSync } from 'node:fs';
import { sql } from 'drizzle-orm';
import { type Database, openDatabase } from '../../../src/db/database.ts';
import { NotMeasured } from '../bench.ts';

/** A database whose queries take one connection, which is closed at the end of the block that uses it. */
export type OpenDatabase = AsyncDisposable & Pick<Database, 'db' | 'connection'>;
/** The same, and the time that its server process has spent on a core, in milliseconds. */
export type Watched = OpenDatabase & { readCpuMs: () => number };

export function open(url: string): OpenDatabase {
  const { db, connection, close } = openDatabase(url, { max: 1 });
  return { db, connection, [Symbol.asyncDispose]: () => close() };
}

/** @throws {NotMeasured} where there is no /proc. */
export async function watch(url: string): Promise<Watched> {
  const database = open(url);
  const [row] = await database.db.execute(sql`select pg_backend_pid() as pid`);
  const file = `/proc/${row?.pid}/schedstat`;
  if (!existsSync(file)) throw new NotMeasured('database time is read from /proc, which is Linux');
  return { ...database, readCpuMs: () => Number(readFileSync(file, 'utf8').split(' ')[0]) / 1e6 };
}
