import { Database, SQLiteError } from 'bun:sqlite';
import { truncateSync } from 'node:fs';
import { Unavailable } from '../../domain/errors.ts';

/** The shortest pause before the next try; it is random up to twice as long, so that two waiters do not stay in step. */
const RETRY_MS = 15;

/**
 * Runs work under an exclusive lock on a file, between processes and within one.
 *
 * It is SQLite's lock on an empty database: the system releases it when the holder ends, however that happens, and it
 * works on Linux, macOS and Windows alike.
 * @param file created when missing, and never removed.
 * @throws {Unavailable} when others have held it for `limitMs`; SQLite's error when the file cannot be made or opened.
 */
export async function withFileLock<T>(
  file: string,
  { limitMs }: { limitMs: number },
  work: () => Promise<T>,
): Promise<T> {
  const deadlineMs = performance.now() + limitMs;
  for (;;) {
    using lock = new Database(file, { readwrite: true, create: true });
    if (tryBegin(lock, file)) return await work();
    if (performance.now() > deadlineMs) {
      throw new Unavailable(`Another process has held ${file} for ${Math.round(limitMs / 1000)} s`);
    }
    await Bun.sleep(RETRY_MS * (1 + Math.random()));
  }
}

/** @returns false while it is held elsewhere. */
function tryBegin(lock: Database, file: string): boolean {
  try {
    // Nothing is written to disk, so that it works on a full one.
    lock.run('pragma journal_mode = memory');
    lock.run('begin exclusive');
    return true;
  } catch (error) {
    const code = error instanceof SQLiteError ? error.code : undefined;
    // The file is not one of ours: no holder of the lock writes to it.
    if (code === 'SQLITE_NOTADB') truncateSync(file);
    else if (code !== 'SQLITE_BUSY') throw error;
    return false;
  }
}
