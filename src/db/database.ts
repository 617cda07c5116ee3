import { type Connection, connect, type Db, openDrizzle } from './client.ts';
import { countLoad, type OnQuery, type PoolLoad, timeQueries } from './connection/measured-connection.ts';
import type { ReplicaState } from './replicas/replica.ts';
import { openReplicas } from './replicas/replicas.ts';
import { routeReads } from './replicas/routed-reads.ts';

export type Database = {
  /** Reads and writes. */
  db: Db;
  /**
   * List and lookup queries: a read replica while a fresh one responds, else the primary. What is not done within
   * 250 ms is asked a second time: reads that take longer belong on `db`.
   */
  replica: Db;
  /** The same for what people change themselves (accounts, links, sounds): a replica once it has the newest such change. */
  accountReplica: Db;
  /** An account or sound was changed, by whatever process. */
  noteAccountChange: () => void;
  /** How each read replica is. */
  replicaStates: () => ReplicaState[];
  /** How busy the pool of the primary is. */
  poolLoad: () => PoolLoad;
  connection: Connection;
  /** The primary's address, for parts that need a connection of their own. */
  url: string;
  /** Waits for running queries, at most `timeoutSeconds` (5 by default). */
  close: (options?: { timeoutSeconds?: number }) => Promise<void>;
};

type OpenOptions = {
  /** Read one after another. */
  replicaUrls?: readonly string[];
  /** Connections to each server; 16 by default. */
  max?: number;
  /** Called when a replica is read, no longer read, or cannot be read from the start. */
  onReplicaChange?: (state: ReplicaState) => void;
  /** A read failed on a replica or came late, and is asked again on the primary. */
  onRepeatedRead?: () => void;
  onQuery?: OnQuery;
};

/** Opens the primary and its read replicas. To the primary no connection is made before the first query. */
export function openDatabase(
  url: string,
  {
    replicaUrls = [],
    max = 16,
    onReplicaChange = () => {},
    onRepeatedRead = () => {},
    onQuery = () => {},
  }: OpenOptions = {},
): Database {
  const connection = connect(url, { max });
  const { counted, load } = countLoad(connection, max);
  const db = openDrizzle(timeQueries(counted, onQuery));
  const replicas = openReplicas(url, replicaUrls, { max, onChange: onReplicaChange });
  const openReads = (pick: typeof replicas.pick) =>
    replicaUrls.length === 0
      ? db
      : openDrizzle(timeQueries(routeReads({ primary: counted, pick, onRepeat: onRepeatedRead }), onQuery));
  return {
    db,
    replica: openReads(replicas.pick),
    accountReplica: openReads(replicas.pickForAccounts),
    noteAccountChange: replicas.noteAccountChange,
    replicaStates: replicas.states,
    poolLoad: load,
    connection,
    url,
    close: async ({ timeoutSeconds = 5 } = {}) => {
      await Promise.all([connection.end({ timeout: timeoutSeconds }), replicas.close(timeoutSeconds)]);
    },
  };
}
