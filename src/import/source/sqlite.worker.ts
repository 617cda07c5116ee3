import { constants, Database, type SQLQueryBindings } from 'bun:sqlite';
import { statSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import { errorCode } from '../../domain/errors.ts';
import type { SqliteRequest, SqliteResponse } from './sqlite.ts';
import type { SourceRow } from './tables.ts';

/** Runs in a worker, because bun:sqlite blocks its thread during a read and while another process locks the file. */
let database: Database | undefined;
/** The state of the file when it was opened as immutable; undefined while SQLite itself detects changes. */
let frozenState: string | undefined;

addEventListener('message', ({ data }: MessageEvent<SqliteRequest>) => postMessage(read(data)));

function read({ path, statement, parameters }: SqliteRequest): SqliteResponse {
  try {
    database ??= open(path);
    const query = database.query<Record<string, unknown>, SQLQueryBindings[]>(statement);
    // SteamIDs exceed 2^53: as numbers they would be rounded.
    const rows = query.safeIntegers(true).all(...parameters);
    if (frozenState !== undefined && stateOf(path) !== frozenState)
      throw new Error('it was changed meanwhile');
    const texts: SourceRow[] = rows.map((row) =>
      Object.fromEntries(Object.entries(row).map(([name, value]) => [name, textOf(value)])),
    );
    return { rows: JSON.stringify(texts) };
  } catch (error) {
    return { failure: error instanceof Error ? error.message : String(error) };
  }
}

function open(path: string): Database {
  const file = new Database(path, { readonly: true });
  // How long another process may lock the file, in milliseconds.
  file.run('pragma busy_timeout = 5000');
  try {
    file.run('pragma schema_version');
    return file;
  } catch (error) {
    if (!/^SQLITE_(READONLY|CANTOPEN)/.test(errorCode(error))) throw error;
    file.close();
    return openFrozen(path);
  }
}

/**
 * Opens a file in WAL mode whose folder this user may not write to, where SQLite would create `-shm`.
 * @see https://sqlite.org/wal.html#read_only_databases
 */
function openFrozen(path: string): Database {
  const wal = `${path}-wal`;
  if (sizeOf(wal) > 0) {
    throw new Error(
      `its newest changes are in ${wal}, and this user may not write to its folder: ` +
        'copy both files to a folder that they may write to',
    );
  }
  frozenState = stateOf(path);
  const { SQLITE_OPEN_READONLY, SQLITE_OPEN_URI } = constants;
  return new Database(`${pathToFileURL(path).href}?immutable=1`, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI);
}

function stateOf(path: string): string {
  return `${statSync(path).mtimeMs} ${sizeOf(path)} ${sizeOf(`${path}-wal`)}`;
}

/** 0 for a file that does not exist. */
function sizeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}

function textOf(value: unknown): string | null {
  if (value === null || value === undefined) return null;
  if (value instanceof Uint8Array) return new TextDecoder().decode(value);
  // A number that has lost digits must not look exact.
  if (typeof value === 'number' && Math.abs(value) > Number.MAX_SAFE_INTEGER) return value.toExponential();
  return String(value);
}
