import { Database, type SQLQueryBindings } from 'bun:sqlite';
import { realpath } from 'node:fs/promises';
import { Unavailable } from '../errors.ts';
import type { SourceDatabase, SourceRow } from './source-database.ts';

const BUSY_TIMEOUT_MS = 5000;

/**
 * Opens an SQLite file that a game server may be writing to, for reading alone.
 * @throws {Unavailable} when the file is not there or is no database.
 */
export async function openSqliteSource(path: string): Promise<SourceDatabase> {
  const database = openFile(path);
  return {
    kind: 'sqlite',
    address: await realpath(path),
    select,
    async listColumns(table) {
      const rows = await select('select name from pragma_table_info(?)', [table]);
      return new Set(rows.map((row) => (row.name ?? '').toLowerCase()));
    },
    close: async () => database.close(),
  };

  async function select(
    statement: string,
    parameters: readonly (string | number)[] = [],
  ): Promise<SourceRow[]> {
    try {
      const rows = database.query<Record<string, unknown>, SQLQueryBindings[]>(statement).all(...parameters);
      return rows.map((row) =>
        Object.fromEntries(Object.entries(row).map(([name, value]) => [name, textOf(value)])),
      );
    } catch (error) {
      throw outage(path, error);
    }
  }
}

function openFile(path: string): Database {
  try {
    // safeIntegers: SteamIDs exceed 2^53, and bun:sqlite would round them.
    const database = new Database(path, { readonly: true, safeIntegers: true });
    database.run(`pragma busy_timeout = ${BUSY_TIMEOUT_MS}`);
    database.query('select count(*) from sqlite_master').get();
    return database;
  } catch (error) {
    throw outage(path, error);
  }
}

function textOf(value: unknown): string | null {
  if (value === null || value === undefined) return null;
  if (value instanceof Uint8Array) return new TextDecoder().decode(value);
  // A number that lost digits must not look like one that has them all.
  if (typeof value === 'number' && Math.abs(value) > Number.MAX_SAFE_INTEGER) return value.toExponential();
  return String(value);
}

function outage(path: string, cause: unknown): Unavailable {
  return new Unavailable(
    `the source sqlite:${path} fails: ${cause instanceof Error ? cause.message : cause}`,
    { cause },
  );
}
