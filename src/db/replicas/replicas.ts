import { FRESH_MS, openReplica, type Replica, type ReplicaState } from './replica.ts';
import { openServerProbe, type ServerPosition } from './server-probe.ts';
import { createWalMarks } from './wal-marks.ts';

/** The read replicas of a primary. */
export type Replicas = {
  /** A replica that may be read; undefined when there is none. */
  pick: () => Replica | undefined;
  /** A replica that also has the newest account change; undefined when there is none. */
  pickForAccounts: () => Replica | undefined;
  /** Accounts changed just now: `pickForAccounts` leaves out the replicas that do not have it yet. */
  noteAccountChange: () => void;
  states: () => ReplicaState[];
  close: (timeoutSeconds: number) => Promise<void>;
};

const CHECK_MS = 500;

/** Connects to the replicas: each is checked twice a second, and they are read in turn. */
export function openReplicas(
  primaryUrl: string,
  replicaUrls: readonly string[],
  { max, onChange }: { max: number; onChange: (state: ReplicaState) => void },
): Replicas {
  const replicas = replicaUrls.map((url) => openReplica(url, max, onChange));
  const primary = openServerProbe(primaryUrl);
  const marks = createWalMarks(FRESH_MS + CHECK_MS);
  let accountsChangedAtMs = Number.NEGATIVE_INFINITY;
  let isChecking = false;
  let next = 0;

  async function check(): Promise<void> {
    if (isChecking) return;
    isChecking = true;
    try {
      const position = await readPrimary();
      if (position) marks.add({ lsn: position.lsn, atMs: position.askedAtMs });
      await Promise.all(replicas.map((replica) => replica.check(marks, position)));
    } finally {
      isChecking = false;
    }
  }

  async function readPrimary(): Promise<ServerPosition | undefined> {
    try {
      const position = await primary.ask();
      // Not a primary: its position proves nothing about commits.
      return position.isInRecovery ? undefined : position;
    } catch {
      return undefined;
    }
  }

  const pick = (committedByMs: number): Replica | undefined => {
    const fit = replicas.filter((replica) => replica.isCaughtUpTo(committedByMs));
    next += 1;
    return fit[next % Math.max(fit.length, 1)];
  };

  if (replicas.length > 0) void check();
  const timer = replicas.length > 0 ? setInterval(check, CHECK_MS) : undefined;
  return {
    pick: () => pick(Number.NEGATIVE_INFINITY),
    pickForAccounts: () => pick(accountsChangedAtMs),
    noteAccountChange: () => {
      accountsChangedAtMs = performance.now();
    },
    states: () => replicas.map((replica) => replica.state()),
    close: async (timeoutSeconds) => {
      clearInterval(timer);
      await Promise.all([primary.close(), ...replicas.map((replica) => replica.close(timeoutSeconds))]);
    },
  };
}
