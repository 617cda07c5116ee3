import { parsePostgresAddress } from '../runtime/database-address.ts';
import { ask, openProbe, openRequestPool, type Pool } from './connection/pool.ts';

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

type Replicas = {
  /** The connections to a replica that may be read; undefined when there is none. */
  pick: () => Pool | undefined;
  states: () => ReplicaState[];
  close: (timeoutSeconds: number) => Promise<unknown>;
};

/** The greatest age of a replica's data that may be read. */
export const FRESH_MS = 5000;
/** How long a read may take: half of what a request waits. */
export const READ_LIMIT_MS = 2000;
/** How often servers are asked for their position. */
const CHECK_MS = 1000;
const PROBE = 'replica probe';

/**
 * Connects to the replicas, which are read in turn. Once a second, each is asked how far it has replayed, and the primary
 * how far it has written: a replica that is cut off cannot know that it is behind.
 * @param onChange called when reading a replica begins or ends, and when it cannot be read from the start.
 */
export function openReplicas(
  primaryUrl: string,
  urls: readonly string[],
  onChange: (state: ReplicaState) => void,
): Replicas {
  const openedAtMs = performance.now();
  const replicas = urls.map(openReplica);
  // Equal names would be one line in the metrics, twice.
  for (const [index, replica] of replicas.entries()) {
    const isTaken = replicas.slice(0, index).some(({ name }) => name === replica.name);
    if (isTaken) replica.name += ` (${index + 1})`;
  }
  const primary = openProbe(primaryUrl, PROBE);
  /** Positions of the primary: everything committed by `atMs` is before `lsn`. */
  let marks: { lsn: bigint; atMs: number }[] = [];
  let next = 0;

  async function check(): Promise<void> {
    const atMs = performance.now();
    const position = await tryReadPosition(primary);
    // A server in recovery is no primary: its position proves nothing about commits.
    if (position && !position.isInRecovery) {
      marks = marks.filter((mark) => atMs - mark.atMs <= FRESH_MS + CHECK_MS);
      marks.push({ lsn: position.lsn, atMs });
    }
    await Promise.all(replicas.map((replica) => examine(replica, position)));
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

  const timer = urls.length > 0 ? setInterval(check, CHECK_MS) : undefined;
  if (timer) void check();
  return {
    pick: () => {
      const readable = replicas.filter((replica) => replica.fault === undefined && isFresh(replica));
      next += 1;
      return readable[next % Math.max(readable.length, 1)]?.pool;
    },
    states: () => replicas.map(stateOf),
    close: (timeoutSeconds) => {
      clearInterval(timer);
      const closing = replicas.flatMap(({ pool, probe }) => [pool.close(timeoutSeconds), probe.close(0)]);
      return Promise.all([...closing, primary.close(0)]);
    },
  };
}

type Replica = {
  name: string;
  pool: Pool;
  probe: Pool;
  fault: ReplicaFault | undefined;
  /** It had everything that was committed by then; undefined when that is unknown or too long ago. */
  freshAsOfMs: number | undefined;
};

function openReplica(url: string): Replica {
  const { server, database } = parsePostgresAddress(url, 'DATABASE_REPLICA_URLS');
  return {
    name: `${server}/${database}`,
    pool: openRequestPool(url, READ_LIMIT_MS),
    probe: openProbe(url, PROBE),
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

type Position = {
  isInRecovery: boolean;
  /** Of a primary the current WAL position, of a replica the last replayed one. */
  lsn: bigint;
  /** The same on a primary and its replicas: the database and, where it may be read, the system identifier. */
  identity: string;
};

const READ_POSITION = `
  select pg_is_in_recovery() as "isInRecovery",
    coalesce(case when pg_is_in_recovery() then pg_last_wal_replay_lsn() else pg_current_wal_lsn() end, '0/0')
      - '0/0' as lsn,
    concat_ws(' ', current_database(), case when has_function_privilege('pg_control_system()', 'execute')
      then (select system_identifier from pg_control_system()) end) as identity`;

/** @returns undefined for a server that does not respond in time. */
function tryReadPosition(probe: Pool): Promise<Position | undefined> {
  return ask(probe, READ_POSITION).then(
    ([row]) => row && { isInRecovery: row.isInRecovery, lsn: BigInt(row.lsn), identity: row.identity },
    () => undefined,
  );
}
