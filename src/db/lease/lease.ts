import type { Logger } from 'pino';
import { withTimeLimit } from '../../runtime/time-limit.ts';
import { type Connection, connect, INSTANCE } from '../client.ts';
import { acquireLease, LEASE_SECONDS, type LeaseName, releaseLease, renewLease } from './lease-row.ts';

export type Lease = {
  /** Whether this process holds it; then no other process does. */
  isHeld: () => boolean;
  /** Settles after the first try, held or not. */
  tried: Promise<void>;
  /** Releases it; another process may take it at once. */
  stop: () => Promise<void>;
};

/** Why a lease is no longer held. */
export type LeaseLoss = {
  /** False when the database has not responded for too long: whether another process has taken over is unknown. */
  isTaken: boolean;
  /** Whether another process was waiting to take over when the database last responded. */
  hasStandby: boolean;
};

type Options = {
  name: LeaseName;
  log: Logger;
  /** @param token for {@link fenceDatabase}; the same as before when nobody took over meanwhile. */
  onGained?: (token: number) => void;
  /** Called again with `isTaken` when that becomes known. */
  onLost?: (loss: LeaseLoss) => void;
};

const HEARTBEAT_MS = 1000;
const RESPONSE_LIMIT_MS = 1500;
const RELEASE_LIMIT_MS = 500;
/** How long a renewal counts; the rest of the lease is left for the work to end before another process begins. */
const HELD_MS = LEASE_SECONDS * 1000 - 1500;
const CHECK_MS = 100;

let lastNumber = 0;

/**
 * Holds a lease in the database, and keeps trying while another process has it or the database is down. It lasts five
 * seconds and is renewed every second; the holder treats it as lost 1.5 seconds before another process may take it.
 */
export function holdLease(url: string, { name, log, onGained, onLost }: Options): Lease {
  lastNumber += 1;
  const holder = `${INSTANCE}.${lastNumber}`;
  let session = openSession(url, name, holder);
  let token: number | undefined;
  let hasStandby = false;
  let heldUntilMs = Number.NEGATIVE_INFINITY;
  let isHeld = false;
  let isBusy = false;
  let isStopped = false;
  let isFailing = false;

  async function heartbeat(): Promise<void> {
    if (isBusy || isStopped) return;
    isBusy = true;
    try {
      await withTimeLimit(token === undefined ? take() : renew(token), RESPONSE_LIMIT_MS);
      isFailing = false;
    } catch (error) {
      if (!isFailing && !isStopped)
        log.warn({ err: error, lease: name }, 'the lease could not be taken or renewed: retrying');
      isFailing = true;
      await replaceSession();
    } finally {
      isBusy = false;
    }
  }

  async function take(): Promise<void> {
    const askedAtMs = performance.now();
    const taken = await acquireLease(session, name, holder);
    if (taken === undefined || isStopped || token !== undefined) return;
    token = taken;
    hasStandby = false;
    hold(taken, askedAtMs);
  }

  async function renew(current: number): Promise<void> {
    const askedAtMs = performance.now();
    const renewal = await renewLease(session, name, current);
    if (isStopped) return;
    if (renewal) {
      hasStandby = renewal.hasStandby;
      hold(current, askedAtMs);
      return;
    }
    token = undefined;
    isHeld = false;
    onLost?.({ isTaken: true, hasStandby: true });
  }

  function hold(current: number, askedAtMs: number): void {
    // A deadline that has just passed is a loss, even if the lease is back before it was noticed.
    checkDeadline();
    heldUntilMs = Math.max(heldUntilMs, askedAtMs + HELD_MS);
    const isNew = !isHeld && isInTime();
    isHeld = isInTime();
    if (isNew) onGained?.(current);
  }

  function isInTime(): boolean {
    return performance.now() < heldUntilMs;
  }

  function checkDeadline(): void {
    if (!isHeld || isInTime() || isStopped) return;
    isHeld = false;
    onLost?.({ isTaken: false, hasStandby });
  }

  /** The next heartbeat must not wait for a session that hangs. */
  async function replaceSession(): Promise<void> {
    const hung = session;
    session = openSession(url, name, holder);
    await hung.end({ timeout: 0 }).catch(() => {});
  }

  const timers = [setInterval(heartbeat, HEARTBEAT_MS), setInterval(checkDeadline, CHECK_MS)];
  return {
    isHeld: () => isHeld && isInTime(),
    tried: heartbeat(),
    stop: async () => {
      isStopped = true;
      isHeld = false;
      for (const timer of timers) clearInterval(timer);
      if (token !== undefined) {
        await withTimeLimit(releaseLease(session, name, token), RELEASE_LIMIT_MS).catch(() => {});
      }
      await session.end({ timeout: 0 }).catch(() => {});
    },
  };
}

function openSession(url: string, name: string, holder: string): Connection {
  return connect(url, { max: 1, applicationName: `lease ${name}`, owner: holder });
}
