import type { Logger } from 'pino';
import { holdLease, type LEASES } from './db/lease.ts';

type Part = { start: () => void; stop: () => Promise<void> };

type Options = {
  databaseUrl: string;
  name: keyof typeof LEASES;
  log: Logger;
  create: () => Part;
  /** Whether the database answers. */
  isReachable: () => Promise<boolean>;
  /** How long the database must answer, with the lease gone, before the part is stopped. */
  stopAfterMs?: number;
};

const CHECK_MS = 1000;

/**
 * Runs a part in one process at a time. When the lease is lost because the database went away, the part goes on and
 * takes it up again later; it stops only once the database answers and another process evidently has the lease.
 */
export function runSinglePart({ databaseUrl, name, log, create, isReachable, stopAfterMs = 5000 }: Options): {
  stop: () => Promise<void>;
} {
  let part: Part | undefined;
  let lostForMs = 0;
  let isChecking = false;
  const lease = holdLease(databaseUrl, {
    name,
    log,
    onGained: () => {
      lostForMs = 0;
      if (part) return;
      part = create();
      part.start();
    },
  });
  void lease.tried.then(() => {
    if (!lease.isHeld()) log.info({ part: name }, 'another process runs this part: standing by');
  });

  async function check(): Promise<void> {
    if (!part || isChecking) return;
    isChecking = true;
    if (lease.isHeld() || !(await isReachable())) lostForMs = 0;
    else lostForMs += CHECK_MS;
    isChecking = false;
    if (lostForMs < stopAfterMs || lease.isHeld()) return;
    log.warn({ part: name }, 'another process has taken over this part');
    const stopped = part;
    part = undefined;
    lostForMs = 0;
    await stopped?.stop();
  }

  const timer = setInterval(check, CHECK_MS);
  return {
    stop: async () => {
      clearInterval(timer);
      await part?.stop();
      await lease.stop();
    },
  };
}
