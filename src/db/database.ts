import { type Connection, connect, type Db, openDrizzle } from './client.ts';
import {
  createLoadCounter,
  measureConnection,
  type OnQuery,
  type PoolLoad,
} from './connection/measured-connection.ts';
import type { ReplicaState } from './replicas/replica.ts';
import { openReplicas, type Replicas } from './replicas/replicas.ts';
import { routeReads } from './replicas/routed-reads.ts';

export type Database = {
  /** Reads and writes. */
  db: Db;
  /**
   * For list and lookup queries: a read replica while one is fresh and responds, otherwise the primary. A read that takes
   * more than 250 ms on a replica is repeated on the primary: longer reads belong on `db`.
   */
  replica: Db;
  /** The same for data that users change themselves (accounts, links, sounds): only replicas that have the newest change. */
  accountReplica: Db;
  /** Notes that an account or sound was changed, by any process. */
  noteAccountChange: () => void;
  /** The state of each read replica. */
  replicaStates: () => ReplicaState[];
  /** The load of the pool on the primary. */
  poolLoad: () => PoolLoad;
  connection: Connection;
  /** The primary's address, for parts that need a connection of their own. */
  url: string;
  /** Waits for running queries, at most `timeoutSeconds` (5 by default). */
  close: (options?: { timeoutSeconds?: number }) => Promise<void>;
};

type OpenOptions = {
  /** Reads are spread over them in turn. */
  replicaUrls?: readonly string[];
  /** Connections to each server; 16 by default. */
  max?: number;
  /** Called when a replica begins or stops being used, or is unusable from the start. */
  onReplicaChange?: (state: ReplicaState) => void;
  /** Called when a read failed or timed out on a replica and is repeated on the primary. */
  onRepeatedRead?: () => void;
  onQuery?: OnQuery;
};

/** Opens the primary and its read replicas. The primary is not connected to before the first query. */
export function openDatabase(
  url: string,
  {
    replicaUrls = [],
    max = 16,
    onReplicaChange = () => {},
    onRepeatedRead = () => {},
    onQuery,
  }: OpenOptions = {},
): Database {
  const connection = connect(url, { max });
  const counter = createLoadCounter(max);
  const db = openDrizzle(measureConnection(connection, { counter, onQuery }));
  const replicas = openReplicas(url, replicaUrls, { max, onChange: onReplicaChange });
  const openReads = (pick: Replicas['pick']) => {
    if (replicaUrls.length === 0) return db;
    const primary = measureConnection(connection, { counter });
    return openDrizzle(
      measureConnection(routeReads({ primary, pick, onRepeat: onRepeatedRead }), { onQuery }),
    );
  };
  return {
    db,
    replica: openReads(replicas.pick),
    accountReplica: openReads(replicas.pickForAccounts),
    noteAccountChange: replicas.noteAccountChange,
    replicaStates: replicas.states,
    poolLoad: counter.load,
    connection,
    url,
    close: async ({ timeoutSeconds = 5 } = {}) => {
      await Promise.all([connection.end({ timeout: timeoutSeconds }), replicas.close(timeoutSeconds)]);
    },
  };
}
