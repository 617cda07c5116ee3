import type { Logger } from 'pino';

type Options = {
  /** What the log calls it. */
  name: string;
  everyMs: number;
  /** Begins with the first run instead of the first pause. */
  startsAtOnce?: boolean;
  /** @param signal aborts when it is to stop. */
  work: (signal: AbortSignal) => Promise<unknown>;
  log: Logger;
};

/** Runs work again and again, never twice at once; a failure is logged when it begins, not each time. Returns what stops it. */
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
      if (!isFailing && !stopping.signal.aborted) log.warn({ err: error }, `${name} failed: trying again`);
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
