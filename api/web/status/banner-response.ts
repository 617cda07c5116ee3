import { BANNER_SIZES, type BannerSize } from '../../../src/charts/banner.tsx';
import type { Banner } from '../../../src/charts/banners.ts';
import { isUnchanged } from '../../http/conditional.ts';

/** Parses the `size` of a banner; the first size when empty, undefined for an unknown one. */
export function tryParseBannerSize(text: string): BannerSize | undefined {
  return text === '' ? BANNER_SIZES[0] : BANNER_SIZES.find((size) => size === text);
}

/** A 400 response that lists the valid sizes. */
export function refuseBannerSize(text: string): Response {
  const message = `size ${JSON.stringify(text.slice(0, 32))} isn't valid: use ${BANNER_SIZES.join(' or ')}`;
  return Response.json({ success: false, message }, { status: 400 });
}

/** A response with the image, or 304 when the client's copy is current. */
export function respondWithBanner(request: Request, banner: Banner): Response {
  const headers = { 'cache-control': 'public, max-age=15', etag: banner.etag, 'content-type': 'image/png' };
  return isUnchanged(request.headers, banner)
    ? new Response(null, { status: 304, headers })
    : new Response(banner.bytes, { headers });
}
