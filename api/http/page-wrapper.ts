import type { App } from './listen.ts';
import type { RecordRequest } from './pipeline.ts';

/** Turns a JSON error response into an HTML page. */
type ToErrorPage = (
  incoming: { request: Request; server: App['server'] },
  error: Response,
) => Promise<Response>;

/** The label of all requests that match no route: a label for each made-up path would make their number unbounded. */
export const UNKNOWN_ROUTE = 'unknown';

/** Read by programs: JSON whatever the Accept header says. */
const FOR_PROGRAMS = ['/healthz', '/readyz', '/swagger/json'];

/**
 * Wraps an app for its pages and files: a client that accepts `text/html` gets a page in place of a 404, 429 or 5xx in JSON,
 * and requests are recorded in the metrics, by path template. The API's routes record themselves, and their errors stay JSON.
 * @param bases path prefixes of the API.
 */
export function withPages(
  app: App,
  {
    bases,
    templates,
    recordRequest,
    toErrorPage,
  }: {
    bases: readonly string[];
    templates: readonly string[];
    recordRequest: RecordRequest;
    toErrorPage: ToErrorPage;
  },
): App {
  const findTemplate = createTemplateFinder(
    [...new Set(templates)].filter((path) => !bases.some((base) => path.startsWith(base))),
  );

  async function respond(request: Request, pathname: string): Promise<Response> {
    const startedMs = performance.now();
    const raw = await app.fetch(request);
    const isForPeople =
      request.headers.get('accept')?.includes('text/html') && !FOR_PROGRAMS.includes(pathname);
    const response =
      isForPeople && isRawError(raw) ? await toErrorPage({ request, server: app.server }, raw) : raw;
    const seconds = (performance.now() - startedMs) / 1000;
    const route = findTemplate(pathname) ?? UNKNOWN_ROUTE;
    recordRequest({ kind: 'page', method: request.method, route, status: response.status, seconds });
    return response;
  }

  return {
    get server() {
      return app.server;
    },
    set server(server) {
      app.server = server;
    },
    fetch: (request) => {
      const pathname = pathOf(request.url);
      const isApi = bases.some((base) => pathname === base || pathname.startsWith(`${base}/`));
      return isApi ? app.fetch(request) : respond(request, pathname);
    },
  };
}

/** Finds the template that a path matches, with or without a slash at its end; those without parameters come first. */
export function createTemplateFinder(templates: readonly string[]): (path: string) => string | undefined {
  const routes = templates.map((template) => ({
    template,
    hasParameters: /[:*]/.test(template),
    pattern: new RegExp(`^${template.replace(/:[^/]+/g, '[^/]+').replace('*', '.+')}/?$`),
  }));
  routes.sort((one, other) => Number(one.hasParameters) - Number(other.hasParameters));
  return (path) => routes.find(({ pattern }) => pattern.test(path))?.template;
}

function isRawError({ status, headers }: Response): boolean {
  const isShown = status === 404 || status === 429 || status >= 500;
  return isShown && headers.get('content-type')?.startsWith('application/json') === true;
}

/** The path as it was sent: `URL` would resolve `..` and percent-encode characters. */
export function pathOf(url: string): string {
  const start = url.indexOf('/', url.indexOf('://') + 3);
  const query = url.indexOf('?', start);
  return url.slice(start, query === -1 ? undefined : query);
}
