import { Elysia } from 'elysia';
import { requireUnblocked } from '../../src/queries/users/users.ts';
import { namesLoopback } from '../http/host.ts';
import type { Incoming } from '../http/route-definition.ts';
import { AccountPage } from './account/account.tsx';
import type { ErrorKey } from './locales/texts.ts';
import { createPageParts } from './page-parts.ts';
import type { PagesDeps } from './pages-deps.ts';
import { PageError } from './request/page-error.ts';
import { respondWithPage } from './request/page-response.ts';
import { asUser, identifyIfPossible, isRead, type Visit } from './request/visit.ts';
import { enforceLimit } from './responder.ts';
import { DEMO_SIGN_IN_PATH, signInToDemo } from './sign-in/demo-sign-in.tsx';
import { finishSignIn, SignInPage, startSignIn } from './sign-in/sign-in.tsx';
import { respondWithBanner } from './status/status-routes.tsx';
import { createUserResponse } from './user-response.ts';

/** The messages of error pages that replace JSON errors of the API for browsers, by HTTP status. */
const ERROR_KEYS: Record<number, ErrorKey> = {
  404: 'not-found',
  429: 'too-many-requests',
  503: 'unavailable',
};

/**
 * All HTML pages; they also work without scripts. Errors become pages here and never reach the JSON error handler of
 * the API; `toErrorPage` does the same for errors of the other routes.
 */
export function pages(deps: PagesDeps) {
  const { demoPeople, limits, clientKey, settings } = deps;
  const parts = createPageParts(deps);
  const { shared, site, secure, visits, signIn, respond, respondPublicly } = parts;
  const { redirect } = shared;
  const respondToUser = createUserResponse({ visits, respond, redirect, limits, clientKey });

  // Handlers name what they use of Elysia's context: given all of it, Elysia parses the query and every cookie first.
  const app = new Elysia({ name: 'pages' })
    .get('/account', ({ request, server }) => respond({ request, server }, showAccount))
    .get('/account/sign-in', ({ request, server }) =>
      respond({ request, server }, async (visit) => {
        await enforceLimit(limits.attempts, clientKey({ request, server }));
        return visit.session ? redirect(visit, visit.next ?? '/account') : startSignIn(signIn, visit);
      }),
    )
    .get('/account/sign-in/return', ({ request, server }) =>
      respond({ request, server }, async (visit) => {
        await enforceLimit(limits.attempts, clientKey({ request, server }));
        return finishSignIn(signIn, visit);
      }),
    )
    .get('/account/assets/:file', ({ request, server, params }) => {
      const response = site.assets.respond(params.file, request) ?? site.logo.respond(params.file);
      return response ? secure(response) : respond({ request, server }, notFound);
    })
    .all('/account/*', ({ request, server }) => respond({ request, server }, notFound), { parse: 'none' })
    .get('/servers/:slug/banner.png', ({ request, server, params }) =>
      respondWithServerBanner({ request, server }, params.slug),
    );
  for (const { path, prepare } of parts.publicRoutes) {
    app.get(path, ({ request, server, params }) => {
      const show = async (visit: Visit) => respondPublicly(visit, prepare(params));
      return respond({ request, server }, show, { identify: identifyIfPossible });
    });
  }
  if (settings.appeals) {
    // Kick messages show this path.
    for (const path of ['/appeal', '/appeal/:id']) {
      app.get(path, ({ request, server }) =>
        respond({ request, server }, async (visit) => redirect(visit, `/account${visit.url.pathname}`)),
      );
    }
  }
  for (const route of parts.userRoutes) {
    app.route(
      route.method,
      `/account${route.path}`,
      ({ request, server, params }) => respondToUser({ request, server }, route, params),
      { parse: 'none' },
    );
  }
  if (demoPeople) {
    app.post(
      DEMO_SIGN_IN_PATH,
      ({ request, server }) =>
        respond({ request, server }, (visit) => signInToDemo({ ...visits, people: demoPeople }, visit), {
          readsForm: true,
        }),
      { parse: 'none' },
    );
  }
  for (const [path, routes] of Map.groupBy(app.routes, (route) => route.path)) {
    const methods = routes.map(({ method }) => method);
    if (methods.includes('ALL')) continue;
    app.all(path, ({ request, server }) => refuseMethod({ request, server }, methods), { parse: 'none' });
  }
  return { app, site, secure, toErrorPage };

  async function showAccount(visit: Visit): Promise<Response> {
    requireUnblocked(visit.blockedUser);
    const userVisit = asUser(visit);
    if (userVisit) return respondWithPage(<AccountPage deps={shared} visit={userVisit} />);
    const isOtherHost = !settings.isPublicUrlSet && !namesLoopback(visit.url.hostname);
    return respondWithPage(
      <SignInPage
        site={site}
        visit={visit}
        defaultPublicUrl={isOtherHost ? settings.publicUrl : undefined}
        canAppeal={settings.appealUrl !== undefined || settings.appeals !== undefined}
      />,
    );
  }

  /** Looks up no session: the banner is embedded in pages of other sites. */
  async function respondWithServerBanner(incoming: Incoming, slug: string): Promise<Response> {
    const response = await respond(
      incoming,
      (visit) => respondWithBanner(deps.status.findBanner, visit, slug),
      { identify: async () => {}, limiter: limits.banners },
    );
    response.headers.set('cross-origin-resource-policy', 'cross-origin');
    return response;
  }

  /** The error page for a request with a method that a page does not have. @param methods those that it has. */
  async function refuseMethod(incoming: Incoming, methods: readonly string[]): Promise<Response> {
    const page = await respondWithError(
      incoming,
      new PageError(isRead(incoming.request) ? 'only-forms' : 'no-forms', 405),
    );
    const allowedMethods = ['GET', 'HEAD', 'POST'].filter(
      (method) => methods.includes(method) || (method === 'HEAD' && methods.includes('GET')),
    );
    page.headers.set('allow', allowedMethods.join(', '));
    return page;
  }

  /** The error page that replaces an error response of another route; keeps its status and `Retry-After`. */
  async function toErrorPage(incoming: Incoming, { status, headers }: Response): Promise<Response> {
    const retryAfter = headers.get('retry-after');
    const key = ERROR_KEYS[status] ?? 'internal';
    const page = await respondWithError(incoming, new PageError(key, status, { limit: Number(retryAfter) }));
    if (retryAfter !== null && page.status === status) page.headers.set('retry-after', retryAfter);
    return page;
  }

  function respondWithError(incoming: Incoming, error: PageError): Promise<Response> {
    const fail = async () => {
      throw error;
    };
    return respond(incoming, fail, { identify: identifyIfPossible });
  }
}

async function notFound(): Promise<Response> {
  throw new PageError('not-found', 404);
}
