import type { Connection } from './client.ts';

type QueryTarget = Pick<Connection, 'unsafe'>;

/** Runs a query or transaction: it decides on which connection, when and how often `ask` is called. */
export type RunQuery = <T>(ask: (connection: Connection) => PromiseLike<T>) => Promise<T>;

/** How single queries and whole transactions are run. */
type Runners = {
  runQuery: <T>(ask: (target: QueryTarget) => PromiseLike<T>, statement: string) => Promise<T>;
  runTransaction: RunQuery;
};

/**
 * Intercepts the queries and transactions of a connection: the only parts of it that Drizzle and `selectFrom` use. What
 * `unsafe` returns can only be awaited, as objects or with `.values()` as arrays; the query is sent when it is awaited.
 */
export function wrapConnection(connection: Connection, { runQuery, runTransaction }: Runners): Connection {
  const lazily = <T>(statement: string, ask: (target: QueryTarget) => PromiseLike<T>) => ({
    // biome-ignore lint/suspicious/noThenProperty: like the driver's own queries, it is sent when it is awaited.
    then: (...callbacks: Parameters<Promise<T>['then']>) => runQuery(ask, statement).then(...callbacks),
  });
  const unsafe = (...args: Parameters<Connection['unsafe']>) => ({
    ...lazily(args[0], (target) => target.unsafe(...args)),
    values: () => lazily(args[0], (target) => target.unsafe(...args).values()),
  });
  const begin = (...args: unknown[]) =>
    runTransaction((chosen) => Promise.resolve(Reflect.apply(chosen.begin, chosen, args)));
  return new Proxy(connection, {
    get: (target, name) => {
      if (name === 'unsafe') return unsafe;
      if (name === 'begin') return begin;
      return Reflect.get(target, name);
    },
  });
}
