import { Database, type SQLQueryBindings } from 'bun:sqlite';
import type { SqliteRequest, SqliteResponse } from './sqlite.ts';
import type { SourceRow } from './tables.ts';

/** How long another process may lock the file. */
const BUSY_LIMIT_MS = 5000;
const BUSY_PAUSE_MS = 50;

/** Runs in a worker, because bun:sqlite blocks its thread during a read. */
let database: Database | undefined;

/** One request after the other, so that the responses have their order. */
let running: Promise<void> = Promise.resolve();

addEventListener('message', ({ data }: MessageEvent<SqliteRequest>) => {
  running = running.then(async () => postMessage(await run(data)));
});

async function run(request: SqliteRequest): Promise<SqliteResponse> {
  const startMs = performance.now();
  for (;;) {
    try {
      return { rows: read(request) };
    } catch (error) {
      const isHopeless = !isBusy(error) || performance.now() - startMs > BUSY_LIMIT_MS;
      if (isHopeless) return { failure: error instanceof Error ? error.message : String(error) };
    }
    // Instead of SQLite's busy timeout, which cannot be aborted.
    await Bun.sleep(BUSY_PAUSE_MS);
  }
}

function isBusy(error: unknown): boolean {
  return error instanceof Error && 'code' in error && String(error.code).startsWith('SQLITE_BUSY');
}

function read({ path, statement, parameters }: SqliteRequest): string {
  // safeIntegers: SteamIDs exceed 2^53, and bun:sqlite would round them.
  database ??= new Database(path, { readonly: true, safeIntegers: true });
  const rows = database.query<Record<string, unknown>, SQLQueryBindings[]>(statement).all(...parameters);
  const texts: SourceRow[] = rows.map((row) =>
    Object.fromEntries(Object.entries(row).map(([name, value]) => [name, textOf(value)])),
  );
  return JSON.stringify(texts);
}

function textOf(value: unknown): string | null {
  if (value === null || value === undefined) return null;
  if (value instanceof Uint8Array) return new TextDecoder().decode(value);
  // A number that has lost digits must not look exact.
  if (typeof value === 'number' && Math.abs(value) > Number.MAX_SAFE_INTEGER) return value.toExponential();
  return String(value);
}
