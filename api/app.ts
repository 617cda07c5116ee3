import { Elysia } from 'elysia';
import type { Logger } from 'pino';
import { NotFound } from '../src/domain/errors.ts';
import { type HealthDeps, health } from './health.ts';
import {
  createErrorMapper,
  createTroubleLog,
  type ErrorMapper,
  MethodNotAllowed,
} from './http/error-handler.ts';
import type { App, HotRoutes } from './http/listen.ts';
import { createTemplateFinder, pathOf, UNKNOWN_ROUTE, withPages } from './http/page-wrapper.ts';
import { createPipeline, type PipelineDeps } from './http/pipeline.ts';
import { CORS_HEADERS, respondError } from './http/responses.ts';
import type { Incoming, Operation, Pipeline, Route } from './http/route-definition.ts';
import { openApi } from './openapi/document.ts';
import { siteFiles } from './site-files.ts';
import { storage } from './storage/storage.ts';
import { type EndpointDeps, ROUTES } from './v1/routes.ts';
import { openApiPage } from './web/guide/page.tsx';
import { pages } from './web/pages.tsx';
import type { PagesDeps } from './web/pages-deps.ts';

type ApiDeps = Omit<PipelineDeps, 'toErrorResponse'> &
  Omit<EndpointDeps, 'baseUrl'> & {
    log: Logger;
    version: string;
    isPublicUrlSet: boolean;
    health: HealthDeps;
    /** Where vulnerabilities are reported. */
    securityContact: string | undefined;
    pages: Omit<PagesDeps, 'log' | 'logTrouble' | 'clientKey'>;
    storage: Parameters<typeof storage>[0];
  };

/** For requests that match no route. */
const NO_OPERATION = { id: UNKNOWN_ROUTE, parameters: {} };

/** Both forms of the base address (specification 1.6); they share handlers, caches and limits. */
export const BASES = ['/api/v1', '/index.php/api/v1'] as const;

const METHODS = 'GET, HEAD, OPTIONS';
const PREFLIGHT_HEADERS = {
  ...CORS_HEADERS,
  'Access-Control-Allow-Methods': METHODS,
  'Access-Control-Allow-Headers': 'Authorization, Content-Type, If-None-Match, Last-Event-ID, X-Request-Id',
  'Access-Control-Max-Age': '86400',
};

/** Everything HTTP: the API under both bases, its document, health, sounds and pages. Not yet listening. */
export function createApi(deps: ApiDeps): { app: App; hotRoutes: HotRoutes } {
  const logTrouble = createTroubleLog(deps.log);
  const toErrorResponse = createErrorMapper(deps.log, logTrouble);
  const pipeline = createPipeline({ ...deps, toErrorResponse });
  const bases = BASES.map((base) => {
    const endpoints = ROUTES.map(({ bind, ...route }) => ({
      ...route,
      handle: bind(pipeline, { ...deps, baseUrl: `${deps.publicUrl}${base}` }),
    }));
    return { base, endpoints };
  });
  const web = pages({
    ...deps.pages,
    log: deps.log,
    logTrouble,
    clientKey: deps.clientKey,
  });
  const app = createApp(toErrorResponse)
    .use(health(deps.health))
    .use(siteFiles(deps))
    .use(
      openApi({
        ...deps,
        publicUrl: deps.isPublicUrlSet ? deps.publicUrl : undefined,
        base: BASES[0],
        operations: ROUTES,
      }),
    )
    .use(openApiPage(deps, web))
    .use(web.app)
    .use(storage(deps.storage))
    .use(bases.map(({ base, endpoints }) => version1(base, endpoints, pipeline)))
    .compile();
  const templates = app.routes.map(({ path }) => path);
  const { recordRequest } = deps;
  return {
    app: withPages(app, { bases: BASES, templates, recordRequest, toErrorPage: web.toErrorPage }),
    hotRoutes: Object.fromEntries(
      bases.flatMap(({ base, endpoints }) =>
        endpoints
          .filter(isHot)
          .map(({ path, handle }) => [base + path, (request, server) => handle({ request, server })]),
      ),
    ),
  };
}

/** Health and metrics only, for a process without the API. Not yet listening. */
export function createHealthApi({ log, health: deps }: Pick<ApiDeps, 'log' | 'health'>) {
  return createApp(createErrorMapper(log)).use(health(deps)).compile();
}

/** An app without routes. Its errors are JSON; a method that a path does not have is 405. */
export function createApp(toErrorResponse: ErrorMapper) {
  const app = new Elysia({
    // By default Elysia assumes a host name of at least four characters; a container may be called `api`.
    handler: { standardHostname: false },
  });
  let findTemplate: ReturnType<typeof createTemplateFinder> | undefined;
  const refuse = ({ method, url }: Request) => {
    findTemplate ??= createTemplateFinder(app.routes.map(({ path }) => path));
    const isKnown = method !== 'GET' && method !== 'HEAD' && findTemplate(pathOf(url)) !== undefined;
    return isKnown ? new MethodNotAllowed('GET, HEAD') : new NotFound('Not found');
  };
  return app.onError(({ code, error, request }) =>
    respondError(toErrorResponse(code === 'NOT_FOUND' ? refuse(request) : error, request)),
  );
}

type Endpoint = Operation & { handle: ReturnType<Route<never>['bind']> };

/** Version 1 under one base, and its fallback: a rate-limited 404 in JSON, 405 for a known path. */
function version1(prefix: string, endpoints: readonly Endpoint[], pipeline: Pipeline) {
  const app = new Elysia({ prefix });
  for (const { path, success, handle } of endpoints) {
    app.get(path, ({ request, server, params }) => handle({ request, server, params }));
    // For a GET without HEAD, Elysia would read the stream to its end.
    if (success.contentType)
      app.head(path, ({ request, server, params }) => handle({ request, server, params }));
  }
  const findTemplate = createTemplateFinder(endpoints.map(({ path }) => prefix + path));
  const refuse = ({ request, server }: Incoming) => {
    const isKnown = findTemplate(pathOf(request.url)) !== undefined;
    if (request.method === 'OPTIONS' && (isKnown || isPreflight(request)))
      return new Response(null, { status: 204, headers: PREFLIGHT_HEADERS });
    return pipeline.handlePublic({ request, server }, NO_OPERATION, () => {
      throw isKnown ? new MethodNotAllowed(METHODS) : new NotFound('Not found');
    });
  };
  return app.all('/', refuse).all('/*', refuse);
}

/** A cached list without parameters: the paths that are requested most. */
function isHot({ policy, parameters }: Endpoint): boolean {
  return policy === 'public' && Object.keys(parameters).length === 0;
}

/** Answered for unknown routes too, so that a page of another origin can read their 404. */
function isPreflight({ headers }: Request): boolean {
  return headers.has('origin') && headers.has('access-control-request-method');
}
