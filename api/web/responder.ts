import { acceptsGzip, gzipQuickly } from '../http/encoding.ts';
import { isMadeHere } from '../http/host.ts';
import { isQueryTooLong } from '../http/query.ts';
import { respondWithFailure } from './failure.tsx';
import type { Assets } from './layout/assets.ts';
import type { Site } from './layout/layout.tsx';
import type { ErrorKey } from './layout/locales/texts.ts';
import type { Incoming, Limiter, PagesDeps } from './pages-deps.ts';
import { withDestination } from './request/destination.ts';
import type { MemberRoute } from './request/member-route.ts';
import type { Redirect } from './request/notice.ts';
import { PageError } from './request/page-error.ts';
import { respondWithPage } from './request/page-response.ts';
import { createResponseGuard, type ResponseGuard } from './request/security-headers.ts';
import {
  DEMO_ROLES,
  identifyIfPossible,
  identifyVisitor,
  isRead,
  openVisit,
  pathWithoutLanguage,
  readMemberForm,
  requireMember,
  type Visit,
  type VisitDeps,
} from './request/visit.ts';
import { createPublicResponse } from './status/public-response.ts';
import type { PublicRoute } from './status/status-routes.tsx';

type ResponderDeps = Pick<PagesDeps, 'limits' | 'clientKey' | 'log'> & {
  visits: VisitDeps;
  site: Site;
  redirect: Redirect;
  /** Whether visitors on this machine may sign in as people of the demo. */
  isDemo: boolean;
  /** The origins outside of the pages that forms may redirect to. */
  formTargets: readonly string[];
};

/** The messages of error pages that replace JSON errors of the API for browsers, by HTTP status. */
const ERROR_KEYS: Record<number, ErrorKey> = {
  404: 'not-found',
  429: 'too-many-requests',
  503: 'unavailable',
};

/** Responds to requests for pages; errors become pages too, in the visitor's language. */
export type Responder = {
  secure: ResponseGuard;
  /**
   * Responds to one request, which counts for the signed-in user, else for the address.
   * @param options.identify as `identifyVisitor` by default.
   * @param options.limiter of visitors who are not signed in, that of all pages by default.
   */
  respond: (
    incoming: Incoming,
    run: (visit: Visit) => Promise<Response>,
    options?: { identify?: typeof identifyVisitor; limiter?: Limiter },
  ) => Promise<Response>;
  /** Responds with a page of the account or of moderation. */
  respondToMember: (
    incoming: Incoming,
    route: MemberRoute,
    params: Record<string, string>,
  ) => Promise<Response>;
  /** Responds with a public page. */
  respondToVisitor: (
    incoming: Incoming,
    route: PublicRoute,
    params: Record<string, string>,
  ) => Promise<Response>;
  /** The error page for a request with a method that a page does not have. @param methods those that it has. */
  refuseMethod: (incoming: Incoming, methods: readonly string[]) => Promise<Response>;
  /** The error page that replaces an error response of another route; keeps its status and `Retry-After`. */
  toErrorPage: (incoming: Incoming, response: Response) => Promise<Response>;
};

