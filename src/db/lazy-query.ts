import type { Connection } from './client.ts';

type Query = ReturnType<Connection['unsafe']>;
type Values = ReturnType<Query['values']>;
type QueryTarget = Pick<Connection, 'unsafe'>;

/** Runs a query or transaction: it decides on which connection, when and how often `ask` is called. */
export type RunQuery = <T>(ask: (connection: Connection) => PromiseLike<T>) => Promise<T>;

/** How single queries and whole transactions are run. */
type Runners = {
  runQuery: <T>(ask: (target: QueryTarget) => PromiseLike<T>, statement: string) => Promise<T>;
  runTransaction: RunQuery;
};

/** Intercepts the queries and transactions of a connection: the only parts of it that Drizzle and `selectFrom` use. */
export function wrapConnection(connection: Connection, { runQuery, runTransaction }: Runners): Connection {
  return new Proxy(connection, {
    get: (target, name) => {
      if (name === 'unsafe') {
        return (...args: Parameters<typeof connection.unsafe>) => {
          const query = connection.unsafe(...args);
          let isSent = false;
          const askOn = (chosen: QueryTarget) => {
            // A query is sent once, and each costs microseconds to make: on its own connection this one is sent.
            if (chosen !== connection || isSent) return chosen.unsafe(...args);
            isSent = true;
            return query;
          };
          return wrapQuery(query, (ask) => runQuery(ask, args[0]), askOn);
        };
      }
      if (name === 'begin') {
        return (...args: unknown[]) =>
          runTransaction((chosen) => Promise.resolve(Reflect.apply(chosen.begin, chosen, args)));
      }
      return Reflect.get(target, name);
    },
  });
}

/** The driver sends a query when it is first awaited; until then `.values()` may switch it to rows as arrays. */
function wrapQuery<T extends Query | Values>(
  query: T,
  runQuery: <Result>(ask: (target: QueryTarget) => PromiseLike<Result>) => Promise<Result>,
  askOn: (target: QueryTarget) => Query | Values,
): T {
  return new Proxy(query, {
    get: (waiting, name) => {
      if (name === 'then') {
        return (...callbacks: Parameters<Promise<unknown>['then']>) =>
          runQuery<unknown>(askOn).then(...callbacks);
      }
      if (name === 'values' && 'values' in waiting) {
        return () => wrapQuery(waiting.values(), runQuery, (chosen) => toValues(askOn(chosen)));
      }
      return Reflect.get(waiting, name);
    },
  });
}

function toValues(query: Query | Values): Values {
  return 'values' in query ? query.values() : query;
}
