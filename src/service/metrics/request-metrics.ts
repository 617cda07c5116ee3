import type { RecordRequest } from '../../../api/http/routes.ts';
import { LATENCY_SECONDS, type Metrics } from '../../runtime/metrics.ts';

/** Counts and times requests by their routes. */
export function createRequestNotes(metrics: Metrics): RecordRequest {
  const count = metrics.addCounter('http_requests_total', 'Requests by route and status.', [
    'kind',
    'route',
    'status',
  ]);
  const time = metrics.addHistogram(
    'http_request_duration_seconds',
    'From the request to its response, whose body may still be sent.',
    LATENCY_SECONDS,
    ['route'],
  );
  return ({ kind, route, status, seconds }) => {
    count({ kind, route, status });
    time(seconds, { route });
  };
}
