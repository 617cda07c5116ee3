import type { Logger } from 'pino';
import type { ReplicaState } from '../db/replicas/replica.ts';
import type { Metrics } from '../runtime/metrics.ts';

/** Logs and counts when a read replica starts or stops being used. */
export function createReplicaReports(log: Logger, metrics: Metrics) {
  const countChange = metrics.addCounter(
    'replica_changes_total',
    'How often a read replica was begun to be read, or left.',
    ['replica', 'change'],
  );
  const countRepeated = metrics.addCounter(
    'replica_reads_repeated_total',
    'Reads that failed or came late on a replica, and were asked again on the primary.',
    [],
  );
  countRepeated({}, 0);
  return {
    onReplicaChange: ({ name: replica, isRead, fault }: ReplicaState) => {
      countChange({ replica, change: isRead ? 'read' : 'left' });
      if (isRead) log.info({ replica }, 'the read replica is read');
      else log.warn({ replica, fault }, 'the read replica is not read: the primary stands in');
    },
    onRepeatedRead: () => countRepeated({}),
  };
}
