import { Database, type SQLQueryBindings } from 'bun:sqlite';
import type { SqliteRequest, SqliteResponse } from './sqlite.ts';
import type { SourceRow } from './tables.ts';

/** Runs in a worker, because bun:sqlite blocks its thread during a read and while another process locks the file. */
let database: Database | undefined;

addEventListener('message', ({ data }: MessageEvent<SqliteRequest>) => postMessage(read(data)));

function read({ path, statement, parameters }: SqliteRequest): SqliteResponse {
  try {
    database ??= open(path);
    const rows = database.query<Record<string, unknown>, SQLQueryBindings[]>(statement).all(...parameters);
    const texts: SourceRow[] = rows.map((row) =>
      Object.fromEntries(Object.entries(row).map(([name, value]) => [name, textOf(value)])),
    );
    return { rows: JSON.stringify(texts) };
  } catch (error) {
    return { failure: error instanceof Error ? error.message : String(error) };
  }
}

function open(path: string): Database {
  // safeIntegers: SteamIDs exceed 2^53, and bun:sqlite would round them.
  const file = new Database(path, { readonly: true, safeIntegers: true });
  // How long another process may lock the file, in milliseconds.
  file.run('pragma busy_timeout = 5000');
  return file;
}

function textOf(value: unknown): string | null {
  if (value === null || value === undefined) return null;
  if (value instanceof Uint8Array) return new TextDecoder().decode(value);
  // A number that has lost digits must not look exact.
  if (typeof value === 'number' && Math.abs(value) > Number.MAX_SAFE_INTEGER) return value.toExponential();
  return String(value);
}
