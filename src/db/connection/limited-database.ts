import { connectionOf, type Db, openDrizzle } from '../client.ts';
import { type RunQuery, wrapConnection } from '../lazy-query.ts';
import type { WaitLimit } from './wait-limit.ts';

/**
 * The same database for callers that wait only so long for each query or whole transaction.
 * What they no longer wait for goes on: a write may still take effect.
 */
export function withWaitLimit(db: Db, limit: WaitLimit): Db {
  const connection = connectionOf(db);
  const run: RunQuery = (ask) => limit(() => Promise.resolve(ask(connection)));
  return openDrizzle(wrapConnection(connection, { runQuery: run, runTransaction: run }));
}
