import type { Logger } from 'pino';
import { withTimeLimit } from '../time-limit.ts';
import { type Connection, connect } from './client.ts';

/** One process at a time holds each of these, whatever number of replicas run. */
export const LEASES = { poller: 727_010, demo: 727_011, bot: 727_012, mirror: 727_013 } as const;

export type Lease = {
  /** Whether this process holds it, as far as it knows: it finds out within two seconds that it no longer does. */
  isHeld: () => boolean;
  /** Settles after the first try, held or not. */
  tried: Promise<void>;
  /** Gives it up; another process may take it at once. */
  stop: () => Promise<void>;
};

type Options = {
  name: keyof typeof LEASES;
  log: Logger;
  onGained?: () => void;
  onLost?: () => void;
};

const HEARTBEAT_MS = 1000;
const ANSWER_LIMIT_MS = 2000;

/**
 * Tries to hold an advisory lock, on a connection of its own, and goes on trying: where it is taken, and again when
 * the connection is lost. PostgreSQL frees the lock when the process that holds it dies.
 */
export function holdLease(url: string, { name, log, onGained, onLost }: Options): Lease {
  let connection = openSession(url, name);
  let holderPid: number | undefined;
  let isBusy = false;
  let isStopped = false;
  let isFailing = false;

  async function beat(): Promise<void> {
    if (isBusy || isStopped) return;
    isBusy = true;
    try {
      const wasHeld = holderPid;
      const pid = await withTimeLimit(
        wasHeld === undefined ? take(connection, name) : sessionPid(connection),
        ANSWER_LIMIT_MS,
      );
      isFailing = false;
      // Another session than the one that took the lock: the lock went with the old one.
      holderPid = wasHeld === undefined || wasHeld === pid ? pid : undefined;
      report(wasHeld);
    } catch (error) {
      const wasHeld = holderPid;
      holderPid = undefined;
      if (!isFailing && !isStopped) log.warn({ err: error, lease: name }, 'the lease cannot be kept now');
      isFailing = true;
      report(wasHeld);
      // A session that hangs would hold the lock against us and everybody else.
      const hung = connection;
      connection = openSession(url, name);
      await hung.end({ timeout: 0 }).catch(() => {});
    } finally {
      isBusy = false;
    }
  }

  function report(wasHeld: number | undefined): void {
    if (isStopped) return;
    if (wasHeld === undefined && holderPid !== undefined) onGained?.();
    if (wasHeld !== undefined && holderPid === undefined) onLost?.();
  }

  const timer = setInterval(beat, HEARTBEAT_MS);
  return {
    isHeld: () => holderPid !== undefined,
    tried: beat(),
    stop: async () => {
      isStopped = true;
      clearInterval(timer);
      holderPid = undefined;
      await connection.end({ timeout: 0 }).catch(() => {});
    },
  };
}

function openSession(url: string, name: string): Connection {
  return connect(url, { max: 1, applicationName: `lease ${name}`, keepsSession: true });
}

/** @returns the session's process id when it got the lock. */
async function take(connection: Connection, name: keyof typeof LEASES): Promise<number | undefined> {
  const [row] = await connection`
    select pg_try_advisory_lock(${LEASES[name]}) as "isTaken", pg_backend_pid() as pid,
      -- A holder whose machine vanished is found out in half a minute, not in two hours.
      set_config('tcp_keepalives_idle', '10', false), set_config('tcp_keepalives_interval', '5', false),
      set_config('tcp_keepalives_count', '4', false)`;
  return row?.isTaken === true ? Number(row.pid) : undefined;
}

async function sessionPid(connection: Connection): Promise<number> {
  const [row] = await connection`select pg_backend_pid() as pid`;
  return Number(row?.pid);
}
