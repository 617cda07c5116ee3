import { Elysia } from 'elysia';
import type { Logger } from 'pino';
import { NotFound } from '../src/domain/errors.ts';
import { withErrorPages } from './error-pages.ts';
import { type HealthDeps, health } from './health.ts';
import { createErrorMapper, type ErrorMapper, MethodNotAllowed } from './http/error-handler.ts';
import type { App, HotRoutes } from './http/listen.ts';
import { CORS_HEADERS, respondError } from './http/responses.ts';
import { clientKey, createRoutes, type Incoming, type RouteDeps, type Routes } from './http/routes.ts';
import { openApi } from './openapi/document.ts';
import type { RateLimits } from './openapi/headers.ts';
import type { Operation } from './openapi/operation.ts';
import { pathOf, UNKNOWN_ROUTE, withPageMetrics } from './page-metrics.ts';
import { storage } from './storage/storage.ts';
import { type BodyCache, createBodyCache } from './v1/body-cache.ts';
import { EVENT_OPERATIONS, events } from './v1/events/events.ts';
import { ACTIVE_PENALTY_OPERATIONS, activePenalties } from './v1/penalties/active-penalties.ts';
import { PENALTY_OPERATIONS, penalties } from './v1/penalties/penalties.ts';
import { PENALTY_EXPORT_OPERATIONS, penaltyExport } from './v1/penalties/penalty-export.ts';
import { PLAYER_SEARCH_OPERATIONS, playerSearch } from './v1/players/player-search.ts';
import { ROUND_SOUND_BATCH_OPERATIONS, roundSoundBatch } from './v1/players/round-sound-batch.ts';
import { ROUND_SOUND_OPERATIONS, roundSounds } from './v1/players/round-sounds.ts';
import { STEAM_BAN_OPERATIONS, steamBans } from './v1/players/steam-bans.ts';
import { SERVER_HISTORY_OPERATIONS, serverHistory } from './v1/servers/server-history.ts';
import { createServerLister, SERVER_OPERATIONS, servers } from './v1/servers/servers.ts';
import { USER_OPERATIONS, users } from './v1/users/users.ts';
import { pages } from './web/pages.tsx';
import type { PagesDeps } from './web/pages-deps.ts';

export type ApiDeps = RouteDeps & {
  publicUrl: string;
  version: string;
  /** The limits that the OpenAPI document states, in requests a minute. */
  limits: RateLimits;
  servers: Omit<Parameters<typeof servers>[1], 'bodies'> &
    Parameters<typeof serverHistory>[1] & {
      /** Called for each lookup in the body cache. */
      onBodyLookup: (isHit: boolean) => void;
    };
  penalties: Omit<Parameters<typeof penalties>[1], 'baseUrl'> &
    Parameters<typeof activePenalties>[1] &
    Parameters<typeof penaltyExport>[1];
  users: Parameters<typeof users>[1] & Parameters<typeof playerSearch>[1];
  steamBans: Parameters<typeof steamBans>[1];
  events: Parameters<typeof events>[1];
  roundSounds: Omit<
    Parameters<typeof roundSounds>[1] & Parameters<typeof roundSoundBatch>[1],
    'publicUrl' | 'now'
  >;
  health: HealthDeps;
  pages: Omit<PagesDeps, 'log' | 'clientKey'>;
  storage: Omit<Parameters<typeof storage>[0], 'clientKey'>;
};

/** What both bases share. */
type Shared = { routes: Routes; bodies: BodyCache; deps: ApiDeps };

/** Every operation of the OpenAPI document. */
export const OPERATIONS: readonly Operation[] = [
  ...SERVER_OPERATIONS,
  ...SERVER_HISTORY_OPERATIONS,
  ...ROUND_SOUND_OPERATIONS,
  ...ROUND_SOUND_BATCH_OPERATIONS,
  ...PLAYER_SEARCH_OPERATIONS,
  ...STEAM_BAN_OPERATIONS,
  ...PENALTY_OPERATIONS,
  ...ACTIVE_PENALTY_OPERATIONS,
  ...PENALTY_EXPORT_OPERATIONS,
  ...USER_OPERATIONS,
  ...EVENT_OPERATIONS,
];

/** For requests that match no route. */
const NO_OPERATION = { id: UNKNOWN_ROUTE, parameters: {} };

/** Both forms of the base address (specification 1.6); they share handlers, caches and limits. */
export const BASES = ['/api/v1', '/index.php/api/v1'] as const;

