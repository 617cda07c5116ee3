import { randomBytes, randomUUID } from 'node:crypto';
import type { Server } from 'bun';
import { Elysia } from 'elysia';
import { type Db, isDatabaseOutage } from '../../src/db/client.ts';
import { Forbidden, InvalidInput, NotFound, Unavailable } from '../../src/errors.ts';
import { findOrSaveSetting } from '../../src/queries/settings.ts';
import { claimNonce } from '../../src/queries/used-nonces.ts';
import type { SteamId64 } from '../../src/steam-id.ts';
import { createVanityResolver } from '../../src/steam-profile.ts';
import { ErrorPage, renderAccountPage, SignInPage } from './account-page.tsx';
import { loadAssets } from './assets.ts';
import { createCookies } from './cookies.ts';
import { createDestinations, withDestination } from './destination.ts';
import { discordSection } from './discord-section.tsx';
import type { Site } from './layout.tsx';
import { moderationRoutes } from './moderation.tsx';
import { PageError } from './page-error.ts';
import {
  createNoticeReader,
  createRedirect,
  createResponseGuard,
  type Notice,
  type Redirect,
  respondWithPage,
} from './page-response.ts';
import type { AccountRoute, AccountSection } from './section.ts';
import { sessionsSection } from './sessions-section.tsx';
import { finishSignIn, startSignIn } from './sign-in.ts';
import { createSigner, type Signer } from './signing.ts';
import { textsOf } from './texts.ts';
import { tokensSection } from './tokens-section.tsx';
import { asMember, identifyVisitor, openVisit, type Visit, wantsJson } from './visit.ts';

type Limiter = {
  take: (key: string, nowMs: number) => { isAllowed: boolean } | Promise<{ isAllowed: boolean }>;
};

type Incoming = { request: Request; server: Server<unknown> | null };

export type AccountDeps = {
  db: Db;
  settings: {
    publicUrl: string;
    steam: { openIdUrl: string; apiKey: string | undefined; apiUrl: string };
    discord: { apiUrl: string; clientId: string | undefined; clientSecret: string | undefined };
    ownerSteamIds: readonly SteamId64[];
  };
  /** Signs sessions, states and CSRF tokens; see {@link loadSessionSecret}. */
  sessionSecret: string;
  /** What a visitor is limited by: his address, behind trusted proxies the one they name. */
  clientKey: (incoming: Incoming) => string;
  /** Called once a token is revoked, so that this process refuses it before the notification comes. */
  onTokenRevoked?: () => void;
  /** Trips to Steam and Discord by address, and forms by user: each a minute. */
  limits: { trips: Limiter; forms: Limiter };
  log: { info: (fields: object, message: string) => void; error: (fields: object, message: string) => void };
  fetch?: (url: string, init: RequestInit) => Promise<Response>;
  now?: () => Date;
  /** Cards of other parts, shown after the tokens; `section.ts` says how one is made. */
  sections?: (facilities: SectionFacilities) => readonly AccountSection[];
};

/** What a section of another part is made with. */
export type SectionFacilities = {
  site: Site;
  signer: Signer;
  redirect: Redirect;
  /** Takes the notice of the last action, once; the account page itself shows it. */
  readNotice: (visit: Visit) => Notice | undefined;
};

/** Pages are no part of the API's document. */
const HIDDEN = { detail: { hide: true } };

/** `SESSION_SECRET`, or one made at the first start and kept in the database, so that replicas share it. */
export async function loadSessionSecret(db: Db, configured: string | undefined): Promise<string> {
  return configured ?? (await findOrSaveSetting(db, 'session_secret', randomBytes(32).toString('base64url')));
}

/**
 * Everything below `/account`: HTML that works without a script. Failures are answered here, as pages, never by the
 * JSON error handler of the API.
 */
