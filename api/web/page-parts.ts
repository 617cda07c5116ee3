import type { SteamId64 } from '../../src/domain/steam-id.ts';
import { fetchSteamProfile } from '../../src/steam/persona-names.ts';
import { createVanityNames } from '../../src/steam/vanity-names.ts';
import { accountRoutes } from './account/account.tsx';
import type { AccountDeps } from './account/account-deps.ts';
import { loadAssets } from './layout/assets.ts';
import type { Site } from './layout/layout.tsx';
import { createLogo } from './layout/logo.ts';
import { moderationRoutes } from './moderation/moderation.ts';
import type { PagesDeps } from './pages-deps.ts';
import { publicPenaltyRoutes } from './penalties/public-page.tsx';
import { createPublicResponse } from './public-response.ts';
import { createCookies } from './request/cookies.ts';
import { createDestinations } from './request/destination.ts';
import { createRedirect } from './request/notice.ts';
import { createEndedSessions } from './request/session.ts';
import { createSigner } from './request/signing.ts';
import type { UserRoute } from './request/user-route.ts';
import { createResponder } from './responder.ts';
import { createSecurityHeaders } from './security-headers.ts';
import { statusRoutes } from './status/status-routes.tsx';

/** Makes what the pages of one site share, once: how visitors are identified, what is linked, and how pages are sent. */
export function createPageParts(deps: PagesDeps) {
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
      log.warn({ err: error, provider }, 'a sign-in or link failed: the provider gave no usable response');
    },
  } satisfies AccountDeps & Record<string, unknown>;
  const userRoutes: readonly UserRoute[] = [...accountRoutes(shared), ...moderationRoutes(shared)];
  const publicRoutes = [...statusRoutes({ ...deps.status, site }), ...publicPenaltyRoutes({ db, site })];
  const readDestination = createDestinations([
    ...userRoutes
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
  const respond = createResponder({ ...shared, visits, secure, isDemo: deps.demoPeople !== undefined });
  const respondPublicly = createPublicResponse(site.assets);
  return { shared, site, visits, signIn, userRoutes, publicRoutes, secure, respond, respondPublicly };
}
