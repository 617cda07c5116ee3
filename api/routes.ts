import type { Server } from 'bun';
import type { Logger } from 'pino';
import { findClientAddress, rateLimitKey } from '../src/client-address.ts';
import { createGate, REQUEST_LIMITS } from '../src/db/gate.ts';
import { Unauthorized } from '../src/errors.ts';
import type { Count } from '../src/metrics.ts';
import type { ApiToken } from '../src/queries/api-tokens.ts';
import type { RateLimiter, RateLimitVerdict } from '../src/rate-limiter.ts';
import { readShownToken, type TokenChecker } from './api-token.ts';
import { createErrorMapper, type ErrorAnswer } from './error-handler.ts';
import type { JsonBody } from './json.ts';

export type RouteDeps = {
  log: Logger;
  tokens: TokenChecker;
  limiters: { public: RateLimiter; protected: RateLimiter };
  isTrustedProxy: (address: string) => boolean;
  now: () => Date;
  /** Counts an answer for `/metrics`. */
  countAnswer: Count<'kind' | 'status'>;
};

/** What Elysia hands over; never the whole context, which would make it parse what nobody reads. */
export type Incoming = { request: Request; server: Server<unknown> | null };

/** An answer before headers that depend on the request. */
export type Answer = { body: JsonBody; cacheControl: string };

/** Nothing may be read from a query but by this: the last of repeated keys, empty as absent. Contract section 3. */
export type Query = { get: (name: string) => string | undefined };

type PublicWork = (query: Query) => Answer | Promise<Answer>;
type ProtectedWork = (query: Query, token: ApiToken, now: Date) => Promise<unknown>;

export type Routes = ReturnType<typeof createRoutes>;

const JSON_TYPE = 'application/json; charset=utf-8';

/** Sent with every answer under both bases, errors included. `@elysiajs/cors` is not used: its `Vary: *` defeats caches. */
export const CORS_HEADERS = {
  'Access-Control-Allow-Origin': '*',
  'Access-Control-Expose-Headers':
    'ETag, RateLimit, RateLimit-Policy, Retry-After, X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset',
};

/** A status change is to be seen within 5 s: two by the poll's notification and us, two and one by caches. */
export const PUBLIC_CACHE_CONTROL = 'public, max-age=2, stale-while-revalidate=1';

/** What a request without a token is limited by: the address it came from, behind trusted proxies the one they name. */
export function clientKey(
  { request, server }: Incoming,
  { isTrustedProxy }: Pick<RouteDeps, 'isTrustedProxy'>,
): string {
  const peer = server?.requestIP(request)?.address ?? '0.0.0.0';
  const forwardedFor = isTrustedProxy(peer) ? request.headers.get('x-forwarded-for') : null;
  return rateLimitKey(findClientAddress(peer, forwardedFor, isTrustedProxy));
}

/**
 * Wraps a route's own work in what every route does, in the contract's order: rate limit, token, then parameters.
 * `open` is for public routes, `guarded` for those that need a token.
 */
export function createRoutes(deps: RouteDeps) {
  const addressOf = (incoming: Incoming): string => clientKey(incoming, deps);
  const toErrorAnswer = createErrorMapper(deps.log);
  const gate = createGate(REQUEST_LIMITS);

  const counted = (kind: string, response: Response): Response => {
    deps.countAnswer({ kind, status: response.status });
    return response;
  };

  // Without a promise where nothing waits: cached answers are as many as the process can send.
  function open(incoming: Incoming, work: PublicWork): Response | Promise<Response> {
    const taken = deps.limiters.public.take(addressOf(incoming), deps.now().getTime());
    const answered =
      taken instanceof Promise
        ? taken.then((verdict) => answerOpen(incoming, work, verdict))
        : answerOpen(incoming, work, taken);
    return answered instanceof Promise
      ? answered.then((response) => counted('public', response))
      : counted('public', answered);
  }

  async function guarded(incoming: Incoming, work: ProtectedWork): Promise<Response> {
    return counted('protected', await answerGuarded(incoming, work));
  }

  function answerOpen(
    { request }: Incoming,
    work: PublicWork,
    verdict: RateLimitVerdict,
  ): Response | Promise<Response> {
    if (!verdict.isAllowed) return tooManyRequests(verdict, rateLimitHeaders('public', verdict), deps.now());
    const fail = (error: unknown) =>
      respondError(toErrorAnswer(error), rateLimitHeaders('public', verdict), 'no-store');
    try {
      const worked = work({ get: (name) => lastValue(queryOf(request), name) });
      if (!(worked instanceof Promise)) return respondPublic(request, worked, verdict);
      // Refused at the gate, what was begun ends unheard.
      worked.catch(() => {});
      return gate(() => worked).then((answer) => respondPublic(request, answer, verdict), fail);
    } catch (error) {
      return fail(error);
    }
  }

  async function answerGuarded(incoming: Incoming, work: ProtectedWork): Promise<Response> {
    const { request } = incoming;
    const query = queryOf(request);
    const now = deps.now();
    const shown = readShownToken(request.headers.get('authorization'), query);
    const found = await findToken(shown, now);
    const key = found.token ? `user ${found.token.userId}` : `address ${addressOf(incoming)}`;
    const verdict = await deps.limiters.protected.take(key, now.getTime());
    const headers = { ...rateLimitHeaders('protected', verdict), Vary: 'Authorization' };
    if (!verdict.isAllowed) return tooManyRequests(verdict, headers, now);
    try {
      if (found.failure) throw found.failure;
      if (!shown) throw new Unauthorized('An API token is required');
      if (!found.token) throw new Unauthorized('The API token is invalid');
      const { token } = found;
      const value = await gate(() => work({ get: (name) => lastValue(query, name) }, token, now));
      return Response.json(value, {
        headers: {
          'Content-Type': JSON_TYPE,
          'Cache-Control': 'private, no-cache',
          ...CORS_HEADERS,
          ...headers,
        },
      });
    } catch (error) {
      return respondError(toErrorAnswer(error), headers, 'private, no-store');
    }
  }

  async function findToken(shown: string | undefined, now: Date) {
    try {
      const token = shown ? await gate(() => deps.tokens.find(shown, now)) : undefined;
      return { token, failure: undefined };
    } catch (failure) {
      return { token: undefined, failure };
    }
  }

  return { open, guarded };
}

