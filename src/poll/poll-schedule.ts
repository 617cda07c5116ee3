export type Scheduled = { id: number; address: string };

export type PollSchedule<T extends Scheduled> = {
  /** What to poll from now on. New targets are polled at once. */
  setTargets: (targets: readonly T[]) => void;
  counts: () => { targets: number; running: number; waiting: number };
  /** Starts nothing more. */
  stop: () => void;
};

type Options<T> = {
  intervalMs: number;
  /**
   * The most concurrent polls. Far more than needed on average, since a slow server occupies a poll for a long time.
   */
  maxRunning: number;
  /**
   * Must not reject.
   * @param isTarget whether the target is still polled at this address.
   */
  poll: (target: T, isTarget: () => boolean) => Promise<void>;
};

type Entry<T> = { target: T; timer: ReturnType<typeof setTimeout> | undefined; isRunning: boolean };

/** Polls started in one iteration of the event loop, to keep it well below 20 ms. */
const STARTS_PER_ITERATION = 8;
/** Each moment of polls costs a write, and a read in every process. */
const PHASES = 4;
/** Multiples of the golden ratio spread consecutive ids evenly, however many there are. */
const GOLDEN_RATIO = 0.618_033_988_749_895;

/**
 * Polls each target once per interval, at one of a few phases, so that polls are spread over the interval.
 * A target is never polled twice at once: a poll is skipped while the previous one is running.
 */
export function createPollSchedule<T extends Scheduled>({
  intervalMs,
  maxRunning,
  poll,
}: Options<T>): PollSchedule<T> {
  const entries = new Map<number, Entry<T>>();
  const waiting: Entry<T>[] = [];
  let running = 0;
  let isStarting = false;
  let isStopped = false;

  function enqueue(entry: Entry<T>): void {
    entry.timer = undefined;
    waiting.push(entry);
    startSoon();
  }

  function startSoon(): void {
    if (isStarting || waiting.length === 0 || running >= maxRunning) return;
    isStarting = true;
    setImmediate(() => {
      isStarting = false;
      for (let started = 0; started < STARTS_PER_ITERATION && running < maxRunning; started++) {
        const entry = waiting.shift();
        if (!entry) return;
        if (isPolled(entry)) void run(entry);
      }
      startSoon();
    });
  }

  /** False for an entry that was removed while it waited. */
  function isPolled(entry: Entry<T>): boolean {
    return !isStopped && entries.get(entry.target.id) === entry && !entry.isRunning;
  }

  async function run(entry: Entry<T>): Promise<void> {
    running += 1;
    entry.isRunning = true;
    const startedMs = performance.now();
    await poll(entry.target, () => entries.get(entry.target.id) === entry);
    entry.isRunning = false;
    running -= 1;
    startSoon();
    if (!isPolled(entry)) return;
    entry.timer = setTimeout(() => enqueue(entry), delayAfter(entry.target.id, startedMs, intervalMs));
  }

  function remove(entry: Entry<T>): void {
    clearTimeout(entry.timer);
    entries.delete(entry.target.id);
  }

  return {
    setTargets: (targets) => {
      if (isStopped) return;
      const ids = new Set(targets.map(({ id }) => id));
      for (const entry of [...entries.values()]) if (!ids.has(entry.target.id)) remove(entry);
      for (const target of targets) {
        const known = entries.get(target.id);
        if (known?.target.address === target.address) {
          known.target = target;
          continue;
        }
        if (known) remove(known);
        const entry: Entry<T> = { target, timer: undefined, isRunning: false };
        entries.set(target.id, entry);
        enqueue(entry);
      }
    },
    counts: () => ({ targets: entries.size, running, waiting: waiting.length }),
    stop: () => {
      isStopped = true;
      for (const entry of [...entries.values()]) remove(entry);
      waiting.length = 0;
    },
  };
}

/**
 * Time until the target's next poll by its phase, at least half an interval after the last start.
 * @param startedMs of the last poll, by `performance.now()`.
 */
export function delayAfter(
  id: number,
  startedMs: number,
  intervalMs: number,
  nowMs = performance.now(),
): number {
  const phase = (Math.floor(((id * GOLDEN_RATIO) % 1) * PHASES) / PHASES) * intervalMs;
  const earliest = Math.max(startedMs + intervalMs / 2, nowMs);
  return phase + Math.ceil((earliest - phase) / intervalMs) * intervalMs - nowMs;
}
