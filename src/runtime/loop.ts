/** Work that repeats at an interval, and sooner when it is woken; it never runs twice at once. */
export type Loop = {
  /** Only the first call has an effect, and none after `stop`. */
  start: () => void;
  /**
   * Runs the work soon; when it is running, once more afterwards. Resolves when that run has ended, or the loop has. Has no
   * effect before `start`.
   */
  wake: () => Promise<void>;
  /** Ends the loop; the signal of the work under way aborts. Resolves like `ended`. */
  stop: () => Promise<void>;
  /** Resolves when the loop has been stopped and the work under way has ended. */
  ended: Promise<void>;
  /** Aborts when the loop is stopped. */
  signal: AbortSignal;
};

type Options = {
  /** What the log calls the work. */
  name: string;
  /** The pause between two runs. */
  everyMs: number;
  /** Runs first after `everyMs`, instead of at once. */
  pausesFirst?: boolean;
  /** How long a wake-up waits for further ones, which the same run covers; 0 by default. */
  debounceMs?: number;
  /** @param signal aborts when the loop is stopped. */
  work: (signal: AbortSignal) => Promise<unknown>;
  /** The pause after a run that succeeded; `everyMs` by default. */
  nextPauseMs?: () => number;
  log: { warn: (details: object, message: string) => void };
};

/** Starts a loop that {@link createLoop} creates. */
export function startLoop(options: Options): Loop {
  const loop = createLoop(options);
  loop.start();
  return loop;
}

/** Creates a loop that waits for its start. Only the first of several failures in a row is logged. */
export function createLoop({
  name,
  everyMs,
  pausesFirst = false,
  debounceMs = 0,
  work,
  nextPauseMs = () => everyMs,
  log,
}: Options): Loop {
  const stopping = new AbortController();
  const { signal } = stopping;
  const over = Promise.withResolvers<void>();
  let isStarted = false;
  let isWoken = false;
  /** Of the next run to begin. */
  let ending = Promise.withResolvers<void>();
  let isFailing = false;
  let endPause: (() => void) | undefined;
  let debounce: ReturnType<typeof setTimeout> | undefined;

  async function pause(pauseMs: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    endPause = resolve;
    const timer = setTimeout(resolve, pauseMs);
    await promise;
    clearTimeout(timer);
    endPause = undefined;
  }

  function runSoon(): void {
    debounce = undefined;
    isWoken = true;
    endPause?.();
  }

  async function runOnce(): Promise<number> {
    try {
      await work(signal);
      isFailing = false;
      return nextPauseMs();
    } catch (error) {
      if (!isFailing && !signal.aborted) log.warn({ err: error }, `${name} failed: retrying`);
      isFailing = true;
      return everyMs;
    }
  }

  async function run(): Promise<void> {
    if (pausesFirst) await pause(everyMs);
    while (!signal.aborted) {
      isWoken = false;
      const { resolve } = ending;
      ending = Promise.withResolvers();
      const pauseMs = await runOnce();
      resolve();
      if (!isWoken && !signal.aborted) await pause(pauseMs);
    }
    ending.resolve();
    over.resolve();
  }

  return {
    start: () => {
      if (isStarted || signal.aborted) return;
      isStarted = true;
      void run();
    },
    wake: () => {
      if (!isStarted) return Promise.resolve();
      if (debounceMs === 0) runSoon();
      else debounce ??= setTimeout(runSoon, debounceMs);
      return ending.promise;
    },
    stop: () => {
      stopping.abort();
      clearTimeout(debounce);
      endPause?.();
      if (!isStarted) over.resolve();
      return over.promise;
    },
    ended: over.promise,
    signal,
  };
}
