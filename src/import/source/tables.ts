import { InvalidInput } from '../../domain/errors.ts';

/** A row of a source, with every value as the source's text, so that nothing is rounded or converted. */
export type SourceRow = Record<string, string | null>;

/** Names of columns, in lower case, each with what MySQL says of it besides its type (`extra`). */
export type Columns = ReadonlyMap<string, string>;

/** Another system's database, opened read-only. */
export type SourceDatabase = {
  kind: 'mysql' | 'sqlite';
  /** Identifies the database, without credentials: `host:port/database`, or the path of the file. */
  address: string;
  /** The columns of a table that may be read; empty when there is no such table. */
  listColumns: (table: string) => Promise<Columns>;
  /** Runs one SELECT. Callers read page by page, so that results stay small. */
  select: (statement: string, parameters?: readonly (string | number)[]) => Promise<SourceRow[]>;
  close: () => Promise<void>;
};

/** Rows of one page: large enough to be fast, small enough for memory. */
export const PAGE_ROWS = 10_000;

/** A table of a source, and which columns and rows are read. Its alias in SQL is `p`. */
export type SourceTable = {
  name: string;
  /** The columns that it has in this database; they differ by version. */
  columns: Columns;
  selected: readonly string[];
  joins: readonly string[];
  /** Which rows are read; all of them by default. */
  condition: string;
};

/** Columns to read, each as `column` or `column as name`. Optional ones that are missing are read as null. */
export type WantedColumns = { needed: readonly string[]; optional?: readonly string[] };

/**
 * Finds a table.
 * @returns undefined when there is none, which it also seems to be to a user who may not read it.
 * @throws {InvalidInput} that names the needed columns that are missing.
 */
export async function findSourceTable(
  database: SourceDatabase,
  name: string,
  { needed, optional = [] }: WantedColumns,
): Promise<SourceTable | undefined> {
  const columns = await database.listColumns(name);
  if (columns.size === 0) return undefined;
  const nameOf = (column: string) => column.split(' as ')[0] ?? '';
  const absentColumns = needed.map(nameOf).filter((column) => !columns.has(column));
  if (absentColumns.length > 0) {
    throw new InvalidInput(`the table ${name} of the source has no column ${absentColumns.join(', ')}`);
  }
  const selected = [...needed, ...optional].map((text) => {
    const [column = '', alias = column] = text.split(' as ');
    return `${columns.has(column) ? `p.${column}` : 'null'} as ${alias}`;
  });
  return { name, columns, selected, joins: [], condition: 'true' };
}

/** All rows of a table; undefined when there is none. */
export async function findRows(
  database: SourceDatabase,
  name: string,
  columns: WantedColumns,
): Promise<SourceRow[] | undefined> {
  const table = await findSourceTable(database, name, columns);
  return table && selectSourceRows(database, table);
}

/** The same table with more columns, given as SQL. */
export function extendTable(table: SourceTable, selected: string[], joins: string[] = []): SourceTable {
  return { ...table, selected: [...table.selected, ...selected], joins: [...table.joins, ...joins] };
}

/** Reads rows of a table. @param rest SQL after the condition: `and …`, `order by …`, `limit …`. */
export async function selectSourceRows(
  database: SourceDatabase,
  { name, selected, joins, condition }: SourceTable,
  rest = '',
  parameters: readonly (string | number)[] = [],
): Promise<SourceRow[]> {
  const from = [`${name} p`, ...joins].join(' ');
  return database.select(`select ${selected.join(', ')} from ${from} where ${condition} ${rest}`, parameters);
}

/**
 * Reads the rows of a table in pages, ordered by a key.
 * @param options.key the column whose values order the rows, and which is read as `id`.
 * @param options.after reads rows after this key; all by default.
 */
export function readSourcePages(
  database: SourceDatabase,
  table: SourceTable,
  { key, after = '-1', pageRows }: { key: string; after?: string | number; pageRows: number },
): AsyncGenerator<SourceRow[]> {
  const rest = `and p.${key} > ? order by p.${key} limit ${pageRows}`;
  return readPages((last) => selectSourceRows(database, table, rest, [last?.id ?? after]));
}

/**
 * Reads a table in pages along a key. An open result would instead lock the source (MyISAM, SQLite) during the whole
 * import.
 * @param readPage returns the rows after the last row of the previous page; `undefined` for the first page.
 */
export async function* readPages(
  readPage: (last: SourceRow | undefined) => Promise<SourceRow[]>,
): AsyncGenerator<SourceRow[]> {
  let page = await readPage(undefined);
  while (page.length > 0) {
    yield page;
    page = await readPage(page[page.length - 1]);
  }
}
