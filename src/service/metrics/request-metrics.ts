import type { RecordRequest } from '../../../api/http/pipeline.ts';
import { LATENCY_SECONDS, type Metrics } from '../../runtime/metrics.ts';

type Kind = Parameters<RecordRequest>[0]['kind'];
/** Counts a request of one kind, route and status, and its time. */
type Recorder = (seconds: number) => void;

/** The methods that are named; a label for each made-up one would make their number unbounded. */
const METHODS = new Set(['GET', 'HEAD', 'OPTIONS', 'POST']);

/** Counts and times requests by their routes. */
export function createRequestRecorder(metrics: Metrics): RecordRequest {
  const count = metrics.addCounter('http_requests_total', 'Requests by method, route and status.', [
    'kind',
    'method',
    'route',
    'status',
  ]);
  const time = metrics.addHistogram(
    'http_request_duration_seconds',
    'From the request to its response, whose body may still be sent.',
    LATENCY_SECONDS,
    ['route'],
  );
  /** By kind, route, method and status: finding a series by its labels takes longer than counting. */
  const recorders: Record<Kind, Map<string, Map<string, Map<number, Recorder>>>> = {
    public: new Map(),
    protected: new Map(),
    page: new Map(),
  };
  return ({ kind, method: sentMethod, route, status, seconds }) => {
    const method = METHODS.has(sentMethod) ? sentMethod : 'other';
    const known = recorders[kind].get(route)?.get(method)?.get(status);
    if (known) return known(seconds);
    const [countOne, timeOne] = [count.of({ kind, method, route, status }), time.of({ route })];
    const recorder: Recorder = (seconds) => {
      countOne();
      timeOne(seconds);
    };
    recorders[kind].getOrInsert(route, new Map()).getOrInsert(method, new Map()).set(status, recorder);
    recorder(seconds);
  };
}
