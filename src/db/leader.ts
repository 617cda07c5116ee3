import type { Logger } from 'pino';
import { withTimeLimit } from '../runtime/time-limit.ts';
import type { Db } from './client.ts';
import { fenceDatabase } from './lease/fence.ts';
import { holdLease, type LeaseLoss } from './lease/lease.ts';
import type { LeaseName } from './lease/lease-row.ts';

export type Leadership = {
  /** Settles once it is known whether this process leads or is on standby. */
  decided: Promise<void>;
  /** Whether the work runs in this process. */
  isLeader: () => boolean;
  /** Whether no other process can be doing the work; false while the work outlives an outage. */
  isExclusive: () => boolean;
  /**
   * Ends the work until the next lease, because another process was seen doing it. Does nothing while the lease is
   * held.
   */
  stepDown: () => void;
  /** Ends the work, waits at most 2.5 seconds for it, and lets another process lead. */
  stop: () => Promise<void>;
};

/** Wraps the database for writes of the work: they are refused once another process has taken over. */
export type Fence = (db: Db) => Db;

type Options = {
  databaseUrl: string;
  name: LeaseName;
  log: Logger;
  /**
   * The work, called each time this process becomes the leader. It must settle within 1.5 seconds after the signal
   * aborts, since another process may begin then.
   */
  lead: (signal: AbortSignal, fence: Fence) => Promise<void>;
  /**
   * For work that does not need the database: it continues during an outage if no other process was on standby before.
   * If one starts later and takes over, the work ends as soon as that is known, from the database or by `stepDown`.
   */
  outlivesOutage?: boolean;
};

const STOP_LIMIT_MS = 2500;

/**
 * Runs work in one process at a time; another process takes over when this one stops, dies, hangs or loses the
 * database. The work ends before another process may begin it, and starts again with the next lease.
 */
export function runAsLeader({ databaseUrl, name, log, lead, outlivesOutage = false }: Options): Leadership {
  let term: AbortController | undefined;
  let work = Promise.resolve();
  const lease = holdLease(databaseUrl, { name, log, onGained: begin, onLost: end });
  const decided = lease.tried.then(() => {
    if (!lease.isHeld()) log.info({ part: name }, 'standing by: another process leads');
  });

  function begin(token: number): void {
    if (term) return;
    log.info({ part: name }, 'leading');
    term = new AbortController();
    const { signal } = term;
    const fence: Fence = (db) => fenceDatabase(db, name, token);
    work = work
      .then(() => (signal.aborted ? undefined : lead(signal, fence)))
      .catch((error: unknown) => log.error({ err: error, part: name }, 'a part ended with an error'));
  }

  function end({ isTaken, hasStandby }: LeaseLoss): void {
    if (outlivesOutage && !isTaken && !hasStandby) return;
    endBecause(isTaken ? 'another process took over' : 'the database is unreachable');
  }

  function endBecause(reason: string): void {
    if (!term) return;
    log.warn({ part: name }, `no longer leading: ${reason}`);
    term.abort();
    term = undefined;
  }

  return {
    decided,
    isLeader: () => term !== undefined,
    isExclusive: lease.isHeld,
    stepDown: () => {
      if (!lease.isHeld()) endBecause('another process was seen doing its work');
    },
    stop: async () => {
      term?.abort();
      term = undefined;
      await withTimeLimit(work, STOP_LIMIT_MS).catch(() => undefined);
      await lease.stop();
    },
  };
}
