import type { App } from './listen.ts';

/** Turns a JSON error response into an HTML page. */
export type ToErrorPage = (
  incoming: { request: Request; server: App['server'] },
  error: Response,
) => Promise<Response>;

/** Read by programs: JSON whatever the Accept header says. */
const FOR_PROGRAMS = ['/healthz', '/readyz', '/swagger/json'];

/**
 * Wraps an app: a client that accepts `text/html` gets a page in place of a 404, 429 or 5xx in JSON.
 * @param bases path prefixes of the API, where errors stay JSON.
 */
export function withErrorPages(
  app: App,
  { bases, toErrorPage }: { bases: readonly string[]; toErrorPage: ToErrorPage },
): App {
  const isBrowser = ({ headers, url }: Request) => {
    if (!headers.get('accept')?.includes('text/html')) return false;
    const { pathname } = new URL(url);
    const isApi = bases.some((base) => pathname === base || pathname.startsWith(`${base}/`));
    return !isApi && !FOR_PROGRAMS.includes(pathname);
  };
  return {
    get server() {
      return app.server;
    },
    set server(server) {
      app.server = server;
    },
    fetch: (request) =>
      isBrowser(request)
        ? Promise.resolve(app.fetch(request)).then((response) =>
            isRawError(response) ? toErrorPage({ request, server: app.server }, response) : response,
          )
        : app.fetch(request),
  };
}

function isRawError({ status, headers }: Response): boolean {
  const isShown = status === 404 || status === 429 || status >= 500;
  return isShown && headers.get('content-type')?.startsWith('application/json') === true;
}