/** Creates a responder for the pages of one site. */
export function createResponder({
  limits,
  clientKey,
  log,
  visits,
  site,
  redirect,
  isDemo,
  formTargets,
}: ResponderDeps): Responder {
  const secure = createResponseGuard({
    publicUrl: site.publicUrl,
    formTargets,
    styleSource: site.assets.stylePolicySource,
  });
  const respondPublicly = createPublicResponse(site.assets);
  return { secure, respond, respondToMember, respondToVisitor, refuseMethod, toErrorPage };

  async function respond(
    incoming: Incoming,
    run: (visit: Visit) => Promise<Response>,
    { identify = identifyVisitor, limiter = limits.pages }: Parameters<Responder['respond']>[2] = {},
  ): Promise<Response> {
    const { request, server } = incoming;
    const visit = openVisit(visits, request);
    const send = async (response: Response) =>
      secure(await encodePage(response, { visit, assets: site.assets }), visit);
    try {
      const peer = server?.requestIP(request)?.address ?? '';
      if (isDemo && isMadeHere(request, peer)) visit.demoRoles = DEMO_ROLES;
      if (isQueryTooLong(request.url)) throw new PageError('address-too-long', 400);
      const path = pathWithoutLanguage(visit);
      if (path !== undefined) return await send(redirect(visit, path));
      await identify(visits, visit);
      if (!visit.session) await enforceLimit(limiter, clientKey(incoming));
      else if (isRead(request)) await enforceLimit(limits.memberPages, `user ${visit.session.user.id}`);
      return await send(await run(visit));
    } catch (error) {
      return send(await respondWithFailure({ site, log }, visit, error));
    }
  }

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
        const next = visits.readDestination(visit.url.pathname + visit.url.search);
        return redirect(visit, withDestination('/account', next), 'sign-in-first');
      }
      const member = requireMember(visit);
      const identifyAgain = async () => {
        await identifyVisitor(visits, visit);
        return requireMember(visit);
      };
      if (route.isAttempt) await enforceLimit(limits.attempts, clientKey(incoming));
      if (isPost || route.isLimited) await enforceLimit(limits.forms, `user ${member.user.id}`);
      if (!isPost || route.readsBody) return route.handle(member, params, identifyAgain);
      const form = await readMemberForm(visits, member);
      return route.handle({ ...(await identifyAgain()), form }, params, identifyAgain);
    });
  }

  async function respondToVisitor(
    incoming: Incoming,
    { prepare, missing }: PublicRoute,
    params: Record<string, string>,
  ): Promise<Response> {
    const show = async (visit: Visit) => {
      const render = prepare(params);
      return render ? respondPublicly(visit, render) : respondWithPage(missing(visit), 404);
    };
    return respond(incoming, show, { identify: identifyIfPossible });
  }

  async function refuseMethod(incoming: Incoming, methods: readonly string[]): Promise<Response> {
    const fail = async () => {
      throw new PageError(isRead(incoming.request) ? 'only-forms' : 'no-forms', 405);
    };
    const page = await respond(incoming, fail, { identify: identifyIfPossible });
    const allowed = ['GET', 'HEAD', 'POST'].filter(
      (method) => methods.includes(method) || (method === 'HEAD' && methods.includes('GET')),
    );
    page.headers.set('allow', allowed.join(', '));
    return page;
  }

  async function toErrorPage(incoming: Incoming, { status, headers }: Response): Promise<Response> {
    const fail = async () => {
      throw new PageError(ERROR_KEYS[status] ?? 'internal', status, { limit: Number(retryAfter) });
    };
    const retryAfter = headers.get('retry-after');
    const page = await respond(incoming, fail, { identify: identifyIfPossible });
    if (retryAfter !== null && page.status === status) page.headers.set('retry-after', retryAfter);
    return page;
  }
}

/** @throws {PageError} 429 above the limit. */
export async function enforceLimit(limiter: Limiter, key: string): Promise<void> {
  const { isAllowed, resetSeconds } = await limiter.take(key);
  if (!isAllowed) throw new PageError('too-many-requests', 429, { limit: resetSeconds });
}

/**
 * Prepares a page for a visitor who is not signed in: inlines the stylesheet, since a second request would double the wait on
 * a phone, and compresses the page. Pages for members contain a CSRF token and stay as they are: the length of compressed
 * text can leak secrets (BREACH), and the browser has the stylesheet by then. A 429 stays as it is too: preparing it would
 * take several times as long as sending the cached page that it refuses. Responses with an ETag are prepared already.
 */
async function encodePage(
  response: Response,
  { visit, assets }: { visit: Visit; assets: Assets },
): Promise<Response> {
  const { status, headers } = response;
  const isPage = response.body !== null && headers.get('content-type')?.startsWith('text/html');
  if (!isPage || headers.has('etag')) return response;
  headers.set('vary', 'Accept-Encoding');
  if (visit.csrfToken !== undefined || status === 429) return response;
  const html = assets.inlineStyles(await response.text());
  if (!acceptsGzip(visit.request.headers)) return new Response(html, { status, headers });
  headers.set('content-encoding', 'gzip');
  return new Response(gzipQuickly(html), { status, headers });
}
