import { domainToUnicode } from 'node:url';
import { Elysia } from 'elysia';
import type { SteamId64 } from '../../src/domain/steam-id.ts';
import { claimNonce } from '../../src/queries/users/used-nonces.ts';
import { requireUnblocked } from '../../src/queries/users/user-blocks.ts';
import { fetchSteamProfile } from '../../src/steam/persona-names.ts';
import { createVanityResolver } from '../../src/steam/vanity-names.ts';
import { isMadeHere, namesLoopback } from '../http/host.ts';
import { isQueryTooLong } from '../http/query.ts';
import { AccountPage, accountRoutes } from './account/account.tsx';
import { readDiscordApplication } from './account/discord/discord-application.ts';
import { encodePage } from './encode-page.ts';
import { respondWithFailure } from './failure.tsx';
import { loadAssets } from './layout/assets.ts';
import type { Site } from './layout/layout.tsx';
import type { ErrorKey } from './layout/locales/texts.ts';
import { createLogo } from './layout/logo.ts';
import { moderationRoutes } from './moderation/moderation.ts';
import type { Incoming, Limiter, PagesDeps } from './pages-deps.ts';
import { publicPenaltyRoutes } from './penalties/public-route.tsx';
import { DEMO_SIGN_IN_PATH, signInToDemo } from './sign-in/demo-sign-in.tsx';
import { finishSignIn, startSignIn } from './sign-in/sign-in.ts';
import { SignInPage } from './sign-in/sign-in-page.tsx';
import { refuseBannerSize, respondWithBanner, tryParseBannerSize } from './status/banner-response.ts';
import { MissingServerPage } from './status/missing-server-page.tsx';
import { createPublicResponse } from './status/public-response.ts';
import { type PublicRoute, statusRoutes } from './status/status-routes.tsx';
import { createCookies } from './visit/cookies.ts';
import { createDestinations, withDestination } from './visit/destination.ts';
import type { MemberRoute } from './visit/member-route.ts';
import { createNoticeReader, createRedirect } from './visit/notice.ts';
import { PageError } from './visit/page-error.ts';
import { respondWithPage } from './visit/page-response.ts';
import { createResponseGuard } from './visit/security-headers.ts';
import { createSigner } from './visit/signing.ts';
import {
  asMember,
  DEMO_ROLES,
  identifyIfPossible,
  identifyVisitor,
  openVisit,
  type Visit,
} from './visit/visit.ts';

/** The messages of error pages that replace JSON errors of the API for browsers, by HTTP status. */
const ERROR_KEYS: Record<number, ErrorKey> = {
  404: 'not-found',
  429: 'too-many-requests',
  503: 'unavailable',
};

/** Pages are not part of the OpenAPI document. */
const HIDDEN = { detail: { hide: true } };

/**
 * All HTML pages; they also work without scripts. Errors become pages here and never reach the JSON error handler of
 * the API; `toErrorPage` does the same for errors of the other routes.
 */
