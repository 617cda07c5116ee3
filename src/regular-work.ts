import type { Logger } from 'pino';

type Options = {
  /** What the log calls it. */
  name: string;
  everyMs: number;
  work: () => Promise<unknown>;
  log: Logger;
};

/** Runs work again and again, never twice at once; a failure is logged when it begins, not each time. Returns what stops it. */
export function runRegularly({ name, everyMs, work, log }: Options): () => void {
  let isRunning = false;
  let isFailing = false;
  const timer = setInterval(async () => {
    if (isRunning) return;
    isRunning = true;
    try {
      await work();
      isFailing = false;
    } catch (error) {
      if (!isFailing) log.warn({ err: error }, `${name} failed: trying again`);
      isFailing = true;
    } finally {
      isRunning = false;
    }
  }, everyMs);
  return () => clearInterval(timer);
}
