import { BACKGROUND, ClientLeft, currentRequest } from '../runtime/request.ts';
import { type Connection, connect, type Db, openDrizzle, type Reads, type RequestDb } from './client.ts';
import { instrument, type OnQuery, type Run } from './connection/instrument.ts';
import { ask, createPool, openProbe, openRequestPool, type PoolLoad, sumLoads } from './connection/pool.ts';
import { openReplicas, READ_LIMIT_MS, type ReplicaState } from './replicas.ts';

export type Database = {
  /** The primary, for work in the background, such as filling caches. */
  db: Db;
  /** The same for requests and interactions, each of which waits at most four seconds in all and has a fair share. */
  requestDb: RequestDb;
  /**
   * For lists and lookups of the API, which may be five seconds old: a read replica while there is a fresh one, otherwise
   * the primary. A read that fails on a replica, or takes two seconds, is repeated on the primary.
   */
  reads: Reads;
  /** The state of each read replica. */
  replicaStates: () => ReplicaState[];
  /** The load of all connections to the primary. */
  poolLoad: () => PoolLoad;
  /** For LISTEN, which has a separate connection. */
  connection: Connection;
  /** Asks the primary for a response, on a connection that nothing else keeps busy. Rejects after a second. */
  ping: () => Promise<unknown>;
  /** The primary's address, for parts that need a separate connection. */
  url: string;
  /** Waits for running queries, at most `timeoutSeconds` (5 by default). */
  close: (options?: { timeoutSeconds?: number }) => Promise<void>;
};

type OpenOptions = {
  /** Reads are spread over them in turn. */
  replicaUrls?: readonly string[];
  /** Connections of `db`; 2 by default. */
  max?: number;
  /** Called when a replica begins or stops being used, or is unusable from the start. */
  onReplicaChange?: (state: ReplicaState) => void;
  /** Called when a read failed or timed out on a replica and is repeated on the primary. */
  onRepeatedRead?: () => void;
  onQuery?: OnQuery;
};

/** Less than a request waits, so that a live server has responded by then. */
const REQUEST_STATEMENT_MS = 3500;

/** Opens the primary and its read replicas. The primary is not connected to before the first query. */
export function openDatabase(
  url: string,
  {
    replicaUrls = [],
    max = 2,
    onReplicaChange = () => {},
    onRepeatedRead = () => {},
    onQuery = () => {},
  }: OpenOptions = {},
): Database {
  const background = createPool(url, { max });
  const requests = openRequestPool(url, REQUEST_STATEMENT_MS);
  const health = openProbe(url, 'health');
  const connection = connect(url, { max });
  const replicas = openReplicas(url, replicaUrls, onReplicaChange);
  const open = (run: Run) => openDrizzle(instrument(connection, { run, onQuery }));

  const runOnReplica: Run = async (work) => {
    const request = currentRequest();
    const replica = replicas.pick();
    if (!replica) return requests.submit(work, request);
    const deadlineMs = Math.min(request.deadlineMs, performance.now() + READ_LIMIT_MS);
    try {
      return await replica.submit(work, { ...request, deadlineMs });
    } catch (error) {
      if (error instanceof ClientLeft) throw error;
      onRepeatedRead();
      return requests.submit(work, request);
    }
  };

  const requestDb = open((work) => requests.submit(work, currentRequest())) as RequestDb;
  return {
    db: open((work) => background.submit(work, BACKGROUND)),
    requestDb,
    reads: replicaUrls.length > 0 ? open(runOnReplica) : requestDb,
    replicaStates: replicas.states,
    poolLoad: () => sumLoads([background, requests]),
    connection,
    ping: () => ask(health, 'select 1'),
    url,
    close: async ({ timeoutSeconds = 5 } = {}) => {
      const closing = [background, requests, health, replicas].map((part) => part.close(timeoutSeconds));
      await Promise.all([...closing, connection.end({ timeout: timeoutSeconds })]);
    },
  };
}
