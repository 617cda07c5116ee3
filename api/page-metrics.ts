import type { App } from './http/listen.ts';
import type { NoteRequest } from './http/routes.ts';

/** What no route takes: made-up addresses would be labels without end. */
export const UNKNOWN_ROUTE = 'unknown';

/**
 * The same app, whose pages and files are told to `/metrics` too, by the templates of their addresses. The API's routes do
 * that themselves.
 */
export function withPageMetrics(
  app: App,
  {
    bases,
    templates,
    noteRequest,
  }: { bases: readonly string[]; templates: readonly string[]; noteRequest: NoteRequest },
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
      const startedMs = performance.now();
      return Promise.resolve(app.fetch(request)).then((response) => {
        const seconds = (performance.now() - startedMs) / 1000;
        noteRequest({ kind: 'page', route: routeOf(pathname), status: response.status, seconds });
        return response;
      });
    },
  };
}

/** As it was sent: `URL` would resolve `..` and escape what is not. */
export function pathOf(url: string): string {
  const start = url.indexOf('/', url.indexOf('://') + 3);
  const query = url.indexOf('?', start);
  return url.slice(start, query === -1 ? undefined : query);
}
