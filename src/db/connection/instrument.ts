import { type Connection, nameOfStatement } from '../client.ts';
import type { Work } from './pool.ts';

/** Called with the name and duration of each query; a whole transaction counts as one, named `transaction`. */
export type OnQuery = (name: string, seconds: number) => void;

/** Runs a statement or transaction: on which connection, how often, and for how long somebody waits. */
export type Run = <T>(work: Work<T>) => Promise<T>;

type Arguments = Parameters<Connection['unsafe']>;

/**
 * Passes the statements and transactions of a connection through `run`, and times them with the wait for a connection:
 * `unsafe` and `begin` are the only parts of it that Drizzle and `selectFrom` use. What `unsafe` returns can only be
 * awaited, as objects or with `.values()` as arrays; the statement is sent when it is awaited.
 */
export function instrument(
  connection: Connection,
  { run, onQuery }: { run: Run; onQuery?: OnQuery | undefined },
): Connection {
  const time = <T>(work: Work<T>, nameIt: () => string): Promise<T> => {
    const startedMs = performance.now();
    const result = run(work);
    if (!onQuery) return result;
    const end = () => onQuery(nameIt(), (performance.now() - startedMs) / 1000);
    // Not an async function, which would add 4 µs to a short query of 100 µs.
    result.then(end, end);
    return result;
  };
  const unsafe = (text: Arguments[0], parameters: Arguments[1], options: Arguments[2]) => {
    const nameIt = () => nameOfStatement(text);
    return {
      // biome-ignore lint/suspicious/noThenProperty: like the driver's own queries, it is sent when it is awaited.
      then: <A, B>(onResult?: (rows: unknown) => A, onError?: (error: unknown) => B) =>
        time((sql) => sql.unsafe(text, parameters, options), nameIt).then(onResult, onError),
      values: () => time((sql) => sql.unsafe(text, parameters, options).values(), nameIt),
    };
  };
  const begin = (...args: unknown[]) =>
    time(
      (sql) => Promise.resolve(Reflect.apply(sql.begin, sql, args)),
      () => 'transaction',
    );
  return new Proxy(connection, {
    get: (target, name) => {
      if (name === 'unsafe') return unsafe;
      if (name === 'begin') return begin;
      return Reflect.get(target, name);
    },
  });
}
