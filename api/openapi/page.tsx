import { Elysia } from 'elysia';
import { type EncodedBody, encodeBody, respondEncoded } from '../http/encoding.ts';
import { respondAsset } from './assets.ts';
import { type GuideLocale, GuidePage } from './guide/guide.tsx';
import type { GuideFacts } from './guide/parts.tsx';

const HIDDEN = { detail: { hide: true } };
const HEADERS = {
  'Content-Type': 'text/html; charset=utf-8',
  'Cache-Control': 'public, max-age=300',
  'Content-Security-Policy': "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:",
  'X-Content-Type-Options': 'nosniff',
};

/**
 * The page at `/swagger`, and `/swagger/pl` in Polish: a guide and the reference below it. Script and style come from
 * this service and from no other host.
 */
export function openApiPage(facts: GuideFacts) {
  const pages = new Map<GuideLocale, EncodedBody>();
  const respondPage = (locale: GuideLocale, request: Request) => {
    const page = pages.getOrInsertComputed(locale, () =>
      encodeBody(`<!doctype html>\n${GuidePage({ locale, facts })}`),
    );
    return respondEncoded(request, page, HEADERS);
  };
  return new Elysia()
    .get('/swagger', ({ request }) => respondPage('en', request), HIDDEN)
    .get('/swagger/pl', ({ request }) => respondPage('pl', request), HIDDEN)
    .get('/swagger/assets/:file', ({ params, request }) => asset(params.file, request), HIDDEN);
}

function asset(name: string, request: Request): Response {
  return (
    respondAsset(name, request) ?? Response.json({ success: false, message: 'Not found' }, { status: 404 })
  );
}
