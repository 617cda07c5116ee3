import { InvalidInput } from '../errors.ts';
import { parseMysqlAddress } from './mysql-address.ts';
import { openMysqlSource } from './mysql-source.ts';
import { openSqliteSource } from './sqlite-source.ts';

/** A row of a source, every value as the text the source keeps: nothing is rounded, no clock is guessed. */
export type SourceRow = Record<string, string | null>;

/** Another system's database, open for reading alone. */
export type SourceDatabase = {
  kind: 'mysql' | 'sqlite';
  /** What tells it from other databases, without credentials: `host:port/database`, or the path of the file. */
  address: string;
  /** Names of the columns of a table, in lower case; empty when there is no such table. */
  listColumns: (table: string) => Promise<Set<string>>;
  /** Runs one SELECT. Results are kept small by the caller, who reads page by page. */
  select: (statement: string, parameters?: readonly (string | number)[]) => Promise<SourceRow[]>;
  close: () => Promise<void>;
};

const MYSQL = /^(mysql|mariadb):\/\//;
const SQLITE = 'sqlite:';

/**
 * Checks the form of a source's address, without asking anybody.
 * @throws {InvalidInput} when it is none; one line without secrets.
 */
export function checkSourceUrl(url: string): void {
  if (MYSQL.test(url)) parseMysqlAddress(url);
  else if (!url.startsWith(SQLITE)) throw unknownForm();
}

/**
 * Opens `mysql://user:password@host:port/database` (or `mariadb://`), or `sqlite:PATH`, read-only.
 * @throws {InvalidInput} when the address is of another form.
 * @throws {Unavailable} when nothing answers there, or the file is not there.
 */
export async function openSourceDatabase(url: string): Promise<SourceDatabase> {
  if (MYSQL.test(url)) return openMysqlSource(url);
  if (url.startsWith(SQLITE)) return openSqliteSource(url.slice(SQLITE.length).replace(/^\/\/(?=\/)/, ''));
  throw unknownForm();
}

function unknownForm(): InvalidInput {
  return new InvalidInput('the address of a source is mysql://user:password@host/database or sqlite:PATH');
}

/** Rows of one page. Large enough to be quick, small enough that a million rows never sit in memory. */
export const PAGE_ROWS = 10_000;

/**
 * Reads a table in pages along a key, asking for the next page while the caller works on this one. Pages, not one
 * long result: an open result would hold a lock on the source (MyISAM, SQLite) for as long as the import lasts.
 * @param readPage the rows after the last row of the page before; `undefined` asks for the first page.
 */
export async function* readPages(
  readPage: (after: SourceRow | undefined) => Promise<SourceRow[]>,
): AsyncGenerator<SourceRow[]> {
  let page = await readPage(undefined);
  while (page.length > 0) {
    const next = readPage(page[page.length - 1]);
    // Awaited below; until then a failure is not an unhandled one.
    next.catch(() => {});
    yield page;
    page = await next;
  }
}
