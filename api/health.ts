import { Elysia } from 'elysia';
import type { Metrics } from '../src/metrics.ts';

export type Readiness = { isReady: boolean; parts: Record<string, unknown> };

type Deps = {
  /** Whether the database is reachable and migrated, and how each part is. */
  readiness: () => Promise<Readiness>;
  metrics: Metrics;
  /** Whether a peer may read `/metrics`, by its address. */
  mayReadMetrics: (address: string) => boolean;
};

/** What proxies add to a request they forward. */
const PROXY_HEADERS = ['x-forwarded-for', 'x-real-ip', 'forwarded', 'via'];
const NO_STORE = { 'Cache-Control': 'no-store' };

/** `/healthz`: the process lives. `/readyz`: it can answer. `/metrics`: Prometheus text. None of them counts for limits. */
export function health({ readiness, metrics, mayReadMetrics }: Deps) {
  return new Elysia({ detail: { hide: true } })
    .get('/healthz', () => Response.json({ status: 'ok' }, { headers: NO_STORE }))
    .get('/readyz', async () => {
      const { isReady, parts } = await readiness();
      return Response.json(
        { status: isReady ? 'ready' : 'not ready', ...parts },
        { status: isReady ? 200 : 503, headers: isReady ? NO_STORE : { ...NO_STORE, 'Retry-After': '2' } },
      );
    })
    .get('/metrics', async ({ request, server }) => {
      const peer = server?.requestIP(request)?.address ?? '';
      // A proxy on this machine is loopback too: what it forwards is not.
      if (PROXY_HEADERS.some((name) => request.headers.has(name)) || !mayReadMetrics(peer)) {
        return Response.json({ success: false, message: 'Not found' }, { status: 404, headers: NO_STORE });
      }
      const { text, contentType } = await metrics.render();
      return new Response(text, { headers: { ...NO_STORE, 'Content-Type': contentType } });
    });
}
