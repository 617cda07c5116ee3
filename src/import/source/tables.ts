import { InvalidInput } from '../../domain/errors.ts';
import type { SourceDatabase, SourceRow } from './source-database.ts';

/** Rows of one page: large enough to be fast, small enough for memory. */
export const PAGE_ROWS = 10_000;

/** A table of a source, and what is read of it. Its alias in SQL is `p`. */
export type SourceTable<Name extends string = string> = {
  name: Name;
  /** The columns that it has in this database; they differ by version. */
  columns: ReadonlySet<string>;
  selected: readonly string[];
  joins: readonly string[];
  /** Which rows are read; all of them by default. */
  condition: string;
};

/**
 * Finds a table with the required columns, and optional ones, which are selected as null when missing.
 * @returns undefined when there is no such table.
 * @throws {InvalidInput} that names the required columns that are missing.
 */
export async function findSourceTable<Name extends string>(
  database: SourceDatabase,
  name: Name,
  { needed, wanted }: { needed: readonly string[]; wanted: readonly string[] },
): Promise<SourceTable<Name> | undefined> {
  const columns = await database.listColumns(name);
  if (columns.size === 0) return undefined;
  const missing = needed.filter((column) => !columns.has(column));
  if (missing.length > 0) {
    throw new InvalidInput(`the table ${name} of the source has no column ${missing.join(', ')}`);
  }
  const selected = selectColumns(columns, [...needed, ...wanted]);
  return { name, columns, selected, joins: [], condition: 'true' };
}

/** Selects columns under their names in lower case; null for those that are missing. */
export function selectColumns(columns: ReadonlySet<string>, wanted: readonly string[]): string[] {
  return wanted.map((column) => (columns.has(column) ? `p.${column} as ${column}` : `null as ${column}`));
}

/** The number of rows that will be read of some tables. */
export async function countSourceRows(
  database: SourceDatabase,
  tables: readonly Pick<SourceTable, 'name' | 'condition'>[],
): Promise<number> {
  let total = 0;
  for (const { name, condition } of tables) {
    const [row] = await database.select(`select count(*) as n from ${name} p where ${condition}`);
    total += Number(row?.n ?? 0);
  }
  return total;
}

/** Reads rows of a table. @param rest SQL after the condition: `and …`, `order by …`, `limit …`. */
export async function selectSourceRows(
  database: SourceDatabase,
  { name, selected, joins, condition }: Omit<SourceTable, 'columns'>,
  rest = '',
  parameters: readonly (string | number)[] = [],
): Promise<SourceRow[]> {
  const from = [`${name} p`, ...joins].join(' ');
  return database.select(`select ${selected.join(', ')} from ${from} where ${condition} ${rest}`, parameters);
}

type PageOptions = {
  /** The column whose values order the rows. */
  key?: string;
  /** Reads rows after this key; all by default. */
  after?: string | number;
  pageRows?: number;
};

/** One page of rows after a key. */
export async function selectSourcePage(
  database: SourceDatabase,
  table: SourceTable,
  { key = 'id', after = '-1', pageRows = PAGE_ROWS }: PageOptions,
): Promise<SourceRow[]> {
  const rest = `and p.${key} > ? order by p.${key} limit ${pageRows}`;
  return selectSourceRows(database, table, rest, [after]);
}

/** The rows of a table by their key, page after page. */
export function readSourcePages(
  database: SourceDatabase,
  table: SourceTable,
  options: PageOptions = {},
): AsyncGenerator<SourceRow[]> {
  const { key = 'id', after } = options;
  return readPages((last) =>
    selectSourcePage(database, table, { ...options, after: last?.[key] ?? after ?? '-1' }),
  );
}

/**
 * Reads a table in pages along a key, and reads the next page while the caller processes the current one. An open result
 * would instead lock the source (MyISAM, SQLite) during the whole import.
 * @param readPage returns the rows after the last row of the previous page; `undefined` for the first page.
 */
export async function* readPages(
  readPage: (last: SourceRow | undefined) => Promise<SourceRow[]>,
): AsyncGenerator<SourceRow[]> {
  let page = await readPage(undefined);
  while (page.length > 0) {
    const next = readPage(page[page.length - 1]);
    // Awaited below; this only prevents an unhandled rejection until then.
    next.catch(() => {});
    yield page;
    page = await next;
  }
}
