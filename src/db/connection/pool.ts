import type { Connection } from '../client.ts';

/** A statement or a whole transaction. */
export type Work<T> = (connection: Connection) => PromiseLike<T>;

/** Work that was handed to a pool. */
export type Ticket<T> = {
  promise: Promise<T>;
  /** Nobody waits for it any more: a statement is canceled; a transaction goes on, and may still commit. */
  giveUp: () => void;
};

/** The connections to one server. */
export type Pool = {
  submit: <T>(work: Work<T>) => Ticket<T>;
  load: () => PoolLoad;
};

export type PoolLoad = {
  /** Connections that run a statement or a transaction. */
  inUse: number;
  /** Statements and transactions that wait for a connection. */
  waiting: number;
  max: number;
};

const LOOK_EVERY_MS = 50;

/** Counts the work of a driver's pool of `max` connections, and lets it be given up. */
export function createPool(connection: Connection, max: number): Pool {
  let running = 0;
  return {
    submit: <T>(work: Work<T>): Ticket<T> => {
      let isSettled = false;
      const settle = () => {
        isSettled = true;
        running -= 1;
      };
      running += 1;
      const query = work(connection);
      const promise = Promise.resolve(query);
      promise.then(settle, settle);
      return { promise, giveUp: () => isStatement(query) && cancel(query, () => isSettled) };
    },
    load: () => ({ inUse: Math.min(running, max), waiting: Math.max(running - max, 0), max }),
  };
}

/** The driver's own; `state` is null until it was sent, and `active` while the server works on it. */
type Statement = { cancel: () => void; state: unknown; active: boolean };

const isStatement = (query: object): query is Statement => 'cancel' in query;

/**
 * Cancels a statement that was not sent, or that runs at two looks in a row. One that waits behind another is canceled in
 * its turn, and one that is about to end is left alone: a cancel request goes to the connection, and would hit the next
 * statement there.
 */
function cancel(statement: Statement, isSettled: () => boolean): void {
  if (!statement.state) {
    statement.cancel();
    return;
  }
  let wasActive = false;
  const timer = setInterval(() => {
    const { active } = statement;
    if (active && wasActive) statement.cancel();
    if (isSettled() || (active && wasActive)) clearInterval(timer);
    wasActive = active;
  }, LOOK_EVERY_MS);
}
