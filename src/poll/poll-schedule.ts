/** A server to poll. */
export type PollTarget = { id: number; slug: string; address: string };

type PollSchedule = {
  /** What to poll from now on. New targets are polled at once. */
  setTargets: (targets: readonly PollTarget[]) => void;
  counts: () => { targets: number; running: number; waiting: number };
  /** Starts nothing more; settles when the polls under way have ended. */
  stop: () => Promise<void>;
};

type Options = {
  intervalMs: number;
  /**
   * The most concurrent polls. Far more than needed on average, since a slow server occupies a poll for a long time.
   */
  maxRunning: number;
  /**
   * Must not reject.
   * @param isTarget whether the target is still polled at this address.
   */
  poll: (target: PollTarget, isTarget: () => boolean) => Promise<void>;
};

/** `isBusy` from the moment it waits for a free poll until that poll has ended. */
type Entry = { target: PollTarget; dueAt: number; isBusy: boolean };

/** Polls started in one iteration of the event loop, to keep it well below 20 ms. */
const STARTS_PER_ITERATION = 8;
/** Each moment of polls costs a write, and a read in every process. */
const PHASES = 4;

/**
 * Polls each target once per interval, in one of a few phases by its id, so that polls are spread over the interval. A
 * target is never polled twice at once: a poll is skipped while the previous one is running, and after one that began
 * less than half an interval before.
 */
export function createPollSchedule({ intervalMs, maxRunning, poll }: Options): PollSchedule {
  const entries = new Map<number, Entry>();
  const queue: Entry[] = [];
  const running = new Set<Promise<void>>();
  let isStarting = false;
  /** The number of phases so far. */
  let now = 0;
  const timer = setInterval(() => {
    now += 1;
    for (const entry of entries.values()) {
      const isDue = (entry.target.id - now) % PHASES === 0 && now - entry.dueAt > PHASES / 2;
      if (isDue && !entry.isBusy) enqueue(entry);
    }
  }, intervalMs / PHASES);

  function enqueue(entry: Entry): void {
    entry.dueAt = now;
    entry.isBusy = true;
    queue.push(entry);
    startSoon();
  }

  function startSoon(): void {
    if (isStarting || queue.length === 0 || running.size >= maxRunning) return;
    isStarting = true;
    setImmediate(() => {
      isStarting = false;
      for (let startCount = 0; startCount < STARTS_PER_ITERATION && running.size < maxRunning; startCount++) {
        const entry = queue.shift();
        if (!entry) return;
        if (isTarget(entry)) start(entry);
      }
      startSoon();
    });
  }

  /** False for an entry that was removed, or replaced when its address changed. */
  function isTarget(entry: Entry): boolean {
    return entries.get(entry.target.id) === entry;
  }

  function start(entry: Entry): void {
    const work = poll(entry.target, () => isTarget(entry)).then(() => {
      entry.isBusy = false;
      running.delete(work);
      startSoon();
    });
    running.add(work);
  }

  return {
    setTargets: (targets) => {
      const ids = new Set(targets.map(({ id }) => id));
      for (const id of [...entries.keys()]) if (!ids.has(id)) entries.delete(id);
      for (const target of targets) {
        const current = entries.get(target.id);
        if (current?.target.address === target.address) {
          current.target = target;
          continue;
        }
        const entry = { target, dueAt: now, isBusy: false };
        entries.set(target.id, entry);
        enqueue(entry);
      }
    },
    counts: () => ({ targets: entries.size, running: running.size, waiting: queue.length }),
    stop: async () => {
      clearInterval(timer);
      entries.clear();
      queue.length = 0;
      await Promise.all(running);
    },
  };
}
