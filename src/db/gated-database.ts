import { type Connection, connectionOf, type Db, openDrizzle } from './client.ts';
import type { Gate } from './gate.ts';

type Query = ReturnType<Connection['unsafe']>;

/**
 * The same database for callers that wait only as long as the gate lets them, for each query or whole transaction.
 * What they no longer wait for goes on: a write may still take effect.
 */
export function throughGate(db: Db, gate: Gate): Db {
  return openDrizzle(
    new Proxy(connectionOf(db), {
      get: (connection, name) => {
        if (name === 'unsafe') {
          return (...args: Parameters<typeof connection.unsafe>) => waitAt(gate, connection.unsafe(...args));
        }
        if (name === 'begin') {
          return (...args: unknown[]) => gate(() => Reflect.apply(connection.begin, connection, args));
        }
        return Reflect.get(connection, name);
      },
    }),
  );
}

/** The driver sends a query when it is first awaited; until then it may be told to give bare values. */
function waitAt<T extends Query | ReturnType<Query['values']>>(gate: Gate, query: T): T {
  return new Proxy(query, {
    get: (waiting, name) => {
      if (name === 'then') {
        return (...callbacks: Parameters<Promise<unknown>['then']>) =>
          gate(() => Promise.resolve(waiting)).then(...callbacks);
      }
      if (name === 'values' && 'values' in waiting) return () => waitAt(gate, waiting.values());
      return Reflect.get(waiting, name);
    },
  });
}
