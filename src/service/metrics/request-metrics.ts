import type { RecordRequest } from '../../../api/http/pipeline.ts';
import { LATENCY_SECONDS, type Metrics } from '../../runtime/metrics.ts';

type Kind = Parameters<RecordRequest>[0]['kind'];
/** Counts a request of one kind, route and status, and its time. */
type Recorder = (seconds: number) => void;

/** Counts and times requests by their routes. */
export function createRequestRecorder(metrics: Metrics): RecordRequest {
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
  const createRecorder = (kind: Kind, route: string, status: number): Recorder => {
    const [countOne, timeOne] = [count.of({ kind, route, status }), time.of({ route })];
    return (seconds) => {
      countOne();
      timeOne(seconds);
    };
  };
  const recorders: Record<Kind, Map<string, Map<number, Recorder>>> = {
    public: new Map(),
    protected: new Map(),
    page: new Map(),
  };
  return ({ kind, route, status, seconds }) => {
    const known = recorders[kind].get(route)?.get(status);
    if (known) return known(seconds);
    const recorder = createRecorder(kind, route, status);
    recorders[kind].getOrInsert(route, new Map()).set(status, recorder);
    recorder(seconds);
  };
}
