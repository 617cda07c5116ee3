import { BANNER_SIZES, type BannerSize } from '../../../src/drawing/banner.ts';
import type { Banner } from '../../../src/drawing/banners.ts';
import { isUnchanged } from '../../http/conditional.ts';

/** The size that an address asks for, the first of all when it says nothing; undefined for one that there is not. */
export function tryParseBannerSize(text: string | null): BannerSize | undefined {
  return text === null ? BANNER_SIZES[0] : BANNER_SIZES.find((size) => size === text);
}

/** Says which sizes there are. */
export function refuseBannerSize(text: string): Response {
  const message = `size ${JSON.stringify(text.slice(0, 32))} isn't valid: use ${BANNER_SIZES.join(' or ')}`;
  return Response.json({ success: false, message }, { status: 400 });
}

/** The picture, which pages of any origin may show. */
export function respondWithBanner(request: Request, banner: Banner): Response {
  const headers = { 'cache-control': 'public, max-age=15', etag: banner.etag, 'content-type': 'image/png' };
  return isUnchanged(request.headers, banner)
    ? new Response(null, { status: 304, headers })
    : new Response(banner.bytes, { headers });
}
