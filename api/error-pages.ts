import type { App } from './http/listen.ts';

/** Makes a page of an error that would be sent as JSON. */
export type ToErrorPage = (request: Request, error: Response) => Promise<Response>;

/** What programs read, whatever they accept. */
const FOR_PROGRAMS = ['/healthz', '/readyz', '/swagger/json'];

/**
 * The same app, except that a browser (who accepts `text/html`) is shown a page wherever it would get 404, 429 or a
 * failure of ours as JSON.
 * @param bases below which everything stays JSON.
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
            isRawError(response) ? toErrorPage(request, response) : response,
          )
        : app.fetch(request),
  };
}

function isRawError({ status, headers }: Response): boolean {
  const isShown = status === 404 || status === 429 || status >= 500;
  return isShown && headers.get('content-type')?.startsWith('application/json') === true;
}
