import { Elysia } from 'elysia';
import { createAddressMatcher } from '../src/runtime/address.ts';
import type { Metrics } from '../src/runtime/metrics.ts';
import { isMadeHere } from './http/host.ts';

type Readiness = { isReady: boolean; parts: Record<string, unknown> };

export type HealthDeps = {
  /** Whether the database is reachable and migrated, and how each part is. */
  readiness: () => Promise<Readiness>;
  metrics: Metrics;
  /** Networks whose peers may read `/metrics`, even when the request was forwarded. */
  metricsAllow: readonly string[];
  /** Whether the service is for this machine only, so that every program here may read `/metrics`. */
  isLocal: boolean;
};

const NO_STORE = { 'Cache-Control': 'no-store' };

/** `/healthz` (liveness), `/readyz` (readiness) and `/metrics` (Prometheus text), none of them rate-limited. */
export function health({ readiness, metrics, metricsAllow, isLocal }: HealthDeps) {
  const isAllowed = createAddressMatcher(metricsAllow);

  const mayReadMetrics = (request: Request, peer: string) =>
    isAllowed(peer) || (isLocal && isMadeHere(request, peer));

  return new Elysia()
    .get('/healthz', () => Response.json({ status: 'ok' }, { headers: NO_STORE }))
    .get('/readyz', async () => {
      const { isReady, parts } = await readiness();
      return Response.json(
        { status: isReady ? 'ready' : 'not ready', ...parts },
        { status: isReady ? 200 : 503, headers: isReady ? NO_STORE : { ...NO_STORE, 'Retry-After': '2' } },
      );
    })
    .get('/metrics', ({ request, server }) => {
      if (!mayReadMetrics(request, server?.requestIP(request)?.address ?? '')) {
        return Response.json({ success: false, message: 'Not found' }, { status: 404, headers: NO_STORE });
      }
      const { text, contentType } = metrics.render();
      return new Response(text, { headers: { ...NO_STORE, 'Content-Type': contentType } });
    });
}
