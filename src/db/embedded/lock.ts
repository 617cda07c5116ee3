import { Database, SQLiteError } from 'bun:sqlite';
import { truncateSync } from 'node:fs';
import { Unavailable } from '../../domain/errors.ts';

/** How long to wait before trying again; up to twice as long, so that two that wait do not keep meeting. */
const RETRY_MS = 15;

/**
 * Runs work while nobody else, in this process or another, runs any under the same file.
 *
 * The lock is SQLite's on an empty database: the system frees it when its holder ends, however that happens, and it
 * works alike on Linux, macOS and Windows. What the file holds means nothing, so nothing in it can be stale.
 * @param file is made when missing, and stays.
 * @throws {Unavailable} when others have held it for `limitMs`; SQLite's error when the file cannot be made or opened.
 */
export async function withFileLock<T>(
  file: string,
  { limitMs }: { limitMs: number },
  work: () => Promise<T>,
): Promise<T> {
  const deadlineMs = performance.now() + limitMs;
  for (;;) {
    const lock = tryLock(file);
    if (lock) {
      try {
        return await work();
      } finally {
        lock.close();
      }
    }
    if (performance.now() > deadlineMs) {
      throw new Unavailable(`Another process has held ${file} for ${Math.round(limitMs / 1000)} s`);
    }
    await Bun.sleep(RETRY_MS * (1 + Math.random()));
  }
}

/** @returns undefined while somebody else holds it. */
function tryLock(file: string): Database | undefined {
  const lock = new Database(file, { readwrite: true, create: true });
  try {
    // In memory: nothing is written, so that a full disk does no harm.
    lock.run('pragma journal_mode = memory');
    lock.run('begin exclusive');
    return lock;
  } catch (error) {
    lock.close();
    const code = error instanceof SQLiteError ? error.code : undefined;
    if (code === 'SQLITE_BUSY') return undefined;
    if (code !== 'SQLITE_NOTADB') throw error;
    // The file holds something else; the holder of the lock writes nothing.
    truncateSync(file);
    return undefined;
  }
}
