import { existsSync, readFileSync } from 'node:fs';
import { sql } from 'drizzle-orm';
import type { Db } from '../../../src/db/client.ts';
import type { Database } from '../../../src/db/database.ts';
import { NotMeasured } from '../bench.ts';

/** A database over one connection, and the time its server process has spent on a core, in milliseconds. */
export type Watched = { db: Db; readCpuMs: () => number };

export async function watch({ db }: Pick<Database, 'db'>): Promise<Watched> {
  const [row] = await db.execute(sql`select pg_backend_pid() as pid`);
  const file = `/proc/${row?.pid}/schedstat`;
  if (!existsSync(file)) throw new NotMeasured('database time is read from /proc, which is Linux');
  return { db, readCpuMs: () => Number(readFileSync(file, 'utf8').split(' ')[0]) / 1e6 };
}
