import type { JSX } from 'hono/jsx/jsx-runtime';
import { asRequest } from '../../src/runtime/request.ts';
import { createStaleCache } from '../../src/runtime/stale-cache.ts';
import { isUnchanged } from '../http/conditional.ts';
import { acceptsGzip, type EncodedBody, encodeBody, gzipQuickly } from '../http/encoding.ts';
import { isMadeHere } from '../http/host.ts';
import { isQueryTooLong } from '../http/query.ts';
import { respondWithFailure } from './failure.tsx';
import type { Assets } from './layout/assets.ts';
import type { Site } from './layout/layout.tsx';
import type { Incoming, Limiter, PagesDeps } from './pages-deps.ts';
import type { Redirect } from './request/notice.ts';
import { PageError } from './request/page-error.ts';
import { renderPage } from './request/page-response.ts';
import {
  identifyVisitor,
  isRead,
  openVisit,
  pathWithoutLanguage,
  type Visit,
  type VisitDeps,
} from './request/visit.ts';

type ResponderDeps = Pick<PagesDeps, 'limits' | 'clientKey' | 'log' | 'logTrouble'> & {
  visits: VisitDeps;
  site: Site;
  redirect: Redirect;
  secure: SecureResponse;
  /** Whether visitors on this machine may sign in as people of the demo. */
  isDemo: boolean;
};

/** Adds the security headers and the visit's cookies to a response. */
export type SecureResponse = (response: Response, visit?: Visit) => Response;

/**
 * Responds to one request, which counts for the signed-in user, else for the address. Errors become pages too, in the
 * visitor's language.
 * @param options.identify as `identifyVisitor` by default.
 * @param options.limiter of visitors who are not signed in, that of all pages by default.
 */
export type Respond = (
  incoming: Incoming,
  run: (visit: Visit) => Promise<Response>,
  options?: { identify?: typeof identifyVisitor; limiter?: Limiter },
) => Promise<Response>;

/** Creates the function that responds to all requests for the pages of one site. */
export function createResponder(deps: ResponderDeps): Respond {
  const { limits, clientKey, log, logTrouble, visits, site, redirect, secure, isDemo } = deps;
  return async (incoming, run, { identify = identifyVisitor, limiter = limits.pages } = {}) => {
    const sinceMs = performance.now();
    const { request, server } = incoming;
    const visit = openVisit(visits, request);
    const send = async (response: Response) => {
      if (visit.notice && isPage(response)) visit.cookies.push(visits.cookies.write('notice', '', 0));
      return secure(await encodePage(response, { visit, assets: site.assets }), visit);
    };
    try {
      visit.isDemo = isDemo && isMadeHere(request, server?.requestIP(request)?.address ?? '');
      if (isQueryTooLong(request.url)) throw new PageError('address-too-long', 400);
      const path = pathWithoutLanguage(visit);
      if (path !== undefined) return await send(redirect(visit, path));
      await identify(visits, visit);
      const address = clientKey(incoming);
      const owner = visit.session ? `user ${visit.session.user.id}` : address;
      if (!visit.session) await enforceLimit(limiter, address);
      else if (isRead(request)) await enforceLimit(limits.memberPages, owner);
      return await send(await asRequest(owner, () => run(visit), { sinceMs }));
    } catch (error) {
      return send(await respondWithFailure({ site, log, logTrouble }, visit, error));
    }
  };
}

/** Counts a request of a visitor. @throws {PageError} 429 above the limit. */
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

type SecurityOptions = {
  publicUrl: string;
  /** The origins outside of the pages that forms may redirect to: Discord, when linking is configured. */
  formTargets: readonly string[];
  /** The source of the one inline stylesheet: `'sha256-…'`. */
  styleSource: string;
};

/**
 * Creates the function that adds the headers which all responses share. They forbid inline scripts, inline styles other
 * than the pages' stylesheet, content from other sites except avatars, framing and referrers; by default also caching.
 */
