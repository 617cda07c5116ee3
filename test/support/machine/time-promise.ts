import { openDatabase } from '../../../src/db/database.ts';

/** A small task that takes milliseconds on an idle machine. */
export type Reference = () => Promise<unknown>;

/** A promised time may be exceeded by this many times the longest reference. */
export const LATE_STEPS = 10;

/**
 * Repeats reference work beside a test, to tell a defect from a busy machine.
 * @returns `stop`, which gives the milliseconds by which a promised time may be exceeded: ten times the longest
 * reference. That is little on an idle machine, and grows as the machine delays even small work.
 */
export function startReference(reference: Reference): { stop: () => Promise<number> } {
  let isOver = false;
  let maxMs = 0;
  const measuring = (async () => {
    do {
      const beganMs = performance.now();
      await reference();
      maxMs = Math.max(maxMs, performance.now() - beganMs);
      await Bun.sleep(20);
    } while (!isOver);
  })();
  measuring.catch(() => {});
  return {
    stop: async () => {
      isOver = true;
      await measuring;
      return LATE_STEPS * maxMs;
    },
  };
}

/**
 * Does work that is promised to take at most `limitMs`. Fails if it took longer than that and what {@link startReference}
 * allows.
 * @param work ends when the promise is kept.
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

/** One query over a new connection: about the work of a request, or of reconnecting to a database. */
export const connectTo =
  (databaseUrl: string): Reference =>
  async () => {
    const { connection, close } = openDatabase(databaseUrl, { max: 1 });
    await connection`select 1`;
    await close({ timeoutSeconds: 1 });
  };

/** A timer: how late one comes shows how busy the machine is. */
export const waitForTimer: Reference = () => Bun.sleep(1);

/** A program that starts and ends. */
export const startProcess: Reference = () =>
  Bun.spawn([process.execPath, '-e', '0'], { stdout: 'ignore', stderr: 'ignore' }).exited;
