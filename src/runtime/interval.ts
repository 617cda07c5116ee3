import type { Logger } from 'pino';

type Options = {
  /** What the log calls it. */
  name: string;
  everyMs: number;
  /** Runs immediately as well, instead of first after `everyMs`. */
  startsAtOnce?: boolean;
  /** @param signal aborts when the work has to stop. */
  work: (signal: AbortSignal) => Promise<unknown>;
  log: Logger;
};

/**
 * Runs work at an interval, never twice at once; only the first of several failures in a row is logged.
 * @returns a function that stops it.
 */
export function runRegularly({ name, everyMs, startsAtOnce = false, work, log }: Options): () => void {
  const stopping = new AbortController();
  let isRunning = false;
  let isFailing = false;

  async function run(): Promise<void> {
    if (isRunning) return;
    isRunning = true;
    try {
      await work(stopping.signal);
      isFailing = false;
    } catch (error) {
      if (!isFailing && !stopping.signal.aborted) log.warn({ err: error }, `${name} failed: retrying`);
      isFailing = true;
    } finally {
      isRunning = false;
    }
  }

  const timer = setInterval(run, everyMs);
  if (startsAtOnce) void run();
  return () => {
    clearInterval(timer);
    stopping.abort();
  };
}