/** gzip is named, and not with the weight 0 that refuses it. */
const ACCEPTS_GZIP = /gzip(?!\s*;\s*q=0(?:\.0*)?\s*(?:,|$))/i;

function respondPublic(request: Request, answer: Answer, verdict: RateLimitVerdict): Response {
  const { body } = answer;
  const { plain, gzip, unchanged } = headersOf(answer, verdict);
  if (matchesEtag(request.headers.get('if-none-match'), body.etag)) {
    return new Response(null, { status: 304, headers: withRateLimit(unchanged, verdict) });
  }
  return ACCEPTS_GZIP.test(request.headers.get('accept-encoding') ?? '')
    ? new Response(body.gzip, { headers: withRateLimit(gzip, verdict) })
    : new Response(body.bytes, { headers: withRateLimit(plain, verdict) });
}

type HeaderSets = { plain: Headers; gzip: Headers; unchanged: Headers };
const headersByBody = new WeakMap<JsonBody, HeaderSets>();

/** The headers of every answer with these bytes: a copy of them costs half of what naming them does. */
function headersOf({ body, cacheControl }: Answer, verdict: RateLimitVerdict): HeaderSets {
  const known = headersByBody.get(body);
  if (known) return known;
  const common = {
    'Cache-Control': cacheControl,
    ETag: body.etag,
    Vary: 'Accept-Encoding',
    ...CORS_HEADERS,
    ...rateLimitHeaders('public', verdict),
  };
  const made = {
    plain: new Headers({ ...common, 'Content-Type': JSON_TYPE }),
    gzip: new Headers({ ...common, 'Content-Type': JSON_TYPE, 'Content-Encoding': 'gzip' }),
    unchanged: new Headers(common),
  };
  headersByBody.set(body, made);
  return made;
}

/** Writes what differs from one answer to the next into the shared headers, of which a new response takes a copy. */
function withRateLimit(headers: Headers, { remaining, resetSeconds }: RateLimitVerdict): Headers {
  headers.set('X-RateLimit-Remaining', String(remaining));
  headers.set('RateLimit', `"public";r=${remaining};t=${resetSeconds}`);
  return headers;
}

/** A list of tags or `*`; compared weakly, as RFC 9110 13.1.2 says for GET. */
function matchesEtag(ifNoneMatch: string | null, etag: string): boolean {
  if (ifNoneMatch === null) return false;
  if (ifNoneMatch === etag || ifNoneMatch.trim() === '*') return true;
  const opaque = etag.slice(2);
  return ifNoneMatch.split(',').some((tag) => tag.trim().replace(/^W\//, '') === opaque);
}

function rateLimitHeaders(
  policy: string,
  { limit, remaining, resetSeconds }: RateLimitVerdict,
): Record<string, string> {
  return {
    'X-RateLimit-Limit': String(limit),
    'X-RateLimit-Remaining': String(remaining),
    'RateLimit-Policy': `"${policy}";q=${limit};w=60`,
    RateLimit: `"${policy}";r=${remaining};t=${resetSeconds}`,
  };
}

function tooManyRequests(
  { resetSeconds }: RateLimitVerdict,
  headers: Record<string, string>,
  now: Date,
): Response {
  const answer = { status: 429, message: 'Too many requests' };
  const reset = Math.ceil(now.getTime() / 1000) + resetSeconds;
  return respondError(
    answer,
    { ...headers, 'Retry-After': String(resetSeconds), 'X-RateLimit-Reset': String(reset) },
    headers.Vary ? 'private, no-store' : 'no-store',
  );
}

/** The error body of specification section 7. */
export function respondError(
  { status, message, headers: own }: ErrorAnswer,
  headers: Record<string, string>,
  cacheControl: string,
): Response {
  return new Response(JSON.stringify({ success: false, message }), {
    status,
    headers: {
      'Content-Type': JSON_TYPE,
      'Cache-Control': cacheControl,
      ...CORS_HEADERS,
      ...headers,
      ...own,
    },
  });
}

function queryOf(request: Request): URLSearchParams {
  const start = request.url.indexOf('?');
  return new URLSearchParams(start === -1 ? '' : request.url.slice(start + 1));
}

function lastValue(query: URLSearchParams, name: string): string | undefined {
  return query.getAll(name).at(-1) || undefined;
}
