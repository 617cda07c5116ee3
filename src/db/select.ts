import { fillPlaceholders, type SQL, sql } from 'drizzle-orm';
import { PgDialect } from 'drizzle-orm/pg-core';
import { type Connection, connectionOf, type Db } from './client.ts';

/** Values of one row, in the order they were selected, as the driver reads them. */
export type Values = readonly unknown[];

/** What placeholders stand for, by their names; sent as text. */
export type Given = Record<string, string | number | undefined>;

/** Runs selects that are put together once for the whole program, and leaves reading the rows to the caller. */
export type Select = (name: string, build: () => SQL, given: Given) => Promise<readonly Values[]>;

type Statement = { sql: string; params: unknown[] };

const dialect = new PgDialect();
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

/**
 * A value given at each call, which the planner does not see. As long as it sees values and hopes for a cheaper plan,
 * PostgreSQL plans each call anew, and that takes longer than reading a page; unseen, one plan is made and kept.
 */
export function unseen(name: string, type: 'smallint' | 'integer' | 'bigint' | 'timestamptz'): SQL {
  return sql`(select ${sql.placeholder(name)}::${sql.raw(type)})`;
}

function runOn(connection: Pick<Connection, 'unsafe'>): Select {
  return async (name, build, given) => {
    let statement = statements.get(name);
    if (!statement) {
      statement = dialect.sqlToQuery(build());
      statements.set(name, statement);
    }
    const params = fillPlaceholders(statement.params, given).map(String);
    return await connection.unsafe(statement.sql, params, { prepare: true }).values();
  };
}
