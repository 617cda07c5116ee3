import type { JSX } from 'hono/jsx/jsx-runtime';
import { createStaleCache } from '../../src/runtime/stale-cache.ts';
import { isUnchanged } from '../http/conditional.ts';
import { acceptsGzip, type EncodedBody, encodeBody, gzipQuickly } from '../http/encoding.ts';
import type { Assets } from './layout/assets.ts';
import { renderPage } from './request/page-response.ts';
import type { Visit } from './request/visit.ts';

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
 * Pages for visitors who are not signed in are cached here and in shared caches for seconds. Pages for users show who is
 * signed in and contain a CSRF token: only the browser may cache them. `encodePage` explains other differences.
 */
export function createPublicResponse(assets: Assets): RespondPublicly {
  const cache = createStaleCache<EncodedBody>({ freshMs: FRESH_MS, staleMs: 0, maxEntries: MAX_PAGES });
  return async (visit, show) => {
    const { request, url, language } = visit;
    const render = async () => {
      const html = await renderPage(await show(visit));
      const page = visit.session ? html : assets.inlineStyles(html);
      return encodeBody(page, page, gzipQuickly);
    };
    // While the database is unavailable, a session cookie cannot be checked: the visitor may be signed in.
    const isShared = !visit.session && !visit.isUnidentified && visit.cookies.length === 0 && !visit.isDemo;
    const isPlain = isShared && url.search === '';
    const body = isPlain ? await cache.get(`${language} ${url.pathname}`, render) : await render();
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
