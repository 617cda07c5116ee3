import { openDatabase } from '../../../src/db/database.ts';

/** Small work that takes milliseconds on an idle machine. */
export type Reference = () => Promise<unknown>;

/** As many steps as small as the reference may be late, one after another, in what is promised. */
const LATE_STEPS = 10;

/**
 * Does work that is promised to take at most `limitMs`, and fails unless it did. Reference work is repeated beside it, and
 * ten times the longest of it is added to the limit: on an idle machine that is little, on a busy one it is as much as
 * the machine delays what is small.
 * @param work ends when the promise is kept; it waits with patience of its own.
 */
export async function expectWithin<T>(
  limitMs: number,
  work: () => Promise<T>,
  reference: Reference,
): Promise<T> {
  let isOver = false;
  let longestMs = 0;
  const measuring = (async () => {
    do {
      const beganMs = performance.now();
      await reference();
      longestMs = Math.max(longestMs, performance.now() - beganMs);
      await Bun.sleep(20);
    } while (!isOver);
  })();
  const beganMs = performance.now();
  try {
    const result = await work();
    const tookMs = performance.now() - beganMs;
    isOver = true;
    await measuring;
    const mostMs = limitMs + LATE_STEPS * longestMs;
    if (tookMs <= mostMs) return result;
    throw new Error(
      `took ${Math.round(tookMs)} ms instead of ${limitMs}, while the reference took ${Math.round(longestMs)} ms`,
    );
  } finally {
    isOver = true;
    await measuring;
  }
}

/** One query by a connection of its own: of the work of a database that is back, or of a request. */
export const connectTo =
  (databaseUrl: string): Reference =>
  async () => {
    const { connection, close } = openDatabase(databaseUrl, { max: 1 });
    await connection`select 1`;
    await close({ timeoutSeconds: 1 });
  };

/** A program that starts and ends. */
export const startProcess: Reference = () =>
  Bun.spawn([process.execPath, '-e', '0'], { stdout: 'ignore', stderr: 'ignore' }).exited;
