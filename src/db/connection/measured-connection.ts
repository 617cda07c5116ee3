import type { Connection } from '../client.ts';
import { type RunQuery, wrapConnection } from '../lazy-query.ts';
import { nameOfStatement } from './statement-names.ts';

/** Called with the name and duration of each query; a whole transaction counts as one, named `transaction`. */
export type OnQuery = (name: string, seconds: number) => void;

export type PoolLoad = {
  /** Connections that run a query or a transaction. */
  inUse: number;
  /** Queries and transactions that wait for a connection. */
  waiting: number;
  max: number;
};

/** Counts what runs on a pool; whatever exceeds its number of connections is waiting. */
export function countLoad(
  connection: Connection,
  max: number,
): { counted: Connection; load: () => PoolLoad } {
  let running = 0;
  const run: RunQuery = async (ask) => {
    running += 1;
    try {
      return await ask(connection);
    } finally {
      running -= 1;
    }
  };
  return {
    counted: wrapConnection(connection, { runQuery: run, runTransaction: run }),
    load: () => ({ inUse: Math.min(running, max), waiting: Math.max(running - max, 0), max }),
  };
}

/** Times the queries of a connection, including the wait for a free connection. */
export function timeQueries(connection: Connection, onQuery: OnQuery): Connection {
  const time = async <T>(name: string, work: PromiseLike<T>): Promise<T> => {
    const startedMs = performance.now();
    try {
      return await work;
    } finally {
      onQuery(name, (performance.now() - startedMs) / 1000);
    }
  };
  return wrapConnection(connection, {
    runQuery: (ask, statement) => time(nameOfStatement(statement), ask(connection)),
    runTransaction: (ask) => time('transaction', ask(connection)),
  });
}
