import { Unavailable } from '../errors.ts';

/** Runs work that needs the database, for as long as somebody may wait for it. */
export type Gate = <T>(work: () => Promise<T>) => Promise<T>;

/**
 * Bounds how long a caller waits for a database that hangs, and how much may wait at once: past that, callers are
 * refused at once until the database has answered again.
 * @param limitMs how long a caller waits; the work itself goes on and counts as waiting until it settles.
 * @throws what the work throws, or {@link Unavailable}.
 */
export function createGate({ limitMs, maxWaiting }: { limitMs: number; maxWaiting: number }): Gate {
  let waiting = 0;
  return async (work) => {
    if (waiting >= maxWaiting) throw new Unavailable('The database is out of reach: try again shortly');
    waiting += 1;
    const settled = work().finally(() => {
      waiting -= 1;
    });
    let timer: ReturnType<typeof setTimeout> | undefined;
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(
        () => reject(new Unavailable('The database is out of reach: try again shortly')),
        limitMs,
      );
    });
    try {
      return await Promise.race([settled, late]);
    } finally {
      clearTimeout(timer);
    }
  };
}