const METHODS = 'GET, HEAD, OPTIONS';
const PREFLIGHT_HEADERS = {
  ...CORS_HEADERS,
  'Access-Control-Allow-Methods': METHODS,
  'Access-Control-Allow-Headers': 'Authorization, Content-Type, If-None-Match, Last-Event-ID',
  'Access-Control-Max-Age': '86400',
};

/** Everything HTTP: the API under both bases, its document, health, sounds and pages. Not yet listening. */
export function createApi(deps: ApiDeps): { app: App; hotRoutes: HotRoutes } {
  const routes = createRoutes(deps);
  const bodies = createBodyCache(deps.servers.serverList, deps.servers.onBodyLookup);
  const web = pages({ ...deps.pages, log: deps.log, clientKey: (incoming) => clientKey(incoming, deps) });
  const app = createApp(deps.log)
    .use(health(deps.health))
    .use(
      openApi({
        ...deps,
        operations: OPERATIONS,
        createDescribed: () => version1(BASES[0], { routes, bodies, deps }),
      }),
    )
    .use(web.app)
    .use(storage(deps.storage))
    .use(version1(BASES[0], { routes, bodies, deps }))
    .use(version1(BASES[1], { routes, bodies, deps }))
    .compile();
  const listServers = createServerLister(routes, { ...deps.servers, bodies });
  const hotRoutes: HotRoutes = Object.fromEntries(
    BASES.map((base) => [`${base}/servers`, (request, server) => listServers({ request, server })]),
  );
  const withPages = withErrorPages(app, { bases: BASES, toErrorPage: web.toErrorPage });
  const templates = app.routes.map(({ path }) => path);
  return {
    app: withPageMetrics(withPages, { bases: BASES, templates, recordRequest: deps.recordRequest }),
    hotRoutes,
  };
}

/** Health and metrics only, for a process without the API. Not yet listening. */
export function createHealthApi({ log, health: deps }: Pick<ApiDeps, 'log' | 'health'>) {
  return createApp(log).use(health(deps)).compile();
}

/** An app without routes whose errors are JSON. */
export function createApp(log: Logger) {
  const toErrorResponse = createErrorMapper(log);
  return new Elysia({
    // By default Elysia assumes a host name of at least four characters; a container may be called `api`.
    handler: { standardHostname: false },
  }).onError(({ code, error }) => respondToError(code, error, toErrorResponse));
}

/** Version 1 under one base, and its fallback: a rate-limited 404 in JSON, 405 for a known path. */
function version1(prefix: string, { routes, bodies, deps }: Shared) {
  const app = new Elysia({ prefix })
    .use(servers(routes, { ...deps.servers, bodies }))
    .use(serverHistory(routes, deps.servers))
    .use(roundSounds(routes, { ...deps.roundSounds, publicUrl: deps.publicUrl }))
    .use(roundSoundBatch(routes, { ...deps.roundSounds, publicUrl: deps.publicUrl, now: deps.now }))
    .use(steamBans(routes, deps.steamBans))
    .use(penalties(routes, { ...deps.penalties, baseUrl: `${deps.publicUrl}${prefix}` }))
    .use(activePenalties(routes, deps.penalties))
    .use(penaltyExport(routes, deps.penalties))
    .use(users(routes, deps.users))
    .use(playerSearch(routes, deps.users))
    .use(events(routes, deps.events));
  const known = app.routes.map(({ path }) => new RegExp(`^${path.replace(/:[^/]+/g, '[^/]+')}/?$`));
  const refuse = ({ request, server }: Incoming) => {
    const path = pathOf(request.url);
    const isKnown = known.some((pattern) => pattern.test(path));
    if (request.method === 'OPTIONS' && (isKnown || isPreflight(request)))
      return new Response(null, { status: 204, headers: PREFLIGHT_HEADERS });
    return routes.handlePublic({ request, server }, NO_OPERATION, () => {
      throw isKnown ? new MethodNotAllowed(METHODS) : new NotFound('Not found');
    });
  };
  const hidden = { detail: { hide: true } };
  return app
    .all('/', ({ request, server }) => refuse({ request, server }), hidden)
    .all('/*', ({ request, server }) => refuse({ request, server }), hidden);
}

/** Answered for unknown routes too, so that a page of another origin can read their 404. */
function isPreflight({ headers }: Request): boolean {
  return headers.has('origin') && headers.has('access-control-request-method');
}

function respondToError(code: string | number, error: unknown, toErrorResponse: ErrorMapper): Response {
  if (code === 'NOT_FOUND') return respondError({ status: 404, message: 'Not found' });
  return respondError(toErrorResponse(error));
}
