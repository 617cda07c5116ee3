import { parsePostgresAddress } from '../runtime/database-address.ts';
import { withTimeLimit } from '../runtime/time-limit.ts';
import { type Connection, connect, openDrizzle } from './client.ts';
import { createPool, type Pool } from './connection/pool.ts';

/** Why a replica is not read. */
type ReplicaFault =
  | 'not checked yet'
  | 'unreachable'
  | 'behind'
  | 'not in recovery'
  | 'another database'
  | 'the primary is unreachable';

export type ReplicaState = {
  /** Host, port and database. */
  name: string;
  /** Undefined while it is read. */
  fault: ReplicaFault | undefined;
  /** The greatest possible age of its data; undefined when unknown. */
  lagSeconds: number | undefined;
};

/** The read replicas of a primary. */
type Replicas = {
  /** A pool on a replica that may be read; undefined when there is none. */
  pick: () => Pool | undefined;
  states: () => ReplicaState[];
  close: (timeoutSeconds: number) => Promise<void>;
};

/** The greatest age of a replica's data that may be read. */
export const FRESH_MS = 5000;
/** How often servers are asked for their position, and how long they may take. */
const CHECK_MS = 1000;

/**
 * Connects to the replicas, which are read in turn. Once a second, each is asked how far it has replayed, and the primary
 * how far it has written: a replica that is cut off cannot know that it is behind.
 * @param max connections to each replica.
 * @param onChange called when reading a replica begins or ends, and when it cannot be read from the start.
 */
export function openReplicas(
  primaryUrl: string,
  urls: readonly string[],
  { max, onChange }: { max: number; onChange: (state: ReplicaState) => void },
): Replicas {
  const openedAtMs = performance.now();
  const replicas = urls.map((url) => openReplica(url, max));
  // Equal names would be one line in the metrics, twice.
  for (const [index, replica] of replicas.entries()) {
    const isTaken = replicas.slice(0, index).some(({ name }) => name === replica.name);
    if (isTaken) replica.name += ` (${index + 1})`;
  }
  const primary = urls.length > 0 ? openProbe(primaryUrl) : undefined;
  /** Positions of the primary: everything committed by `atMs` is before `lsn`. */
  let marks: { lsn: bigint; atMs: number }[] = [];
  let isChecking = false;
  let next = 0;

  async function check(probe: Connection): Promise<void> {
    if (isChecking) return;
    isChecking = true;
    const atMs = performance.now();
    const position = await tryReadPosition(probe);
    // A server in recovery is no primary: its position proves nothing about commits.
    if (position && !position.isInRecovery) {
      marks = marks.filter((mark) => atMs - mark.atMs <= FRESH_MS + CHECK_MS);
      marks.push({ lsn: position.lsn, atMs });
    }
    await Promise.all(replicas.map((replica) => examine(replica, position)));
    isChecking = false;
  }

  async function examine(replica: Replica, primaryPosition: Position | undefined): Promise<void> {
    const position = await tryReadPosition(replica.probe);
    if (position) replica.freshAsOfMs = marks.findLast(({ lsn }) => lsn <= position.lsn)?.atMs;
    const fault = findFault(replica, position, primaryPosition);
    // Shortly after the start, no mark is old enough to prove that a replica is behind.
    if (fault === 'behind' && performance.now() - openedAtMs <= FRESH_MS) return;
    const isNews =
      replica.fault === 'not checked yet' || (replica.fault === undefined) !== (fault === undefined);
    replica.fault = fault;
    if (isNews) onChange(stateOf(replica));
  }

  if (primary) void check(primary);
  const timer = primary && setInterval(check, CHECK_MS, primary);
  return {
    pick: () => {
      const readable = replicas.filter((replica) => replica.fault === undefined && isFresh(replica));
      next += 1;
      return readable[next % Math.max(readable.length, 1)]?.pool;
    },
    states: () => replicas.map(stateOf),
    close: async (timeoutSeconds) => {
      clearInterval(timer);
      const probes = [primary, ...replicas.map(({ probe }) => probe)];
      await Promise.all([
        ...probes.map((probe) => probe?.end({ timeout: 0 })),
        ...replicas.map(({ connection }) => connection.end({ timeout: timeoutSeconds })),
      ]);
    },
  };
}

type Replica = {
  name: string;
  connection: Connection;
  pool: Pool;
  probe: Connection;
  fault: ReplicaFault | undefined;
  /** It had everything that was committed by then; undefined when that is unknown or too long ago. */
  freshAsOfMs: number | undefined;
};

function openReplica(url: string, max: number): Replica {
  const { server, database } = parsePostgresAddress(url, 'DATABASE_REPLICA_URLS');
  const connection = connect(url, { max });
  // Sets the parsers, so that dates come as text as from the primary.
  openDrizzle(connection);
  const pool = createPool(connection, max);
  return {
    name: `${server}/${database}`,
    connection,
    pool,
    probe: openProbe(url),
    fault: 'not checked yet',
    freshAsOfMs: undefined,
  };
}

function findFault(
  replica: Replica,
  position: Position | undefined,
  primary: Position | undefined,
): ReplicaFault | undefined {
  if (!position) return 'unreachable';
  if (!position.isInRecovery) return 'not in recovery';
  if (primary && primary.identity !== position.identity) return 'another database';
  if (isFresh(replica)) return undefined;
  return primary ? 'behind' : 'the primary is unreachable';
}

const isFresh = ({ freshAsOfMs }: Replica): boolean =>
  freshAsOfMs !== undefined && performance.now() - freshAsOfMs <= FRESH_MS;

const stateOf = ({ name, fault, freshAsOfMs }: Replica): ReplicaState => ({
  name,
  fault,
  lagSeconds: freshAsOfMs === undefined ? undefined : (performance.now() - freshAsOfMs) / 1000,
});

/** What a server reports about itself. */
type Position = {
  isInRecovery: boolean;
  /** Of a primary the current WAL position, of a replica the last replayed one. */
  lsn: bigint;
  /** The same on a primary and its replicas: the database and, where it may be read, the system identifier. */
  identity: string;
};

/** A separate connection, on which the check does not wait for other queries. */
const openProbe = (url: string): Connection => connect(url, { max: 1, applicationName: 'replica probe' });

/** @returns undefined for a server that does not respond within {@link CHECK_MS}. */
async function tryReadPosition(probe: Connection): Promise<Position | undefined> {
  const asking = probe`
    select pg_is_in_recovery() as "isInRecovery",
      coalesce(case when pg_is_in_recovery() then pg_last_wal_replay_lsn() else pg_current_wal_lsn() end, '0/0')
        - '0/0' as lsn,
      concat_ws(' ', current_database(), case when has_function_privilege('pg_control_system()', 'execute')
        then (select system_identifier from pg_control_system()) end) as identity`;
  try {
    const [row] = await withTimeLimit(asking, CHECK_MS);
    return row && { isInRecovery: row.isInRecovery, lsn: BigInt(row.lsn), identity: row.identity };
  } catch {
    return undefined;
  }
}
