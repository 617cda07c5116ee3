import { openDatabase } from '../../../src/db/database.ts';

/** Small work that takes milliseconds on an idle machine. */
export type Reference = () => Promise<unknown>;

/** As many steps as small as the reference may be late, one after another, in what is promised. */
const LATE_STEPS = 10;

/**
 * Repeats reference work beside a test, to tell a defect from a busy machine.
 * @returns how to end it, which gives the milliseconds that a promised time may be exceeded by: ten times the longest
 * reference. On an idle machine that is little, on a busy one as much as the machine delays what is small.
 */
export function startReference(reference: Reference): { stop: () => Promise<number> } {
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
  measuring.catch(() => {});
  return {
    stop: async () => {
      isOver = true;
      await measuring;
      return LATE_STEPS * longestMs;
    },
  };
}

/**
 * Does work that is promised to take at most `limitMs`, and fails unless it did, but for what {@link startReference}
 * allows meanwhile.
 * @param work ends when the promise is kept; it waits with patience of its own.
 */
export async function expectWithin<T>(
  limitMs: number,
  work: () => Promise<T>,
  reference: Reference,
): Promise<T> {
  const meanwhile = startReference(reference);
  const beganMs = performance.now();
  try {
    const result = await work();
    const tookMs = Math.round(performance.now() - beganMs);
    const allowedMs = Math.round(await meanwhile.stop());
    if (tookMs <= limitMs + allowedMs) return result;
    throw new Error(`took ${tookMs} ms instead of ${limitMs}, and ${allowedMs} for a busy machine`);
  } finally {
    await meanwhile.stop();
  }
}

/** One query by a connection of its own: what a request takes, or a database that is back. */
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
