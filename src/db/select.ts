import { fillPlaceholders } from 'drizzle-orm';
import { QueryBuilder } from 'drizzle-orm/pg-core';
import { type Connection, connectionOf, type Db } from './client.ts';

/** Values of one row, in the order they were selected, as the driver reads them. */
export type Values = readonly unknown[];

/** Runs selects that Drizzle builds once for the whole program, and leaves reading the rows to the caller. */
export type Select = (
  name: string,
  build: (builder: QueryBuilder) => { toSQL: () => Statement },
  values: Record<string, unknown>,
) => Promise<readonly Values[]>;

type Statement = { sql: string; params: unknown[] };

const builder = new QueryBuilder();
const statements = new Map<string, Statement>();

/**
 * For queries that are asked often or return many rows. Drizzle's own execution asks the kind of every value of
 * every row, which costs several times what PostgreSQL takes for a page.
 * Statements are prepared; `name` is unique over the program.
 */
export function selectFrom(db: Db): Select {
  return runOn(connectionOf(db));
}

/** Gives selects that all see one snapshot of the database. */
export async function selectFromSnapshot<T>(db: Db, work: (select: Select) => Promise<T>): Promise<T> {
  const { value } = await connectionOf(db).begin(
    'isolation level repeatable read read only',
    // The driver awaits the elements of a list, hence the object.
    async (transaction) => ({ value: await work(runOn(transaction)) }),
  );
  return value;
}

function runOn(connection: Pick<Connection, 'unsafe'>): Select {
  return async (name, build, values) => {
    let statement = statements.get(name);
    if (!statement) {
      statement = build(builder).toSQL();
      statements.set(name, statement);
    }
    const params = fillPlaceholders(statement.params, values) as Parameters<Connection['unsafe']>[1];
    return await connection.unsafe(statement.sql, params, { prepare: true }).values();
  };
}
