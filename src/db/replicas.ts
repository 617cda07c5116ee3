import { withTimeLimit } from '../runtime/time-limit.ts';
import { type Connection, connect, openDrizzle } from './client.ts';
import { createPool, type Pool } from './connection/pool.ts';

/** Why a replica is not read. */
export type ReplicaFault =
  | 'unreachable'
  | 'behind'
  | 'not in recovery'
  | 'another database'
  | 'the primary is unreachable';

export type ReplicaState = {
  /** Host, port and database. */
  name: string;
  isRead: boolean;
  /** Undefined while it is read. */
  fault: ReplicaFault | undefined;
  /** The greatest possible age of its data; undefined when unknown. */
  lagSeconds: number | undefined;
};

/** The read replicas of a primary. */
export type Replicas = {
  /** A pool on a replica that may be read; undefined when there is none. */
  pick: () => Pool | undefined;
  states: () => ReplicaState[];
  close: (timeoutSeconds: number) => Promise<void>;
};

/** A position of the primary's WAL: everything committed by `atMs` is before `lsn`. */
type Mark = { lsn: bigint; atMs: number };

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
  const primary = replicas.length > 0 ? openProbe(primaryUrl) : undefined;
  let marks: Mark[] = [];
  let isChecking = false;
  let next = 0;

  async function check(): Promise<void> {
    if (isChecking || !primary) return;
    isChecking = true;
    const position = await primary.ask().catch(() => undefined);
    // A server in recovery is no primary: its position proves nothing about commits.
    if (position && !position.isInRecovery) {
      marks = [
        ...marks.filter(({ atMs }) => position.atMs - atMs <= FRESH_MS + CHECK_MS),
        { lsn: position.lsn, atMs: position.atMs },
      ];
    }
    await Promise.all(replicas.map((replica) => examine(replica, position)));
    isChecking = false;
  }

  async function examine(replica: Replica, primaryPosition: Position | undefined): Promise<void> {
    const position = await replica.probe.ask().catch(() => undefined);
    if (position) replica.freshAsOfMs = marks.findLast(({ lsn }) => lsn <= position.lsn)?.atMs;
    const fault = findFault(replica, position, primaryPosition);
    // Shortly after the start, no mark is old enough to prove that a replica is behind.
    if (fault === 'behind' && performance.now() - openedAtMs <= FRESH_MS) return;
    const isNews = replica.isRead ? fault !== undefined : replica.fault === undefined || fault === undefined;
    replica.isRead = fault === undefined;
    replica.fault = fault;
    if (isNews) onChange(stateOf(replica));
  }

  void check();
  const timer = primary && setInterval(check, CHECK_MS);
  return {
    pick: () => {
      const readable = replicas.filter((replica) => replica.isRead && isFresh(replica));
      next += 1;
      return readable[next % Math.max(readable.length, 1)]?.pool;
    },
    states: () => replicas.map(stateOf),
    close: async (timeoutSeconds) => {
      clearInterval(timer);
      await Promise.all([
        primary?.close(),
        ...replicas.flatMap(({ probe, connection }) => [
          probe.close(),
          connection.end({ timeout: timeoutSeconds }),
        ]),
      ]);
    },
  };
}

type Replica = Pick<ReplicaState, 'name' | 'isRead' | 'fault'> & {
  connection: Connection;
  pool: Pool;
  probe: Probe;
  /** It had everything that was committed by then; undefined when that is unknown or too long ago. */
  freshAsOfMs: number | undefined;
};

function openReplica(url: string, max: number): Replica {
  const { host, pathname } = new URL(url);
  const connection = connect(url, { max });
  // Sets the parsers, so that dates come as text as from the primary.
  openDrizzle(connection);
  return {
    name: host + pathname,
    isRead: false,
    fault: undefined,
    connection,
    pool: createPool(connection, max),
    probe: openProbe(url),
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

const stateOf = ({ name, isRead, fault, freshAsOfMs }: Replica): ReplicaState => ({
  name,
  isRead,
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
  /** When the query was sent, by the monotonic clock. */
  atMs: number;
};

/** `ask` rejects after {@link CHECK_MS}. */
type Probe = { ask: () => Promise<Position>; close: () => Promise<void> };

/** Asks a server for its position on a connection of its own, where it waits for no other query. */
function openProbe(url: string): Probe {
  const connection = connect(url, { max: 1, applicationName: 'replica probe' });
  let asking: Promise<Position> | undefined;
  return {
    ask: () => {
      // While it hangs, no further query is sent.
      asking ??= readPosition(connection).finally(() => {
        asking = undefined;
      });
      return withTimeLimit(asking, CHECK_MS);
    },
    close: () => connection.end({ timeout: 0 }),
  };
}

async function readPosition(connection: Connection): Promise<Position> {
  const atMs = performance.now();
  const [row] = await connection`
    select pg_is_in_recovery() as "isInRecovery",
      coalesce(case when pg_is_in_recovery() then pg_last_wal_replay_lsn() else pg_current_wal_lsn() end, '0/0')
        - '0/0' as lsn,
      concat_ws(' ', current_database(), case when has_function_privilege('pg_control_system()', 'execute')
        then (select system_identifier from pg_control_system()) end) as identity`;
  return {
    isInRecovery: row?.isInRecovery === true,
    lsn: BigInt(row?.lsn ?? 0),
    identity: String(row?.identity),
    atMs,
  };
}
