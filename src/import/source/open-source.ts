import { InvalidInput } from '../../domain/errors.ts';
import { openMysqlSource } from './mysql.ts';
import { parseMysqlAddress } from './mysql-address.ts';
import { openSqliteSource } from './sqlite.ts';
import type { Columns, SourceDatabase } from './tables.ts';

const MYSQL = /^(mysql|mariadb):\/\//;
const SQLITE = 'sqlite:';

/**
 * Checks the form of a source's address, without connecting.
 * @throws {InvalidInput} one line without secrets.
 */
export function checkSourceUrl(url: string): void {
  if (MYSQL.test(url)) parseMysqlAddress(url);
  else if (!url.startsWith(SQLITE)) throw unknownForm();
}

/**
 * Opens `mysql://user:password@host:port/database` (or `mariadb://`), or `sqlite:PATH`, read-only.
 * @throws {InvalidInput} when the address is of another form.
 * @throws {Unavailable} when there is no response, or no such file.
 */
export async function openSourceDatabase(url: string): Promise<SourceDatabase> {
  if (MYSQL.test(url)) return openMysqlSource(url);
  if (url.startsWith(SQLITE)) return openSqliteSource(url.slice(SQLITE.length).replace(/^\/\/(?=\/)/, ''));
  throw unknownForm();
}

/**
 * Opens a source as {@link openSourceDatabase} does, for as long as `read` takes, during which it lists the columns of a
 * table once.
 */
export async function readSource<T>(url: string, read: (database: SourceDatabase) => Promise<T>): Promise<T> {
  const database = await openSourceDatabase(url);
  const columns = new Map<string, Promise<Columns>>();
  const listColumns = (table: string) => columns.getOrInsertComputed(table, database.listColumns);
  try {
    return await read({ ...database, listColumns });
  } finally {
    await database.close();
  }
}

function unknownForm(): InvalidInput {
  return new InvalidInput(
    'the address of a source has the form mysql://user:password@host/database or sqlite:PATH',
  );
}
