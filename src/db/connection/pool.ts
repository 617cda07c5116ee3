import { Unavailable } from '../../domain/errors.ts';
import type { Connection } from '../client.ts';

/** A statement or a whole transaction. */
export type Work<T> = (connection: Connection) => PromiseLike<T>;

/** Work that was handed to a pool. */
export type Ticket<T> = {
  promise: Promise<T>;
  /**
   * Nobody waits for it any more. What has not been sent is rejected, a running statement is canceled; a transaction
   * goes on, and may still commit.
   */
  giveUp: () => void;
};

/** A pool's connections, each of which runs one statement or transaction at a time; the others wait here, in order. */
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

/**
 * Hands work to a driver's pool of `max` connections. The driver by itself would send statements on connections that are
 * busy, where one that is canceled may hit the next one, and a slow one holds up the others.
 */
export function createPool(connection: Connection, max: number): Pool {
  const waiting = new Set<() => void>();
  let inUse = 0;

  const release = (): void => {
    inUse -= 1;
    const [begin] = waiting;
    if (!begin) return;
    waiting.delete(begin);
    begin();
  };

  return {
    submit: <T>(work: Work<T>): Ticket<T> => {
      const { promise, resolve, reject } = Promise.withResolvers<T>();
      let query: PromiseLike<T> | undefined;
      const begin = () => {
        inUse += 1;
        query = work(connection);
        query.then(
          (result) => {
            release();
            resolve(result);
          },
          (error) => {
            release();
            reject(error);
          },
        );
      };
      if (inUse < max) begin();
      else waiting.add(begin);
      const giveUp = () => {
        if (waiting.delete(begin)) reject(new Unavailable('The database is unreachable: try again shortly'));
        else if (isRunningStatement(query)) query.cancel();
      };
      return { promise, giveUp };
    },
    load: () => ({ inUse, waiting: waiting.size, max }),
  };
}

/** Whether the server has it: the driver loses a connection when a statement is canceled that waits for its opening. */
function isRunningStatement(query: object | undefined): query is { cancel: () => void } {
  return query !== undefined && 'cancel' in query && Reflect.get(query, 'active') === true;
}
