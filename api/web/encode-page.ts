import { acceptsGzip, gzipQuickly } from '../http/encoding.ts';
import type { Assets } from './layout/assets.ts';
import type { Visit } from './request/visit.ts';

/**
 * Prepares a page for a visitor who is not signed in: inlines the stylesheet, since a second request would double the wait on
 * a phone, and compresses the page. Pages for members contain a CSRF token and stay as they are: the length of compressed
 * text can leak secrets (BREACH), and the browser has the stylesheet by then. A 429 stays as it is too: preparing it would
 * take several times as long as sending the cached page that it refuses. Responses with an ETag are prepared already.
 */
export async function encodePage(
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
