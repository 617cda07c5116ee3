import type { JSX } from 'hono/jsx/jsx-runtime';
import { createStaleCache } from '../../../src/live/stale-cache.ts';
import { isUnchanged } from '../../http/conditional.ts';
import { acceptsGzip, type EncodedBody, encodeBody } from '../../http/encoding.ts';
import { renderPage } from '../visit/page-response.ts';
import type { Visit } from '../visit/visit.ts';

/** Responds with a page that is the same for everybody but for the navigation. */
export type RespondPublicly = (
  visit: Visit,
  show: (visit: Visit) => Promise<JSX.Element>,
) => Promise<Response>;

/** However many look at a page, it is rendered at most once a second for those who are not signed in. */
const FRESH_MS = 1000;
/** Pages by language and address: of every server whose page was opened. */
const MAX_PAGES = 500;
const HEADERS = {
  'content-type': 'text/html; charset=utf-8',
  // What the language and the navigation are chosen by.
  vary: 'Accept-Encoding, Accept-Language, Cookie',
};
const SHARED_CACHE_CONTROL = 'public, max-age=5';
/** Asked again each time: 304 while nothing has changed. */
const PRIVATE_CACHE_CONTROL = 'private, no-cache';

/**
 * Pages of visitors who are not signed in are kept and compressed, and caches may keep them for seconds. Others show
 * who is signed in and hold the token of their forms: they are kept by nobody but the browser, and not compressed, since
 * the length of compressed text tells of its secrets.
 */
export function createPublicResponse(): RespondPublicly {
  const cache = createStaleCache<EncodedBody>({ freshMs: FRESH_MS, staleMs: 0, maxEntries: MAX_PAGES });
  return async (visit, show) => {
    const { request, url, locale } = visit;
    const render = async () => encodeBody(await renderPage(await show(visit)));
    // A cookie may say who they are, though nobody can be asked while the database is away.
    const isShared =
      !visit.session && !visit.isUnidentified && visit.cookies.length === 0 && visit.demoRoles.length === 0;
    const isPlain = isShared && url.search === '';
    const body = isPlain ? await cache.get(`${locale} ${url.pathname}`, render) : await render();
    const headers = {
      ...HEADERS,
      'cache-control': isShared ? SHARED_CACHE_CONTROL : PRIVATE_CACHE_CONTROL,
      etag: body.etag,
    };
    if (isUnchanged(request.headers, body)) return new Response(null, { status: 304, headers });
    return isShared && acceptsGzip(request.headers)
      ? new Response(body.gzip, { headers: { ...headers, 'content-encoding': 'gzip' } })
      : new Response(body.bytes, { headers });
  };
}
