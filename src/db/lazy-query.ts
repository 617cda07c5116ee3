import type { Connection } from './client.ts';

type QueryTarget = Pick<Connection, 'unsafe'>;
type Arguments = Parameters<Connection['unsafe']>;

/** Runs a query or transaction: it decides on which connection, when and how often `ask` is called. */
export type RunQuery = <T>(ask: (connection: Connection) => PromiseLike<T>) => PromiseLike<T>;

/** How single queries and whole transactions are run. */
type Runners = {
  runQuery: <T>(ask: (target: QueryTarget) => PromiseLike<T>, statement: string) => PromiseLike<T>;
  runTransaction: RunQuery;
};

/**
 * Intercepts the queries and transactions of a connection: the only parts of it that Drizzle and `selectFrom` use. What
 * `unsafe` returns can only be awaited, as objects or with `.values()` as arrays; the query is sent when it is awaited.
 */
export function wrapConnection(connection: Connection, { runQuery, runTransaction }: Runners): Connection {
  const unsafe = (text: Arguments[0], parameters: Arguments[1], options: Arguments[2]) => {
    const askThen =
      <T>(ask: (target: QueryTarget) => PromiseLike<T>): PromiseLike<T>['then'] =>
      (onResult, onError) =>
        runQuery(ask, text).then(onResult, onError);
    return {
      // biome-ignore lint/suspicious/noThenProperty: like the driver's own queries, it is sent when it is awaited.
      then: askThen((target) => target.unsafe(text, parameters, options)),
      values: () => ({
        // biome-ignore lint/suspicious/noThenProperty: as above.
        then: askThen((target) => target.unsafe(text, parameters, options).values()),
      }),
    };
  };
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
