import type { OnQuery } from '../../db/connection/instrument.ts';
import { LATENCY_SECONDS, type Metrics } from '../../runtime/metrics.ts';

/** Times queries by their names. */
export function createQueryRecorder(metrics: Metrics): OnQuery {
  const time = metrics.addHistogram(
    'database_query_duration_seconds',
    'Time of a query, waiting for a connection included.',
    LATENCY_SECONDS,
    ['query'],
  );
  return (query, seconds) => time(seconds, { query });
}
