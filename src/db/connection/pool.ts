import { Unavailable } from '../../domain/errors.ts';
import type { Connection } from '../client.ts';

/** A statement or a whole transaction. */
export type Work<T> = (connection: Connection) => PromiseLike<T>;

/** Work that was handed to a pool. */
export type Ticket<T> = {
  promise: Promise<T>;
  /**
   * Nobody waits for it any more. What has not been sent is rejected, a running statement is canceled; a transaction
   * continues, and may still commit.
   */
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

/** Statements that the driver may have sent on each connection: fewer would cost twice the processor time under load. */
const SENT_AT_ONCE = 16;
const LOOK_EVERY_MS = 50;

/**
 * Hands work to a driver's pool of `max` connections; beyond {@link SENT_AT_ONCE} for each of them it waits here, in order,
 * where it can still be dropped.
 * The driver's own queue would not do: it never opens a connection whose first statement was canceled while it connected.
 */
export function createPool(connection: Connection, max: number): Pool {
  const waiters = new Set<() => void>();
  let sentQueries = 0;

  const settle = (): void => {
    sentQueries -= 1;
    const [begin] = waiters;
    if (!begin) return;
    waiters.delete(begin);
    begin();
  };

  return {
    submit: <T>(work: Work<T>): Ticket<T> => {
      const { promise, resolve, reject } = Promise.withResolvers<T>();
      let query: PromiseLike<T> | undefined;
      let isSettled = false;
      const begin = () => {
        sentQueries += 1;
        query = work(connection);
        const end = () => {
          isSettled = true;
          settle();
        };
        query.then(end, end);
        query.then(resolve, reject);
      };
      if (sentQueries < max * SENT_AT_ONCE) begin();
      else waiters.add(begin);
      return {
        promise,
        giveUp: () => {
          if (waiters.delete(begin))
            reject(new Unavailable('The database is unreachable: try again shortly'));
          else if (isStatement(query)) cancelWhenRunning(query, () => isSettled);
        },
      };
    },
    load: () => {
      const inUse = Math.min(sentQueries, max);
      return { inUse, waiting: sentQueries - inUse + waiters.size, max };
    },
  };
}

type Statement = { cancel: () => void };

const isStatement = (query: object | undefined): query is Statement =>
  query !== undefined && 'cancel' in query;

/**
 * Cancels a statement that runs at two looks in a row. One that waits behind another is canceled in its turn, and one
 * that is about to end is not canceled: a cancel request goes to the connection, and would hit the next statement there.
 */
function cancelWhenRunning(statement: Statement, isSettled: () => boolean): void {
  let wasRunning = false;
  const timer = setInterval(() => {
    const isRunning = Reflect.get(statement, 'active') === true;
    if (isRunning && wasRunning) statement.cancel();
    if (isSettled() || (isRunning && wasRunning)) clearInterval(timer);
    wasRunning = isRunning;
  }, LOOK_EVERY_MS);
}
