import type { Logger } from 'pino';
import type { ReplicaState } from '../db/replicas.ts';
import type { Metrics } from '../runtime/metrics.ts';

/** What a pool of the database reports of its read replicas. */
export type ReplicaReports = {
  onReplicaChange: (state: ReplicaState) => void;
  /** A read was repeated on the primary. */
  onRepeatedRead: () => void;
};

/** Logs and counts when a read replica starts or stops being used. */
export function createReplicaReports(log: Logger, metrics: Metrics): ReplicaReports {
  const countChange = metrics.addCounter(
    'replica_changes_total',
    'How often a read replica was dropped or used again.',
    ['replica', 'change'],
  );
  const countRepeated = metrics.addCounter(
    'replica_reads_repeated_total',
    'Reads repeated on the primary after they failed or were late on a replica.',
    [],
  );
  countRepeated({}, 0);
  return {
    onReplicaChange: ({ name: replica, isRead, fault }) => {
      countChange({ replica, change: isRead ? 'read' : 'left' });
      // Prometheus sees no increase where a series begins: the first drop would be missing.
      countChange({ replica, change: isRead ? 'left' : 'read' }, 0);
      if (isRead) log.info({ replica }, 'using the read replica');
      else log.warn({ replica, fault }, 'not using the read replica: reads go to the primary');
    },
    onRepeatedRead: () => countRepeated({}),
  };
}
