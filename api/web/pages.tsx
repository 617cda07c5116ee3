import { Elysia } from 'elysia';
import type { SteamId64 } from '../../src/domain/steam-id.ts';
import { requireUnblocked } from '../../src/queries/users/users.ts';
import { fetchSteamProfile } from '../../src/steam/persona-names.ts';
import { createVanityNames } from '../../src/steam/vanity-names.ts';
import { namesLoopback } from '../http/host.ts';
import { AccountPage, accountRoutes } from './account/account.tsx';
import { loadAssets } from './layout/assets.ts';
import type { Site } from './layout/layout.tsx';
import { type ErrorKey, textsOf } from './layout/locales/texts.ts';
import { createLogo } from './layout/logo.ts';
import { moderationRoutes } from './moderation/moderation.ts';
import type { AccountDeps, Incoming, PagesDeps } from './pages-deps.ts';
import { publicPenaltyRoutes } from './penalties/public-page.tsx';
import { createCookies } from './request/cookies.ts';
import { createDestinations, withDestination } from './request/destination.ts';
import type { MemberRoute } from './request/member-route.ts';
import { createRedirect } from './request/notice.ts';
import { PageError } from './request/page-error.ts';
import { respondWithPage } from './request/page-response.ts';
import { createEndedSessions } from './request/session.ts';
import { createSigner } from './request/signing.ts';
import {
  asMember,
  identifyIfPossible,
  identifyVisitor,
  isRead,
  readMemberForm,
  requireMember,
  type Visit,
  wantsJson,
} from './request/visit.ts';
import { createPublicResponse, createResponder, createSecurityHeaders, enforceLimit } from './responder.ts';
import { DEMO_SIGN_IN_PATH, signInToDemo } from './sign-in/demo-sign-in.tsx';
import { finishSignIn, SignInPage, startSignIn } from './sign-in/sign-in.tsx';
import { respondWithBanner, statusRoutes } from './status/status-routes.tsx';

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
  const { db, settings, log, fetch: fetchUrl = fetch, now = () => new Date() } = deps;
  const { publicUrl } = settings;
  const site: Site = {
    assets: loadAssets(settings.site.accent),
    name: settings.site.name,
    publicUrl,
    logo: createLogo(settings.site.logoUrl, { fetch: fetchUrl, log }),
    discordInviteUrl: settings.site.discordInviteUrl,
    arePenaltiesPublic: settings.arePenaltiesPublic,
    takesAppeals: settings.appeals !== undefined,
  };
  void site.logo.load();
  const cookies = createCookies(publicUrl);
  const signer = createSigner(deps.sessionSecret);
  const redirect = createRedirect(cookies);
  const { clientId, clientSecret } = settings.discord;
  const discord =
    clientId && clientSecret
      ? {
          ...settings.discord,
          clientId,
          clientSecret,
          redirectUri: `${publicUrl}/account/discord/return`,
          fetch: fetchUrl,
          onRevokeFailed: (cause: unknown) =>
            log.info({ cause: String(cause) }, 'Discord did not revoke the token'),
        }
      : undefined;
  const shared = {
    ...settings,
    ...deps,
    now,
    site,
    cookies,
    signer,
    redirect,
    resolveVanity: createVanityNames(deps.steamApi).resolve,
    fetchProfile: (steamId64: SteamId64) =>
      fetchSteamProfile(deps.steamApi, steamId64, {
        onFailed: (reason) => log.info({ reason }, 'Steam gave no profile'),
      }),
    discord,
    onRefused: (error) => log.info({ reason: error.message }, 'a sign-in or link was refused'),
    onUnavailable: (provider, error) => {
      deps.onProviderFailed?.(provider);
      log.warn({ err: error, provider }, 'a sign-in or link failed: the provider gave no verdict');
    },
  } satisfies AccountDeps & Record<string, unknown>;
  const memberRoutes: readonly MemberRoute[] = [...accountRoutes(shared), ...moderationRoutes(shared)];
  const publicRoutes = [...statusRoutes({ ...deps.status, site }), ...publicPenaltyRoutes({ db, site })];
  const readDestination = createDestinations([
    ...memberRoutes
      .filter(({ method, isPage = true }) => method === 'GET' && isPage)
      .map(({ path }) => `/account${path}`),
    // Visitors who sign in on the home page are redirected to their account.
    ...publicRoutes.map(({ path }) => path).filter((path) => path !== '/'),
  ]);
  const visits = { ...shared, readDestination, endedSessions: createEndedSessions() };
  const signIn = {
    ...visits,
    steam: { providerUrl: settings.steam.openIdUrl, fetch: fetchUrl, now },
  };
  const secure = createSecurityHeaders({
    publicUrl,
    formTargets: discord ? [new URL(discord.apiUrl).origin] : [],
    styleSource: site.assets.stylePolicySource,
  });
  const { demoPeople, limits, clientKey } = deps;
  const respond = createResponder({ ...shared, visits, secure, isDemo: demoPeople !== undefined });
  const respondPublicly = createPublicResponse(site.assets);

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
  for (const { path, prepare } of publicRoutes) {
    app.get(path, ({ request, server, params }) => {
      const show = async (visit: Visit) => respondPublicly(visit, prepare(params));
      return respond({ request, server }, show, { identify: identifyIfPossible });
    });
  }
  for (const route of memberRoutes) {
    app.route(
      route.method,
      `/account${route.path}`,
      ({ request, server, params }) => respondToMember({ request, server }, route, params),
      { parse: 'none' },
    );
  }
  if (demoPeople) {
    app.post(
      DEMO_SIGN_IN_PATH,
      ({ request, server }) =>
        respond({ request, server }, (visit) => signInToDemo({ ...visits, people: demoPeople }, visit)),
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
    const member = asMember(visit);
    if (member) return respondWithPage(<AccountPage deps={shared} visit={member} />);
    const isOtherHost = !settings.isPublicUrlSet && !namesLoopback(visit.url.hostname);
    return respondWithPage(
      <SignInPage
        site={site}
        visit={visit}
        defaultPublicUrl={isOtherHost ? publicUrl : undefined}
        canAppeal={settings.appealUrl !== undefined || settings.appeals !== undefined}
      />,
    );
  }

  /** Responds with a page of the account or of moderation. */
  async function respondToMember(
    incoming: Incoming,
    route: MemberRoute,
    params: Record<string, string>,
  ): Promise<Response> {
    return respond(incoming, async (visit) => {
      const isPost = route.method === 'POST';
      const isSignedOut = !visit.blockedUser && !visit.session;
      if (isSignedOut && route.signedOutNotice) return redirect(visit, '/account', route.signedOutNotice);
      if (!isPost && isSignedOut) {
        const next = readDestination(visit.url.pathname + visit.url.search);
        return redirect(visit, withDestination('/account', next), 'sign-in-first');
      }
      let member = requireMember(visit);
      const identifyAgain = async () => {
        await identifyVisitor(visits, visit);
        return requireMember(visit);
      };
      if (route.isAttempt) await enforceLimit(limits.attempts, clientKey(incoming));
      if (isPost || route.isLimited) await enforceLimit(limits.forms, `user ${member.user.id}`);
      if (isPost && !route.readsBody) {
        const form = await readMemberForm(visits, member);
        member = { ...(await identifyAgain()), form };
      }
      try {
        return await route.handle(member, params, identifyAgain);
      } catch (error) {
        const isShownAgain = error instanceof PageError && error.isCorrectable && !wantsJson(visit.request);
        if (!route.showAgain || !isShownAgain) throw error;
        member.problem = error.toMessage(textsOf(visit.locale));
        return respondWithPage(await route.showAgain(member, params), error.status);
      }
    });
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
