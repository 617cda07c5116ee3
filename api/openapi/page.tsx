import { Elysia } from 'elysia';
import { listLanguages } from '../../src/domain/language.ts';
import { type EncodedBody, encodeBody, respondEncoded } from '../http/encoding.ts';
import { respondAsset } from './assets.ts';
import { GuidePage, guidePathOf } from './guide/guide.tsx';
import type { GuideFacts } from './guide/parts.tsx';

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
  const app = new Elysia().get('/swagger/assets/:file', ({ params, request }) => asset(params.file, request));
  for (const language of listLanguages()) {
    let page: EncodedBody | undefined;
    const respondPage = ({ request }: { request: Request }) => {
      page ??= encodeBody(`<!doctype html>\n${GuidePage({ language, facts })}`);
      return respondEncoded(request, page, HEADERS);
    };
    app.get(guidePathOf(language), respondPage);
  }
  return app;
}

function asset(name: string, request: Request): Response {
  return (
    respondAsset(name, request) ?? Response.json({ success: false, message: 'Not found' }, { status: 404 })
  );
}
