import { Elysia } from 'elysia';
import { NotFound } from '../src/errors.ts';
import { type AccountDeps, accountPages } from './account/account.tsx';
import { connect } from './connect.ts';
import { createErrorMapper, type ErrorMapper, MethodNotAllowed } from './error-handler.ts';
import { health } from './health.ts';
import { openApi } from './openapi.ts';
import {
  CORS_HEADERS,
  clientKey,
  createRoutes,
  type Incoming,
  type RouteDeps,
  type Routes,
  respondError,
} from './routes.ts';
import { storage } from './storage.ts';
import { penalties } from './v1/penalties.ts';
import { roundSounds } from './v1/round-sounds.ts';
import { type BodyCache, createBodyCache, servers } from './v1/servers.ts';
import { users } from './v1/users.ts';

export type ApiDeps = RouteDeps & {
  publicUrl: string;
  version: string;
  servers: Omit<Parameters<typeof servers>[1], 'bodies'>;
  penalties: Parameters<typeof penalties>[1];
  users: Parameters<typeof users>[1];
  roundSounds: Omit<Parameters<typeof roundSounds>[1], 'publicUrl'>;
  health: Parameters<typeof health>[0];
  account: Omit<AccountDeps, 'log' | 'clientKey'>;
  storage: Parameters<typeof storage>[0];
  /** The largest upload; every other body is small. */
  maxUploadBytes: number;
};

/** Made once for both bases. */
type Shared = { routes: Routes; bodies: BodyCache; deps: ApiDeps };

/** Both forms of the base address (specification 1.6); they share handlers, caches and limits. */
export const BASES = ['/api/v1', '/index.php/api/v1'] as const;

/** Above the largest upload, so that one which is too large is answered with a page that says so. */
const BODY_MARGIN_BYTES = 16 * 1024 * 1024;

const METHODS = 'GET, HEAD, OPTIONS';
const PREFLIGHT_HEADERS = {
  ...CORS_HEADERS,
  'Access-Control-Allow-Methods': METHODS,
  'Access-Control-Allow-Headers': 'Authorization, Content-Type, If-None-Match',
  'Access-Control-Max-Age': '86400',
};

/** Everything HTTP: the API under both bases, its document, health, the account page. Not yet listening. */
export function createApi(deps: ApiDeps) {
  const routes = createRoutes(deps);
  const bodies = createBodyCache(deps.servers.board);
  const toErrorAnswer = createErrorMapper(deps.log);
  return new Elysia({
    // Elysia takes every host for one of four characters at least; a container's may be called `api`.
    handler: { standardHostname: false },
    serve: { idleTimeout: 30, maxRequestBodySize: deps.maxUploadBytes + BODY_MARGIN_BYTES },
  })
    .onError(({ code, error }) => answerError(code, error, toErrorAnswer))
    .get('/', leadToAccount, { detail: { hide: true } })
    .use(health(deps.health))
    .use(openApi(deps))
    .use(connect(deps.servers))
    .use(accountPages({ ...deps.account, log: deps.log, clientKey: (incoming) => clientKey(incoming, deps) }))
    .use(storage(deps.storage))
    .use(version1(BASES[0], { routes, bodies, deps }))
    .use(version1(BASES[1], { routes, bodies, deps }));
}

/** Somebody who opens the bare address is a person: the account page is where people begin. */
function leadToAccount(): Response {
  return new Response(null, { status: 302, headers: { Location: '/account' } });
}

/** Version 1 under one base. What no route takes is answered here too: limited, in JSON, with 405 for a known path. */
function version1(prefix: string, { routes, bodies, deps }: Shared) {
  const app = new Elysia({ prefix })
    .use(servers(routes, { ...deps.servers, bodies }))
    .use(roundSounds(routes, { ...deps.roundSounds, publicUrl: deps.publicUrl }))
    .use(penalties(routes, deps.penalties))
    .use(users(routes, deps.users));
  const known = app.routes.map(({ path }) => new RegExp(`^${path.replace(/:[^/]+/g, '[^/]+')}/?$`));
  const refuse = ({ request, server }: Incoming) => {
    const path = pathOf(request.url);
    const isKnown = known.some((pattern) => pattern.test(path));
    if (isKnown && request.method === 'OPTIONS')
      return new Response(null, { status: 204, headers: PREFLIGHT_HEADERS });
    return routes.open({ request, server }, () => {
      throw isKnown ? new MethodNotAllowed(METHODS) : new NotFound('Not found');
    });
  };
  const hidden = { detail: { hide: true } };
  return app
    .all('/', ({ request, server }) => refuse({ request, server }), hidden)
    .all('/*', ({ request, server }) => refuse({ request, server }), hidden);
}

/** By hand: a Host header that is no host makes an address that `URL` refuses. */
function pathOf(url: string): string {
  const authority = url.indexOf('://');
  const start = url.indexOf('/', authority === -1 ? 0 : authority + 3);
  const query = url.indexOf('?', start);
  return url.slice(start, query === -1 ? undefined : query);
}

function answerError(code: string | number, error: unknown, toErrorAnswer: ErrorMapper): Response {
  if (code === 'NOT_FOUND') return respondError({ status: 404, message: 'Not found' }, {}, 'no-store');
  return respondError(toErrorAnswer(error), {}, 'no-store');
}
