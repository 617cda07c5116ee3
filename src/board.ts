import type { Logger } from 'pino';

/** A small table read whole and kept in memory, so that answers from it outlive an outage of the database. */
export type Board<T> = {
  /** As last read; the same value until something changed. */
  current: () => T;
  /** Reads again soon: something may have changed. */
  invalidate: () => void;
  /** Calls back with every new value. */
  onChange: (listener: (value: T) => void) => void;
  stop: () => void;
};

type Options<Rows, T> = {
  /** What the log calls it. */
  name: string;
  log: Logger;
  read: () => Promise<Rows>;
  /** Makes the value out of the rows; called only when they changed. */
  build: (rows: Rows) => T;
};

/** Notifications of one poll round come in a burst: they are answered by one read. */
const GATHER_MS = 100;
/** Read anyway this often, lest a lost notification leave the board behind for more than the 5 s of the contract. */
const REFRESH_MS = 2000;

/** Reads once, then whenever it is told to and every two seconds. @throws what the first read throws. */
export async function createBoard<Rows, T>({ name, log, read, build }: Options<Rows, T>): Promise<Board<T>> {
  const listeners = new Set<(value: T) => void>();
  const first = await read();
  let fingerprint = Bun.hash(JSON.stringify(first));
  let value = build(first);
  let pending: ReturnType<typeof setTimeout> | undefined;
  let isReading = false;
  let isFailing = false;

  async function refresh(): Promise<void> {
    if (isReading) return;
    isReading = true;
    try {
      const rows = await read();
      isFailing = false;
      const found = Bun.hash(JSON.stringify(rows));
      if (found === fingerprint) return;
      fingerprint = found;
      value = build(rows);
      for (const listener of listeners) listener(value);
    } catch (error) {
      if (!isFailing)
        log.warn({ err: error }, `the ${name} cannot be read: going on with what was read last`);
      isFailing = true;
    } finally {
      isReading = false;
    }
  }

  const timer = setInterval(refresh, REFRESH_MS);
  return {
    current: () => value,
    invalidate: () => {
      pending ??= setTimeout(() => {
        pending = undefined;
        void refresh();
      }, GATHER_MS);
    },
    onChange: (listener) => listeners.add(listener),
    stop: () => {
      clearInterval(timer);
      clearTimeout(pending);
    },
  };
}