export function createSecurityHeaders(options: SecurityOptions): SecureResponse {
  const { publicUrl, formTargets, styleSource } = options;
  const policy = [
    "default-src 'none'",
    "script-src 'self'",
    `style-src 'self' ${styleSource}`,
    "img-src 'self' https://*.steamstatic.com https://cdn.discordapp.com",
    "media-src 'self' blob:",
    "font-src 'self'",
    "connect-src 'self'",
    `form-action ${["'self'", ...formTargets].join(' ')}`,
    "frame-ancestors 'none'",
    "base-uri 'none'",
  ].join('; ');
  const headers: [string, string][] = [
    ['referrer-policy', 'no-referrer'],
    ['x-content-type-options', 'nosniff'],
    ['x-frame-options', 'DENY'],
    ['cross-origin-opener-policy', 'same-origin'],
    ['cross-origin-resource-policy', 'same-origin'],
    ['permissions-policy', 'camera=(), geolocation=(), microphone=(), payment=(), usb=()'],
  ];
  if (publicUrl.startsWith('https:')) headers.push(['strict-transport-security', 'max-age=31536000']);

  return (response, visit) => {
    for (const [name, value] of headers) response.headers.set(name, value);
    if (!response.headers.has('content-security-policy'))
      response.headers.set('content-security-policy', policy);
    if (!response.headers.has('cache-control')) response.headers.set('cache-control', 'no-store');
    for (const cookie of visit?.cookies ?? []) response.headers.append('set-cookie', cookie);
    return response;
  };
}

/** Responds with a page that is the same for all visitors except for the navigation. */
type RespondPublicly = (visit: Visit, show: (visit: Visit) => Promise<JSX.Element>) => Promise<Response>;

/** For visitors who are not signed in, a page is rendered at most once per second. */
const FRESH_MS = 1000;
/** Cached pages, by language and path. */
const MAX_PAGES = 500;
const PUBLIC_HEADERS = {
  'content-type': 'text/html; charset=utf-8',
  // The headers that determine encoding, language and navigation.
  vary: 'Accept-Encoding, Accept-Language, Cookie',
};
const SHARED_CACHE_CONTROL = 'public, max-age=5';
/** The browser revalidates each time and gets a 304 while the page is unchanged. */
const PRIVATE_CACHE_CONTROL = 'private, no-cache';

/**
 * Pages for visitors who are not signed in are cached here and in shared caches for seconds. Pages for members show who is
 * signed in and contain a CSRF token: only the browser may cache them. `encodePage` explains their other differences.
 */
export function createPublicResponse(assets: Assets): RespondPublicly {
  const cache = createStaleCache<EncodedBody>({ freshMs: FRESH_MS, staleMs: 0, maxEntries: MAX_PAGES });
  return async (visit, show) => {
    const { request, url, locale } = visit;
    const render = async () => {
      const html = await renderPage(await show(visit));
      const page = visit.session ? html : assets.inlineStyles(html);
      return encodeBody(page, page, gzipQuickly);
    };
    // While the database is unavailable, a session cookie cannot be checked: the visitor may be signed in.
    const isShared = !visit.session && !visit.isUnidentified && visit.cookies.length === 0 && !visit.isDemo;
    const isPlain = isShared && url.search === '';
    const body = isPlain ? await cache.get(`${locale} ${url.pathname}`, render) : await render();
    const headers = {
      ...PUBLIC_HEADERS,
      'cache-control': isShared ? SHARED_CACHE_CONTROL : PRIVATE_CACHE_CONTROL,
      etag: body.etag,
    };
    if (isUnchanged(request.headers, body)) return new Response(null, { status: 304, headers });
    return visit.csrfToken === undefined && acceptsGzip(request.headers)
      ? new Response(body.gzip, { headers: { ...headers, 'content-encoding': 'gzip' } })
      : new Response(body.plain, { headers });
  };
}
