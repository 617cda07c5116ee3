import type { Connection } from '../client.ts';
import { type RunQuery, wrapConnection } from '../lazy-query.ts';
import { nameOfStatement } from './statement-names.ts';

/** Told how long a query took, by its name; a transaction is one, called `transaction`. */
export type OnQuery = (name: string, seconds: number) => void;

export type PoolLoad = {
  /** Connections that run a query or a transaction. */
  inUse: number;
  /** Queries and transactions that wait for a connection. */
  waiting: number;
  max: number;
};

/** A pool whose load is known: what runs beyond its connections waits. */
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

/** A connection whose queries are timed, from when they are asked: waiting for a connection is in it. */
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
