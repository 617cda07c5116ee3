import { runAs, tryCurrentRequest } from '../../runtime/request.ts';
import { type Connection, nameOfStatement, type Transaction } from '../client.ts';
import type { Work } from './pool.ts';

/** Called with the name and duration of each query; a whole transaction counts as one, named `transaction`. */
export type OnQuery = (name: string, seconds: number) => void;

/** Runs a statement or transaction: on which connection, how often, and for how long somebody waits. */
export type Run = <T>(work: Work<T>) => Promise<T>;

type Arguments = Parameters<Connection['unsafe']>;

/** Whether a statement may write; one that only reads may look like it, such as a search for the text "update". */
const WRITES = /\b(?:insert|update|delete)\b/i;

/**
 * Passes the statements and transactions of a connection through `run`, and times them with the wait for a connection:
 * `unsafe` and `begin` are the only parts of it that Drizzle and `selectFrom` use. What `unsafe` returns can only be
 * awaited, as objects or with `.values()` as arrays; the statement is sent when it is awaited.
 */
export function instrument(
  connection: Connection,
  { run, onQuery }: { run: Run; onQuery: OnQuery },
): Connection {
  const time = <T>(work: Work<T>): Promise<T> => {
    // It would wait for a connection while its transaction holds one: enough of them would wait for each other for ever.
    if (tryCurrentRequest()?.isInTransaction) throw new Error('use the handle of the open transaction');
    const startedMs = performance.now();
    const result = run(work);
    const end = () => onQuery(work.name, (performance.now() - startedMs) / 1000);
    // Not an async function, which would add 4 µs to a short query of 100 µs.
    result.then(end, end);
    return result;
  };
  const unsafe = (text: Arguments[0], parameters: Arguments[1], options: Arguments[2]) => {
    const kind = options?.prepare === true ? 'prepared' : 'other';
    const statement = { name: nameOfStatement(text), kind, mayWrite: () => WRITES.test(text) } as const;
    return {
      // biome-ignore lint/suspicious/noThenProperty: like the driver's own queries, it is sent when it is awaited.
      then: <A, B>(onResult?: (rows: unknown) => A, onError?: (error: unknown) => B) =>
        time({ ...statement, run: (sql) => sql.unsafe(text, parameters, options) }).then(onResult, onError),
      values: () => time({ ...statement, run: (sql) => sql.unsafe(text, parameters, options).values() }),
    };
  };
  const begin = <T>(body: (transaction: Transaction) => Promise<T>) => {
    // The end of another request's work may start the body, in the context of that request.
    const request = tryCurrentRequest();
    const inside = request && { ...request, isInTransaction: true };
    return time({
      name: 'transaction',
      kind: 'transaction',
      mayWrite: () => true,
      run: (sql) => sql.begin((transaction) => runAs(inside, () => body(transaction))),
    });
  };
  const replaced = new Map<PropertyKey, unknown>(Object.entries({ unsafe, begin }));
  return new Proxy(connection, { get: (target, name) => replaced.get(name) ?? Reflect.get(target, name) });
}