export function pages(deps: PagesDeps) {
  const { db, settings, log, fetch: fetchUrl = fetch, now = () => new Date() } = deps;
  const { publicUrl } = settings;
  const site: Site = {
    assets: loadAssets(settings.site.accent),
    name: settings.site.name ?? nameOfSite(publicUrl),
    publicUrl,
    logo: createLogo(settings.site.logoUrl, { fetch: fetchUrl, log }),
    discordInviteUrl: settings.site.discordInviteUrl,
    arePenaltiesPublic: settings.arePenaltiesPublic,
  };
  void site.logo.load();
  const cookies = createCookies(publicUrl);
  const signer = createSigner(deps.sessionSecret);
  const redirect = createRedirect(cookies);
  const readNotice = createNoticeReader(cookies);
  const discord = readDiscordApplication({ ...settings.discord, publicUrl, fetch: fetchUrl, log });
  const secure = createResponseGuard({
    publicUrl,
    formTargets: discord ? [new URL(discord.apiUrl).origin] : [],
    styleSource: site.assets.stylePolicySource,
  });
  const shared = {
    db,
    site,
    cookies,
    signer,
    redirect,
    now,
    publicUrl,
    ownerSteamIds: settings.ownerSteamIds,
    appealUrl: settings.appealUrl,
    tokensFor: settings.tokensFor,
    deleteAccount: deps.deleteAccount,
    claimNonce: (nonce: string, expiresAt: Date) => claimNonce(db, nonce, expiresAt),
    readNotice,
    resolveVanity: createVanityResolver(deps.steamApi),
    sounds: deps.sounds,
    webhooks: deps.webhooks,
    discord,
    onTokenRevoked: deps.onTokenRevoked ?? (() => {}),
    onRefused: (error: Error) => log.info({ reason: error.message }, 'a sign-in or link was refused'),
  };
  const memberRoutes: readonly MemberRoute[] = [...accountRoutes(shared), ...moderationRoutes(shared)];
  const publicRoutes = [...statusRoutes({ ...deps.status, site }), ...publicPenaltyRoutes({ db, site })];
  const readDestination = createDestinations([
    ...memberRoutes
      .filter(({ method, isPage = true }) => method === 'GET' && isPage)
      .map(({ path }) => `/account${path}`),
    // Visitors who sign in on the home page are redirected to their account.
    ...publicRoutes.map(({ path }) => path).filter((path) => path !== '/'),
  ]);
  const visits = { ...shared, readDestination };
  const signIn = {
    ...visits,
    steam: { providerUrl: settings.steam.openIdUrl, fetch: fetchUrl, now },
    fetchProfile: (steamId64: SteamId64) =>
      fetchSteamProfile(deps.steamApi, steamId64, {
        onFailed: (reason) => log.info({ reason }, 'Steam gave no persona name'),
      }),
  };

  const respondPublicly = createPublicResponse(site.assets);
  const app = new Elysia({ name: 'pages' })
    .get('/account', (incoming) => respond(incoming, showAccount), HIDDEN)
    .get(
      '/account/sign-in',
      ({ request, server }) =>
        respond({ request, server }, async (visit) => {
          await enforceLimit(deps.limits.attempts, deps.clientKey({ request, server }));
          return visit.session ? redirect(visit, visit.next ?? '/account') : startSignIn(signIn, visit);
        }),
      HIDDEN,
    )
    .get(
      '/account/sign-in/return',
      ({ request, server }) =>
        respond({ request, server }, async (visit) => {
          await enforceLimit(deps.limits.attempts, deps.clientKey({ request, server }));
          return finishSignIn(signIn, visit);
        }),
      HIDDEN,
    )
    .get(
      '/account/assets/:file',
      ({ request, server, params }) => {
        const response = site.assets.respond(params.file, request) ?? site.logo.respond(params.file);
        return response ? secure(response) : respond({ request, server }, notFound);
      },
      HIDDEN,
    )
    .all('/account/*', (incoming) => respond(incoming, notFound), { parse: 'none', ...HIDDEN });
  for (const route of publicRoutes) {
    app.get(
      route.path,
      ({ request, server, params }) => respondToVisitor({ request, server }, route, params),
      HIDDEN,
    );
  }
  app.get(
    '/servers/:slug/banner.png',
    ({ request, server, params }) => respondWithServerBanner({ request, server }, params.slug),
    HIDDEN,
  );
  for (const route of memberRoutes) {
    app.route(
      route.method,
      `/account${route.path}`,
      ({ request, server, params }) => respondToMember({ request, server }, route, params),
      {
        parse: 'none',
      },
    );
  }
  const { demoPeople } = deps;
  if (demoPeople) {
    app.post(
      DEMO_SIGN_IN_PATH,
      (incoming) => respond(incoming, (visit) => signInToDemo({ ...visits, people: demoPeople }, visit)),
      { parse: 'none', ...HIDDEN },
    );
  }
  return { app, toErrorPage };

  async function showAccount(visit: Visit): Promise<Response> {
    requireUnblocked(visit.blockedUser);
    const member = asMember(visit);
    const notice = readNotice(visit);
    if (!member) {
      const isOtherHost = !settings.isPublicUrlSet && !namesLoopback(visit.url.hostname);
      const defaultPublicUrl = isOtherHost ? publicUrl : undefined;
      return respondWithPage(
        <SignInPage site={site} visit={visit} notice={notice} defaultPublicUrl={defaultPublicUrl} />,
      );
    }
    return respondWithPage(<AccountPage deps={shared} visit={member} notice={notice} />);
  }

  async function respondToMember(incoming: Incoming, route: MemberRoute, params: Record<string, string>) {
    return respond(incoming, async (visit) => {
      requireUnblocked(visit.blockedUser);
      const member = asMember(visit);
      if (!member && route.method === 'GET') {
        const next = readDestination(visit.url.pathname + visit.url.search);
        return redirect(visit, withDestination('/account', next), 'sign-in-first');
      }
      if (!member) throw new PageError('signed-out', 401);
      if (route.method === 'POST') await enforceLimit(deps.limits.forms, `user ${member.user.id}`);
      return route.handle(member, params);
    });
  }

  async function respondToVisitor(
    incoming: Incoming,
    { prepare, missing }: PublicRoute,
    params: Record<string, string>,
  ): Promise<Response> {
    const show = async (visit: Visit) => {
      await enforceLimit(deps.limits.pages, deps.clientKey(incoming));
      const render = prepare(params);
      return render ? respondPublicly(visit, render) : respondWithPage(missing(visit), 404);
    };
    return respond(incoming, show, identifyIfPossible);
  }

  /** The banner is embedded in pages of other sites, so that no session is looked up. */
  async function respondWithServerBanner(incoming: Incoming, slug: string): Promise<Response> {
    const response = await respond(
      incoming,
      async (visit) => {
        await enforceLimit(deps.limits.pages, deps.clientKey(incoming));
        const requested = visit.url.searchParams.get('size');
        const size = tryParseBannerSize(requested);
        if (size === undefined) return refuseBannerSize(requested ?? '');
        const banner = await deps.status.findBanner(slug, size);
        if (banner) return respondWithBanner(incoming.request, banner);
        return respondWithPage(<MissingServerPage site={site} visit={visit} />, 404);
      },
      async () => {},
    );
    response.headers.set('cross-origin-resource-policy', 'cross-origin');
    return response;
  }

  /** The error page that replaces an error response of another route; keeps its status and `Retry-After`. */
  async function toErrorPage(request: Request, { status, headers }: Response): Promise<Response> {
    const fail = async () => {
      throw new PageError(ERROR_KEYS[status] ?? 'internal', status, { limit: Number(retryAfter) });
    };
    const retryAfter = headers.get('retry-after');
    const page = await respond({ request, server: null }, fail, identifyIfPossible);
    if (retryAfter !== null) page.headers.set('retry-after', retryAfter);
    return page;
  }

  /** Responds to one request; errors become pages. */
  async function respond(
    { request, server }: Incoming,
    run: (visit: Visit) => Promise<Response>,
    identify: typeof identifyVisitor = identifyVisitor,
  ): Promise<Response> {
    const visit = openVisit(visits, request);
    const send = async (response: Response) =>
      secure(await encodePage(response, { visit, assets: site.assets }), visit);
    try {
      const peer = server?.requestIP(request)?.address ?? '';
      if (deps.demoPeople && isMadeHere(request, peer)) visit.demoRoles = DEMO_ROLES;
      if (isQueryTooLong(request.url)) throw new PageError('address-too-long', 400);
      await identify(visits, visit);
      return await send(await run(visit));
    } catch (error) {
      return send(await respondWithFailure({ site, log }, visit, error));
    }
  }
}

/** The host, in Unicode rather than Punycode. */
function nameOfSite(publicUrl: string): string {
  const { hostname, port } = new URL(publicUrl);
  return domainToUnicode(hostname) + (port && `:${port}`);
}

async function notFound(): Promise<Response> {
  throw new PageError('not-found', 404);
}

async function enforceLimit(limiter: Limiter, key: string): Promise<void> {
  const { isAllowed, resetSeconds } = await limiter.take(key);
  if (!isAllowed) throw new PageError('too-many-requests', 429, { limit: resetSeconds });
}