export function accountPages(deps: AccountDeps) {
  const { db, settings, log, fetch: fetchUrl = fetch, now = () => new Date() } = deps;
  const { publicUrl } = settings;
  const site: Site = { assets: loadAssets(), name: new URL(publicUrl).host };
  const cookies = createCookies(publicUrl);
  const signer = createSigner(deps.sessionSecret);
  const redirect = createRedirect(cookies);
  const readNotice = createNoticeReader(cookies);
  const discord = readDiscord(settings, fetchUrl, log);
  const secure = createResponseGuard({
    publicUrl,
    formTargets: discord ? [new URL(discord.apiUrl).origin] : [],
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
    claimNonce: (nonce: string, expiresAt: Date) => claimNonce(db, nonce, expiresAt),
    readNotice,
    resolveVanity: createVanityResolver(settings.steam),
    onTokenRevoked: deps.onTokenRevoked ?? (() => {}),
    onRefused: (error: Error) => log.info({ reason: error.message }, 'an outside sign-in was refused'),
  };
  const sections = [
    tokensSection(shared),
    ...(deps.sections?.({ site, signer, redirect, readNotice }) ?? []),
    discordSection({ ...shared, discord }),
    sessionsSection(shared),
  ];
  const memberRoutes: readonly AccountRoute[] = [
    ...sections.flatMap((section) => section.routes ?? []),
    ...moderationRoutes(shared),
  ];
  const readDestination = createDestinations(memberRoutes);
  const visits = { ...shared, readDestination };
  const signIn = {
    ...visits,
    steam: { providerUrl: settings.steam.openIdUrl, fetch: fetchUrl, now },
    profiles: {
      ...settings.steam,
      fetch: fetchUrl,
      onFailed: (reason: string) => log.info({ reason }, 'Steam did not tell a persona name'),
    },
  };

  const app = new Elysia({ name: 'account' })
    .get('/account', ({ request }) => answer(request, showAccount), HIDDEN)
    .get(
      '/account/sign-in',
      ({ request, server }) =>
        answer(request, async (visit) => {
          await requireRoom(deps.limits.trips, deps.clientKey({ request, server }), visit);
          return visit.session ? redirect(visit, visit.next ?? '/account') : startSignIn(signIn, visit);
        }),
      HIDDEN,
    )
    .get(
      '/account/sign-in/return',
      ({ request, server }) =>
        answer(request, async (visit) => {
          await requireRoom(deps.limits.trips, deps.clientKey({ request, server }), visit);
          return finishSignIn(signIn, visit);
        }),
      HIDDEN,
    )
    .get(
      '/account/assets/:file',
      ({ request, params }) => {
        const response = site.assets.respond(params.file, request);
        return response ? secure(response) : answer(request, notFound);
      },
      HIDDEN,
    )
    .all('/account/*', ({ request }) => answer(request, notFound), { parse: 'none', ...HIDDEN });
  for (const route of memberRoutes) {
    app.route(
      route.method,
      `/account${route.path}`,
      ({ request, params }) => answerMember(request, route, params),
      {
        parse: 'none',
      },
    );
  }
  return app;

  async function showAccount(visit: Visit): Promise<Response> {
    const member = asMember(shared, visit);
    const notice = readNotice(visit);
    if (!member) return respondWithPage(<SignInPage site={site} visit={visit} notice={notice} />);
    return respondWithPage(renderAccountPage({ site, visit: member, sections, notice }));
  }

  async function answerMember(request: Request, route: AccountRoute, params: Record<string, string>) {
    return answer(request, async (visit) => {
      const member = asMember(shared, visit);
      if (!member && route.method === 'GET') {
        const next = readDestination(visit.url.pathname + visit.url.search);
        return redirect(visit, withDestination('/account', next), 'sign-in-first');
      }
      if (!member) throw new PageError('signed-out', 401);
      if (route.method === 'POST') await requireRoom(deps.limits.forms, `user ${member.user.id}`, visit);
      return route.handle(member, params);
    });
  }

  /** Runs one request to its answer, whatever happens on the way. */
  async function answer(request: Request, run: (visit: Visit) => Promise<Response>): Promise<Response> {
    const visit = openVisit(visits, request);
    try {
      await identifyVisitor(visits, visit);
      return secure(await run(visit), visit);
    } catch (error) {
      return secure(await respondWithFailure(visit, error), visit);
    }
  }

  async function respondWithFailure(visit: Visit, error: unknown): Promise<Response> {
    const failure = toPageError(error);
    const errorId = failure.status === 500 ? randomUUID().slice(0, 8) : undefined;
    if (errorId) log.error({ err: error, errorId }, 'a request to the account page failed');
    // The disk has no room; of others' outages their own parts tell.
    if (error instanceof Unavailable) log.error({ err: error }, 'a request to the account page was put off');
    const message = failure.tell(textsOf(visit.locale));
    const response = wantsJson(visit.request)
      ? Response.json({ success: false, message }, { status: failure.status })
      : await respondWithPage(
          <ErrorPage
            site={site}
            visit={visit}
            message={message}
            errorId={errorId}
            retryPath={retryPathOf(visit, failure)}
          />,
          failure.status,
        );
    if (failure.status === 429) response.headers.set('retry-after', '60');
    if (failure.status === 503) response.headers.set('retry-after', '30');
    return response;
  }
}

/** Where "Try again" leads: to the page itself once the service answers again, else to a new sign-in. */
function retryPathOf({ request, url, session, next }: Visit, { status }: PageError): string | undefined {
  const isSignIn = url.pathname.startsWith('/account/sign-in');
  if (status === 503 && !isSignIn) {
    // A form is not sent again unasked, and a return from Discord counts once.
    const isRepeatable = request.method === 'GET' && !url.pathname.endsWith('/return');
    return isRepeatable ? `${url.pathname}${url.search}` : undefined;
  }
  return !session && status !== 404 ? withDestination('/account/sign-in', next) : undefined;
}

async function notFound(): Promise<Response> {
  throw new PageError('not-found', 404);
}

async function requireRoom(limiter: Limiter, key: string, { now }: Visit): Promise<void> {
  const { isAllowed } = await limiter.take(key, now.getTime());
  if (!isAllowed) throw new PageError('too-many-requests', 429);
}

function readDiscord(
  { discord, publicUrl }: AccountDeps['settings'],
  fetchUrl: (url: string, init: RequestInit) => Promise<Response>,
  log: AccountDeps['log'],
) {
  const { apiUrl, clientId, clientSecret } = discord;
  if (!clientId || !clientSecret) return undefined;
  return {
    apiUrl,
    clientId,
    clientSecret,
    redirectUri: `${publicUrl}/account/discord/return`,
    fetch: fetchUrl,
    onRevokeFailed: (cause: unknown) =>
      log.info({ cause: String(cause) }, 'Discord did not take the token back'),
  };
}

/** What the visitor is told of a failure; what is not known here is a fault of ours. */
function toPageError(error: unknown): PageError {
  if (error instanceof PageError) return error;
  if (error instanceof InvalidInput) return new PageError('invalid-input', 400, { cause: error });
  if (error instanceof Forbidden) return new PageError('forbidden', 403, { cause: error });
  if (error instanceof NotFound) return new PageError('not-found', 404, { cause: error });
  if (error instanceof Unavailable || isDatabaseOutage(error)) {
    return new PageError('unavailable', 503, { cause: error });
  }
  return new PageError('internal', 500, { cause: error });
}
