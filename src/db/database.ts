import { withTimeLimit } from '../runtime/time-limit.ts';
import { type Connection, connect, type Db, openDrizzle, type Reads } from './client.ts';
import { instrument, type OnQuery, type Run } from './connection/instrument.ts';
import { createPool, type Pool, type PoolLoad, type Ticket, type Work } from './connection/pool.ts';
import { createWaitLimit, REQUEST_LIMITS } from './connection/wait-limit.ts';
import { openReplicas, type ReplicaState } from './replicas.ts';

export type Database = {
  /** The primary, for whatever nobody waits for: reads, writes and what fills a cache. */
  db: Db;
  /** The same for requests and interactions, each of whose queries waits at most four seconds. */
  requestDb: Db;
  /**
   * For lists and lookups of the API, which may be five seconds old: a read replica while there is a fresh one, otherwise
   * the primary. A read that fails on a replica, or takes two seconds, is repeated on the primary.
   */
  reads: Reads;
  /** The state of each read replica. */
  replicaStates: () => ReplicaState[];
  /** The load of the pool on the primary. */
  poolLoad: () => PoolLoad;
  connection: Connection;
  /** Asks the primary for a response. */
  ping: () => Promise<unknown>;
  /** The primary's address, for parts that need a separate connection. */
  url: string;
  /** Waits for running queries, at most `timeoutSeconds` (5 by default). */
  close: (options?: { timeoutSeconds?: number }) => Promise<void>;
};

type OpenOptions = {
  /** Reads are spread over them in turn. */
  replicaUrls?: readonly string[];
  /** Connections to each server; 6 by default. */
  max?: number;
  /** Called when a replica begins or stops being used, or is unusable from the start. */
  onReplicaChange?: (state: ReplicaState) => void;
  /** Called when a read failed or timed out on a replica and is repeated on the primary. */
  onRepeatedRead?: () => void;
  onQuery?: OnQuery;
};

/** How long a read may take on a replica: half of what a request waits. */
const REPLICA_LIMIT_MS = 2000;

/** Opens the primary and its read replicas. The primary is not connected to before the first query. */
export function openDatabase(
  url: string,
  {
    replicaUrls = [],
    max = 6,
    onReplicaChange = () => {},
    onRepeatedRead = () => {},
    onQuery,
  }: OpenOptions = {},
): Database {
  const connection = connect(url, { max });
  const primary = createPool(connection, max);
  const replicas = openReplicas(url, replicaUrls, { max, onChange: onReplicaChange });
  const limitWait = createWaitLimit(REQUEST_LIMITS);
  const open = (run: Run) => openDrizzle(instrument(connection, { run, onQuery }));

  /** For queries that a request waits for: those that wait for too long are canceled, or never sent. */
  const runForRequest =
    (pickReplica: () => Pool | undefined): Run =>
    <T>(work: Work<T>) => {
      let ticket: Ticket<T> | undefined;
      const submitTo = (pool: Pool) => {
        ticket = pool.submit(work);
        return ticket.promise;
      };
      const giveUp = () => ticket?.giveUp();
      const submit = async () => {
        const replica = pickReplica();
        if (!replica) return submitTo(primary);
        try {
          return await withTimeLimit(submitTo(replica), REPLICA_LIMIT_MS);
        } catch {
          giveUp();
          onRepeatedRead();
          return submitTo(primary);
        }
      };
      return limitWait(submit, { onLate: giveUp });
    };

  const requestDb = open(runForRequest(() => undefined));
  return {
    db: open((work) => primary.submit(work).promise),
    requestDb,
    reads: replicaUrls.length > 0 ? open(runForRequest(replicas.pick)) : requestDb,
    replicaStates: replicas.states,
    poolLoad: primary.load,
    connection,
    ping: () => connection`select 1`.execute(),
    url,
    close: async ({ timeoutSeconds = 5 } = {}) => {
      await Promise.all([connection.end({ timeout: timeoutSeconds }), replicas.close(timeoutSeconds)]);
    },
  };
}
