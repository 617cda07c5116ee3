import { connectionOf, type Db, openDrizzle } from '../client.ts';
import { type RunQuery, wrapConnection } from '../lazy-query.ts';
import type { WaitLimit } from './wait-limit.ts';

/**
 * The same database with a wait limit on each query and each whole transaction.
 * What exceeds it keeps running: a write may still take effect.
 */
export function withWaitLimit(db: Db, limit: WaitLimit): Db {
  const connection = connectionOf(db);
  const run: RunQuery = (ask) => limit(() => Promise.resolve(ask(connection)));
  return openDrizzle(wrapConnection(connection, { runQuery: run, runTransaction: run }));
}
