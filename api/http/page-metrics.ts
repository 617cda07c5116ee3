import type { App } from './listen.ts';
import type { RecordRequest } from './pipeline.ts';

/** The label of all requests that match no route: a label for each made-up path would make their number unbounded. */
export const UNKNOWN_ROUTE = 'unknown';

/**
 * Wraps an app to record its pages and files in the metrics, by path template. The API's routes record themselves.
 */
export function withPageMetrics(
  app: App,
  {
    bases,
    templates,
    recordRequest,
  }: { bases: readonly string[]; templates: readonly string[]; recordRequest: RecordRequest },
): App {
  const pages = [...new Set(templates)].filter((path) => !bases.some((base) => path.startsWith(base)));
  const exact = new Set(pages.filter((path) => !/[:*]/.test(path)));
  const patterns = pages
    .filter((path) => !exact.has(path))
    .map((path) => ({
      path,
      pattern: new RegExp(`^${path.replace(/:[^/]+/g, '[^/]+').replace('*', '.+')}$`),
    }));
  const routeOf = (pathname: string) =>
    exact.has(pathname)
      ? pathname
      : (patterns.find(({ pattern }) => pattern.test(pathname))?.path ?? UNKNOWN_ROUTE);

  return {
    get server() {
      return app.server;
    },
    set server(server) {
      app.server = server;
    },
    fetch: (request) => {
      const pathname = pathOf(request.url);
      if (bases.some((base) => pathname === base || pathname.startsWith(`${base}/`)))
        return app.fetch(request);
      const { method } = request;
      const startedMs = performance.now();
      return Promise.resolve(app.fetch(request)).then((response) => {
        const seconds = (performance.now() - startedMs) / 1000;
        recordRequest({ kind: 'page', method, route: routeOf(pathname), status: response.status, seconds });
        return response;
      });
    },
  };
}

/** The path as it was sent: `URL` would resolve `..` and percent-encode characters. */
export function pathOf(url: string): string {
  const start = url.indexOf('/', url.indexOf('://') + 3);
  const query = url.indexOf('?', start);
  return url.slice(start, query === -1 ? undefined : query);
}
