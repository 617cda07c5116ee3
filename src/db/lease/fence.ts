import { Unavailable } from '../../domain/errors.ts';
import { type Connection, connectionOf, type Db, openDrizzle } from '../client.ts';
import { wrapConnection } from '../lazy-query.ts';
import { isTokenCurrent, type LeaseName } from './lease-row.ts';

/**
 * The same database for the work of a leader: every statement and transaction first checks that no other process has
 * taken over, and prevents that until it is committed.
 * @param token the lease's token when the work began.
 * @throws {Unavailable} from queries after another process has taken over: they write nothing.
 */
export function fenceDatabase(db: Db, name: LeaseName, token: number): Db {
  const connection = connectionOf(db);
  const check = async (transaction: Pick<Connection, 'unsafe'>) => {
    if (await isTokenCurrent(transaction, name, token)) return;
    throw new Unavailable(`Another process runs this part now: ${name}`);
  };
  return openDrizzle(
    wrapConnection(connection, {
      runQuery: async (ask) => {
        // The driver would await the elements of an array one by one, hence the object.
        const { rows } = await connection.begin(async (transaction) => {
          await check(transaction);
          return { rows: await ask(transaction) };
        });
        return rows;
      },
      runTransaction: async (ask) => ask(withCheck(connection, check)),
    }),
  );
}

/** The connection with transactions that begin with the check. */
function withCheck(
  connection: Connection,
  check: (transaction: Pick<Connection, 'unsafe'>) => Promise<void>,
): Connection {
  return new Proxy(connection, {
    get: (target, name) => {
      if (name !== 'begin') return Reflect.get(target, name);
      return (...args: unknown[]) => {
        const work = args.pop();
        if (typeof work !== 'function') throw new TypeError('a transaction needs work');
        const checked = async (transaction: Pick<Connection, 'unsafe'>) => {
          await check(transaction);
          return work(transaction);
        };
        return Reflect.apply(target.begin, target, [...args, checked]);
      };
    },
  });
}
