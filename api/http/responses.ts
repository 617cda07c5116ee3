import { withoutDirectionMarks } from '../../src/domain/text/isolate.ts';
import { isUnchanged } from './conditional.ts';
import { etagOf } from './encoding.ts';
import type { ErrorResponse } from './error-handler.ts';
import type { RateLimitDecision } from './limits/rate-limiter.ts';

/** The two rate limits, by the name that `RateLimit-Policy` gives them. */
export type Policy = 'public' | 'protected';

/** Requests a minute, by policy. */
export type RateLimits = Record<Policy, number>;

/** A protected response: a value sent as JSON, or a stream of another type, with additional headers. */
export type ProtectedResponse = { headers?: Record<string, string> } & (
  | { json: unknown }
  | { stream: ReadableStream; contentType: string }
);

const WINDOW_SECONDS = 60;

export const JSON_TYPE = 'application/json; charset=utf-8';

/** Sent with every response under both bases, errors included. `@elysiajs/cors` is not used: its `Vary: *` defeats caches. */
export const CORS_HEADERS = {
  'Access-Control-Allow-Origin': '*',
  'Access-Control-Expose-Headers':
    'ETag, Link, RateLimit, RateLimit-Policy, Retry-After, X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset, X-Request-Id',
};

/**
 * Unless a route has its own. A status change must be visible within 5 s: 2 s until the list is reloaded after a
 * NOTIFY, 3 s in caches.
 */
export const SUCCESS_CACHE_CONTROL: Record<Policy, string> = {
  public: 'public, max-age=2, stale-while-revalidate=1',
  protected: 'private, no-cache',
};
export const ERROR_CACHE_CONTROL = { public: 'no-store', protected: 'private, no-store' } as const;

/**
 * A stream that never sends anything, for the HEAD response of a route that streams: with an empty body, Bun would add
 * `Content-Length: 0`. It needs a separate HEAD route, since Elysia reads the stream of a GET route to its end.
 */
export function unreadStream(): ReadableStream {
  return new ReadableStream({}, { highWaterMark: 0 });
}

/**
 * Sends the response of a protected route.
 * @param hasEtag with an ETag, and as 304 when the client has it.
 */
export function respondProtected(
  request: Request,
  response: ProtectedResponse,
  { headers: common, hasEtag = false }: { headers: Record<string, string>; hasEtag?: boolean | undefined },
): Response {
  const headers: Record<string, string> = { ...common, ...response.headers };
  if ('stream' in response) {
    return new Response(response.stream, { headers: { ...headers, 'Content-Type': response.contentType } });
  }
  const text = JSON.stringify(response.json);
  if (hasEtag) {
    const etag = etagOf(text);
    headers.ETag = etag;
    if (isUnchanged(request.headers, { etag })) return new Response(null, { status: 304, headers });
  }
  return new Response(text, { headers: { ...headers, 'Content-Type': JSON_TYPE } });
}

/** The error body of specification section 7. By default with the headers of an error without a rate limit. */
export function respondError(
  { status, message, headers: own }: ErrorResponse,
  headers: Record<string, string> = { 'Cache-Control': ERROR_CACHE_CONTROL.public, ...CORS_HEADERS },
): Response {
  // The message may quote the client: a direction mark would reverse the rest of it.
  return new Response(JSON.stringify({ success: false, message: withoutDirectionMarks(message) }), {
    status,
    headers: { 'Content-Type': JSON_TYPE, ...headers, ...own },
  });
}

/** The headers of every rate-limited response; `RateLimit-Policy` and `RateLimit` are those of the IETF draft. */
export function commonHeaders(
  policy: Policy,
  decision: RateLimitDecision,
  cacheControl: string,
): Record<string, string> {
  const { limit, remaining } = decision;
  return {
    'Cache-Control': cacheControl,
    ...CORS_HEADERS,
    'X-RateLimit-Limit': String(limit),
    'X-RateLimit-Remaining': String(remaining),
    'RateLimit-Policy': `"${policy}";q=${limit};w=${WINDOW_SECONDS}`,
    RateLimit: stateOf(policy, decision),
    ...(policy === 'protected' && { Vary: 'Authorization' }),
  };
}

/** Overwrites the values of {@link commonHeaders} that differ between requests. */
export function setRemaining(headers: Headers, policy: Policy, decision: RateLimitDecision): Headers {
  headers.set('X-RateLimit-Remaining', String(decision.remaining));
  headers.set('RateLimit', stateOf(policy, decision));
  return headers;
}

/** `RateLimit`. For high limits the limiter rounds times up, possibly past the window. */
function stateOf(policy: Policy, { remaining, resetSeconds }: RateLimitDecision): string {
  return `"${policy}";r=${remaining};t=${Math.min(resetSeconds, WINDOW_SECONDS)}`;
}
