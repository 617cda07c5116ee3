import { hasErrorCode } from '../../domain/error-causes.ts';
import { TimeLimitExceeded } from '../../runtime/time-limit.ts';
import { type Connection, connect, isDatabaseOutage, openDrizzle } from '../client.ts';
import { openServerProbe, type ServerPosition } from './server-probe.ts';
import type { WalMarks } from './wal-marks.ts';

/** Why a replica is not read. */
export type ReplicaFault =
  | 'unreachable'
  | 'slow'
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

/** A pool on one replica, and whether that replica may be read. */
export type Replica = {
  state: () => ReplicaState;
  /**
   * Asks the replica for its position, and decides whether it may be read.
   * @param primary its position; undefined when that is unknown.
   */
  check: (marks: WalMarks, primary: ServerPosition | undefined) => Promise<void>;
  /** Notes a read that failed or timed out there; errors of the query itself do not count. */
  noteFailure: (error: unknown) => void;
  /** The current pool: a replica that is dropped gets a new one. */
  pool: () => Connection;
  /** Whether it may be read, and has everything committed by `committedByMs`. */
  isCaughtUpTo: (committedByMs: number) => boolean;
  close: (timeoutSeconds: number) => Promise<void>;
};

/** The greatest age of a replica's data that may be read. */
export const FRESH_MS = 5000;
/** A replica is no longer read after two failures: one late response may be chance, one lost connection a conflict. */
const MAX_FAILURES = 2;
const FAILURE_WINDOW_MS = 10_000;
/** Queries cancelled because they delayed the replay. https://www.postgresql.org/docs/current/hot-standby.html#HOT-STANDBY-CONFLICT */
const RECOVERY_CONFLICTS = ['40001', '40P01', '57014'];
/** How long a replica that was dropped must be healthy before it is read again. */
const RETURN_AFTER_MS = 2000;

/**
 * A pool on one replica that knows whether the replica may be read: it must be in recovery, and have replayed what the
 * primary had written five seconds ago.
 * @param onChange called when reading begins and when it stops.
 */
export function openReplica(url: string, max: number, onChange: (state: ReplicaState) => void): Replica {
  const { host, pathname } = new URL(url);
  const name = host + pathname;
  const openedAtMs = performance.now();
  const probe = openServerProbe(url);
  let pool = openPool(url, max);
  let isRead = false;
  let fault: ReplicaFault | undefined;
  let wasDropped = false;
  let freshAsOfMs: number | undefined;
  let healthySinceMs: number | undefined;
  let failuresMs: number[] = [];

  const state = (): ReplicaState => ({
    name,
    isRead,
    fault,
    lagSeconds: freshAsOfMs === undefined ? undefined : (performance.now() - freshAsOfMs) / 1000,
  });

  async function check(marks: WalMarks, primary: ServerPosition | undefined): Promise<void> {
    const found = await examine(marks, primary);
    if (found === 'undecided') return;
    if (found === undefined) markHealthy();
    else if (found === 'slow') recordFailure(found);
    else drop(found);
  }

  async function examine(
    marks: WalMarks,
    primary: ServerPosition | undefined,
  ): Promise<ReplicaFault | 'undecided' | undefined> {
    let position: ServerPosition;
    try {
      position = await probe.ask();
    } catch (error) {
      return error instanceof TimeLimitExceeded ? 'slow' : 'unreachable';
    }
    if (!position.isInRecovery) return 'not in recovery';
    if (primary && primary.identity !== position.identity) return 'another database';
    freshAsOfMs = marks.findReached(position.lsn);
    if (isFresh()) return undefined;
    // Shortly after the start no recorded position is old enough to prove that a replica is behind.
    if (primary && performance.now() - openedAtMs <= FRESH_MS) return 'undecided';
    return primary ? 'behind' : 'the primary is unreachable';
  }

  function isFresh(): boolean {
    return freshAsOfMs !== undefined && performance.now() - freshAsOfMs <= FRESH_MS;
  }

  function markHealthy(): void {
    if (isRead) return;
    healthySinceMs ??= performance.now();
    if (wasDropped && performance.now() - healthySinceMs < RETURN_AFTER_MS) return;
    isRead = true;
    fault = undefined;
    onChange(state());
  }

  function recordFailure(found: ReplicaFault): void {
    healthySinceMs = undefined;
    const nowMs = performance.now();
    failuresMs = [...failuresMs.filter((atMs) => nowMs - atMs < FAILURE_WINDOW_MS), nowMs];
    if (failuresMs.length >= MAX_FAILURES) drop(found);
  }

  function drop(found: ReplicaFault): void {
    const isNews = isRead || !wasDropped;
    // Queries that are still running there are repeated on the primary.
    if (isRead) replacePool();
    fault = found;
    isRead = false;
    wasDropped = true;
    healthySinceMs = undefined;
    failuresMs = [];
    if (isNews) onChange(state());
  }

  function replacePool(): void {
    const left = pool;
    pool = openPool(url, max);
    void left.end({ timeout: 0 }).catch(() => {});
  }

  return {
    state,
    check,
    noteFailure: (error) => {
      if (!isRead || hasErrorCode(error, RECOVERY_CONFLICTS)) return;
      if (error instanceof TimeLimitExceeded) recordFailure('slow');
      else if (isDatabaseOutage(error)) recordFailure('unreachable');
    },
    pool: () => pool,
    isCaughtUpTo: (committedByMs) =>
      isRead && isFresh() && freshAsOfMs !== undefined && freshAsOfMs >= committedByMs,
    close: async (timeoutSeconds) => {
      await Promise.all([pool.end({ timeout: timeoutSeconds }), probe.close()]);
    },
  };
}

/** Drizzle sets the parsers of a pool, so that dates come as text as from the primary's pool. */
function openPool(url: string, max: number): Connection {
  const pool = connect(url, { max });
  openDrizzle(pool);
  return pool;
}
