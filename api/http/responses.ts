import { isUnchanged } from './conditional.ts';
import { acceptsGzip, etagOf } from './encoding.ts';
import type { ErrorResponse } from './error-handler.ts';
import type { JsonBody } from './json.ts';
import type { RateLimitVerdict } from './limits/rate-limiter.ts';

/** The two rate limits, by the name that `RateLimit-Policy` gives them. */
export type Policy = 'public' | 'protected';

/** A public response before the headers that depend on the request. */
type CachedResponse = { body: JsonBody; cacheControl: string };

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

/** A status change must be visible within 5 s: 2 s until the list is reloaded after a notification, 3 s in caches. */
export const PUBLIC_CACHE_CONTROL = 'public, max-age=2, stale-while-revalidate=1';
export const PROTECTED_CACHE_CONTROL = 'private, no-cache';
export const ERROR_CACHE_CONTROL = { public: 'no-store', protected: 'private, no-store' } as const;

/** Sends a cached body: 304 when the client has it, compressed when it accepts gzip. */
export function respondFromCache(
  request: Request,
  response: CachedResponse,
  verdict: RateLimitVerdict,
): Response {
  const { body } = response;
  const { plain, gzip, unchanged } = headersOf(response, verdict);
  if (isUnchanged(request.headers, body)) {
    return new Response(null, { status: 304, headers: withRateLimit(unchanged, verdict) });
  }
  return acceptsGzip(request.headers)
    ? new Response(body.gzip, { headers: withRateLimit(gzip, verdict) })
    : new Response(body.plain, { headers: withRateLimit(plain, verdict) });
}

/**
 * A stream that never sends anything, for the HEAD response of a route that streams: with an empty body, Bun would add
 * `Content-Length: 0`. It needs a HEAD route of its own, since Elysia reads the stream of a GET route to its end.
 */
export function unreadStream(): ReadableStream {
  return new ReadableStream({}, { highWaterMark: 0 });
}

/**
 * Sends the response of a protected route.
 * @param options.hasEtag with an ETag, and as 304 when the client has it.
 * @param options.policy the limit that counted the request.
 */
export function respondProtected(
  request: Request,
  response: ProtectedResponse,
  verdict: RateLimitVerdict,
  {
    cacheControl = PROTECTED_CACHE_CONTROL,
    hasEtag = false,
    policy = 'protected',
  }: { cacheControl?: string | undefined; hasEtag?: boolean | undefined; policy?: Policy } = {},
): Response {
  const headers: Record<string, string> = {
    ...commonHeaders(policy, verdict, cacheControl),
    ...response.headers,
  };
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
  return new Response(JSON.stringify({ success: false, message }), {
    status,
    headers: { 'Content-Type': JSON_TYPE, ...headers, ...own },
  });
}

/** The headers of every rate-limited response. */
export function commonHeaders(
  policy: Policy,
  verdict: RateLimitVerdict,
  cacheControl: string,
): Record<string, string> {
  return {
    'Cache-Control': cacheControl,
    ...CORS_HEADERS,
    ...rateLimitHeaders(policy, verdict),
    ...(policy === 'protected' && { Vary: 'Authorization' }),
  };
}

/** The headers that a cached response has with status 200 and 304, besides `Content-Type` and `Content-Encoding`. */
export function cachedHeaders(
  { etag, cacheControl }: { etag: string; cacheControl: string },
  verdict: RateLimitVerdict,
): Record<string, string> {
  return { ...commonHeaders('public', verdict, cacheControl), ETag: etag, Vary: 'Accept-Encoding' };
}

/** The error for a request over the limit. */
export function tooManyRequests({ resetSeconds }: RateLimitVerdict, now: Date): ErrorResponse {
  const headers = { 'Retry-After': String(resetSeconds) };
  return withReset({ status: 429, message: 'Too many requests', headers }, now);
}

/** Adds `X-RateLimit-Reset` to a 429, from its `Retry-After`; leaves other errors unchanged. */
export function withReset(error: ErrorResponse, now: Date): ErrorResponse {
  const retryAfter = Number(error.headers?.['Retry-After']);
  if (error.status !== 429 || Number.isNaN(retryAfter)) return error;
  const resetAt = Math.ceil(now.getTime() / 1000) + retryAfter;
  return { ...error, headers: { ...error.headers, 'X-RateLimit-Reset': String(resetAt) } };
}

/** The rate-limit headers; the last two are those of the IETF draft. */
export function rateLimitHeaders(policy: Policy, verdict: RateLimitVerdict): Record<string, string> {
  const { limit, remaining } = verdict;
  return {
    'X-RateLimit-Limit': String(limit),
    'X-RateLimit-Remaining': String(remaining),
    'RateLimit-Policy': `"${policy}";q=${limit};w=${WINDOW_SECONDS}`,
    RateLimit: stateOf(policy, verdict),
  };
}

/** `RateLimit`. For high limits the limiter rounds times up, possibly past the window that the policy states. */
function stateOf(policy: Policy, { remaining, resetSeconds }: RateLimitVerdict): string {
  return `"${policy}";r=${remaining};t=${Math.min(resetSeconds, WINDOW_SECONDS)}`;
}

type HeaderSets = { plain: Headers; gzip: Headers; unchanged: Headers };
const headersByBody = new WeakMap<JsonBody, HeaderSets>();

/** The headers that all responses with this body share, built once: copying them takes half as long. */
function headersOf({ body, cacheControl }: CachedResponse, verdict: RateLimitVerdict): HeaderSets {
  const known = headersByBody.get(body);
  if (known) return known;
  const common = cachedHeaders({ etag: body.etag, cacheControl }, verdict);
  const made = {
    plain: new Headers({ ...common, 'Content-Type': JSON_TYPE }),
    gzip: new Headers({ ...common, 'Content-Type': JSON_TYPE, 'Content-Encoding': 'gzip' }),
    unchanged: new Headers(common),
  };
  headersByBody.set(body, made);
  return made;
}

/** Writes the values that differ between responses into the shared headers; each new Response copies them. */
function withRateLimit(headers: Headers, verdict: RateLimitVerdict): Headers {
  headers.set('X-RateLimit-Remaining', String(verdict.remaining));
  headers.set('RateLimit', stateOf('public', verdict));
  return headers;
}
