import { asOwner, asRequest } from '../../src/runtime/request.ts';
import { acceptsGzip, gzipQuickly } from '../http/encoding.ts';
import { isMadeHere } from '../http/host.ts';
import { isQueryTooLong } from '../http/query.ts';
import type { Incoming } from '../http/route-definition.ts';
import { respondWithFailure } from './failure.tsx';
import type { Assets } from './layout/assets.ts';
import type { Site } from './layout/layout.tsx';
import type { Limiter, PagesDeps } from './pages-deps.ts';
import type { Redirect } from './request/notice.ts';
import { PageError } from './request/page-error.ts';
import { mayHaveSession } from './request/session.ts';
import {
  identifyVisitor,
  isRead,
  openVisit,
  pathWithoutLanguage,
  type Visit,
  type VisitDeps,
} from './request/visit.ts';
import type { SecureResponse } from './security-headers.ts';

type ResponderDeps = Pick<PagesDeps, 'limits' | 'clientKey' | 'log' | 'logTrouble'> & {
  visits: VisitDeps;
  site: Site;
  redirect: Redirect;
  secure: SecureResponse;
  /** Whether visitors on this machine may sign in as people of the demo. */
  isDemo: boolean;
};

/**
 * Responds to one request, which counts for the signed-in user, else for the address. Errors become pages too, in the
 * visitor's language.
 * @param options.identify as `identifyVisitor` by default.
 * @param options.limiter of visitors who are not signed in, that of all pages by default.
 * @param options.readsForm waits for the body of a form before identifying the visitor, who may sign out while it arrives.
 */
export type Respond = (
  incoming: Incoming,
  run: (visit: Visit) => Promise<Response>,
  options?: RespondOptions,
) => Promise<Response>;

type RespondOptions = { identify?: typeof identifyVisitor; limiter?: Limiter; readsForm?: boolean };

/** Creates the function that responds to all requests for the pages of one site. */
export function createResponder(deps: ResponderDeps): Respond {
  const { limits, clientKey, log, logTrouble, visits, site, redirect, secure, isDemo } = deps;
  return async (incoming, run, { readsForm, ...options } = {}) => {
    const { request, server } = incoming;
    const address = clientKey(incoming);
    const visit = openVisit(visits, request);
    visit.isDemo = isDemo && isMadeHere(request, server?.requestIP(request)?.address ?? '');
    // The route reports what is wrong with the form.
    if (readsForm) await visit.readFields().catch(() => {});
    return asRequest(address, () => respond(visit, run, { ...options, address }), { client: request });
  };

  async function respond(
    visit: Visit,
    run: (visit: Visit) => Promise<Response>,
    { address, identify = identifyVisitor, limiter = limits.pages }: RespondOptions & { address: string },
  ): Promise<Response> {
    const { request } = visit;
    const send = async (response: Response) => {
      if (visit.notice && isPage(response)) visit.cookies.push(visits.cookies.write('notice', '', 0));
      return secure(await encodePage(response, { visit, assets: site.assets }), visit);
    };
    try {
      if (isQueryTooLong(request.url)) throw new PageError('address-too-long', 400);
      const path = pathWithoutLanguage(visit);
      if (path !== undefined) return await send(redirect(visit, path));
      if (mayHaveSession(visits, request)) await enforceLimit(limits.sessions, address);
      await identify(visits, visit);
      const owner = visit.session ? `user ${visit.session.user.id}` : address;
      if (!visit.session) await enforceLimit(limiter, address);
      else if (isRead(request)) await enforceLimit(limits.userPages, owner);
      return await send(await asOwner(owner, () => run(visit)));
    } catch (error) {
      return send(await respondWithFailure({ site, log, logTrouble }, visit, error));
    }
  }
}

/** Counts a request of a visitor. @throws {PageError} 429 above the limit. */
export async function enforceLimit(limiter: Limiter, key: string): Promise<void> {
  const { isAllowed, resetSeconds } = await limiter.take(key);
  if (!isAllowed) throw new PageError('too-many-requests', 429, { limit: resetSeconds });
}

/**
 * Prepares a page for a visitor who is not signed in: inlines the stylesheet, since a second request would double the wait on
 * a phone, and compresses the page. Pages for users contain a CSRF token and stay as they are: the length of compressed
 * text can leak secrets (BREACH), and the browser has the stylesheet by then. A 429 stays as it is too: preparing it would
 * take several times as long as sending the cached page that it refuses. Responses with an ETag are prepared already.
 */
async function encodePage(
  response: Response,
  { visit, assets }: { visit: Visit; assets: Assets },
): Promise<Response> {
  const { status, headers } = response;
  if (!isPage(response) || headers.has('etag')) return response;
  headers.set('vary', 'Accept-Encoding');
  if (visit.csrfToken !== undefined || status === 429) return response;
  const html = assets.inlineStyles(await response.text());
  if (!acceptsGzip(visit.request.headers)) return new Response(html, { status, headers });
  headers.set('content-encoding', 'gzip');
  return new Response(gzipQuickly(html), { status, headers });
}

function isPage({ body, headers }: Response): boolean {
  return body !== null && headers.get('content-type')?.startsWith('text/html') === true;
}
