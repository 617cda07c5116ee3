import { withTimeLimit } from '../../runtime/time-limit.ts';
import type { Connection } from '../client.ts';
import { type RunQuery, wrapConnection } from '../lazy-query.ts';
import type { Replica } from './replica.ts';

type Options = {
  primary: Connection;
  /** Chosen anew for each query or transaction; undefined for the primary. */
  pick: () => Replica | undefined;
  /** A read failed on a replica or came late, and is asked again. */
  onRepeat: () => void;
};

/** A query by key takes a millisecond: after this, the replica hangs or is overloaded. */
const PATIENCE_MS = 250;

/**
 * A connection for reads alone. Each query or whole transaction goes to a replica; one that fails there, for whatever reason
 * (a recovery conflict too), or has not come after 250 ms, is asked again on the primary.
 */
export function routeReads({ primary, pick, onRepeat }: Options): Connection {
  const read: RunQuery = async (ask) => {
    const replica = pick();
    if (!replica) return ask(primary);
    try {
      return await withTimeLimit(Promise.resolve(ask(replica.pool())), PATIENCE_MS);
    } catch (error) {
      replica.noteFailure(error);
      onRepeat();
      return ask(primary);
    }
  };
  return wrapConnection(primary, { runQuery: read, runTransaction: read });
}
