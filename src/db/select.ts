import { fillPlaceholders, type SQL, type SQLWrapper, sql } from 'drizzle-orm';
import { PgDialect } from 'drizzle-orm/pg-core';
import { runAs, tryCurrentRequest } from '../runtime/request.ts';
import { connectionOf, nameStatement, type Reads } from './client.ts';

/** The values of one row in the order of selection, as the driver returns them. */
export type Values = readonly unknown[];

/** The columns of a select, and the position of each in the {@link Values} of a row. */
type Selection<Name extends string> = {
  /** `… as "name", …` */
  columns: SQL;
  at: Readonly<Record<Name, number>>;
};

/** The values of placeholders by name; sent as text. */
export type PlaceholderValues = Record<string, string | number | undefined>;

/** Runs a select that is built once per process; the caller reads the rows. */
type Select = (name: string, build: () => SQL, values: PlaceholderValues) => Promise<readonly Values[]>;

type Statement = { sql: string; params: unknown[] };

const dialect = new PgDialect();
const statements = new Map<string, Statement>();

/**
 * Runs selects that are frequent or return many rows. Drizzle's own execution maps every value of every row, which
 * takes several times as long as PostgreSQL takes for a page; rows as objects cost the driver a third more. Statements
 * are prepared; `name` is unique in the program.
 */
export function selectFrom(db: Reads): Select {
  const connection = connectionOf(db);
  return async (name, build, values) => {
    let statement = statements.get(name);
    if (!statement) {
      statement = dialect.sqlToQuery(build());
      statements.set(name, statement);
      // The part after a colon distinguishes statements of one kind, and is left out of the metrics.
      nameStatement(statement.sql, name.split(':', 1)[0] ?? name);
    }
    const params = fillPlaceholders(statement.params, values).map(String);
    return await connection.unsafe(statement.sql, params, { prepare: true }).values();
  };
}

/** Runs a select that is rare or has many forms, whose rows are read as by {@link selectFrom}: nothing of it is kept. */
export async function selectOnce(
  db: Reads,
  query: SQL,
  values: PlaceholderValues,
): Promise<readonly Values[]> {
  const { text, parameters } = buildStatement(query, values);
  return await connectionOf(db).unsafe(text, parameters).values();
}

/** Runs selects that may read many rows: requests have separate connections for them. */
export function asExpensive<T>(work: () => Promise<T>): Promise<T> {
  const request = tryCurrentRequest();
  // Drizzle sends a statement when it is awaited, so await it here.
  return request ? runAs({ ...request, isExpensive: true }, async () => await work()) : work();
}

/**
 * A parameter that is hidden from the planner. If PostgreSQL sees the value and expects a cheaper plan for it, it plans
 * every call, and planning takes longer than reading a page; with hidden values it keeps one generic plan.
 */
export function hiddenPlaceholder(
  name: string,
  type: 'integer' | 'bigint' | 'text' | 'timestamptz' | 'bigint[]' | 'boolean[]',
): SQL {
  return sql`(select ${sql.placeholder(name)}::${sql.raw(type)})`;
}

/** An array as the value of one placeholder or parameter. */
export function arrayLiteral(elements: readonly (string | number | boolean | Date | null)[]): string {
  let literal = '{';
  for (const element of elements) {
    if (literal.length > 1) literal += ',';
    literal += arrayElement(element);
  }
  return `${literal}}`;
}

function arrayElement(element: string | number | boolean | Date | null): string {
  if (element === null) return 'NULL';
  if (element instanceof Date) return element.toISOString();
  if (typeof element !== 'string') return String(element);
  return /["\\]/.test(element) ? `"${element.replace(/["\\]/g, '\\$&')}"` : `"${element}"`;
}

/** Names the selected columns, so that rows are read by name and not by position. */
export function selectionOf<Name extends string>(
  expressions: Readonly<Record<Name, SQLWrapper>>,
): Selection<Name> {
  const names = Object.keys(expressions) as Name[];
  const columns = names.map((name) => sql`${expressions[name]} as ${sql.identifier(name)}`);
  const at = Object.fromEntries(names.map((name, position) => [name, position])) as Record<Name, number>;
  return { columns: sql.join(columns, sql`, `), at };
}

/** The columns of a selection in a subquery, to be selected from that subquery. */
export function columnsOf<Name extends string>(subquery: string, { at }: Selection<Name>): Record<Name, SQL> {
  const names = Object.keys(at) as Name[];
  const columns = names.map((name) => [name, sql`${sql.identifier(subquery)}.${sql.identifier(name)}`]);
  return Object.fromEntries(columns) as Record<Name, SQL>;
}

/** A query as the driver takes it. */
export function buildStatement(
  query: SQL,
  values: PlaceholderValues,
): { text: string; parameters: string[] } {
  const { sql: text, params } = dialect.sqlToQuery(query);
  return { text, parameters: fillPlaceholders(params, values).map(String) };
}

/** The shortest text that the index of names can find, in characters. */
export const MIN_INDEXED_LENGTH = 3;

/** The pattern of LIKE for texts that contain this one, in which `%`, `_` and backslashes are escaped. */
export function likePart(text: string): string {
  return `%${text.replace(/[\\%_]/g, '\\$&')}%`;
}
