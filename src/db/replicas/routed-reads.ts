import { withTimeLimit } from '../../runtime/time-limit.ts';
import type { Connection } from '../client.ts';
import { type RunQuery, wrapConnection } from '../lazy-query.ts';
import type { Replica } from './replica.ts';

type Options = {
  primary: Connection;
  /** Called for each query or transaction; undefined means the primary. */
  pick: () => Replica | undefined;
  /** Called when a read failed or timed out on a replica and is repeated. */
  onRepeat: () => void;
};

/** A query by key takes a millisecond: after this, the replica hangs or is overloaded. */
const READ_LIMIT_MS = 250;

/**
 * A connection for reads only. Each query or whole transaction goes to a replica; one that fails there for any reason
 * (including a recovery conflict), or takes more than 250 ms, is repeated on the primary.
 */
export function routeReads({ primary, pick, onRepeat }: Options): Connection {
  const read: RunQuery = async (ask) => {
    const replica = pick();
    if (!replica) return ask(primary);
    try {
      return await withTimeLimit(Promise.resolve(ask(replica.pool())), READ_LIMIT_MS);
    } catch (error) {
      replica.noteFailure(error);
      onRepeat();
      return ask(primary);
    }
  };
  return wrapConnection(primary, { runQuery: read, runTransaction: read });
}
