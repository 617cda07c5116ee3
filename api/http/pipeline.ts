import { LimitReached } from '../../src/domain/errors.ts';
import type { TokenScope } from '../../src/domain/rights/token-scope.ts';
import type { ApiToken } from '../../src/queries/users/api-tokens.ts';
import { asOwner, asRequest } from '../../src/runtime/request.ts';
import { hashPresentedToken, readPresentedToken, type TokenChecker } from './authentication.ts';
import type { ClientKey } from './client-address.ts';
import { scopeMissing, TOKEN_INVALID, TOKEN_REQUIRED } from './documented-failures.ts';
import { type EncodedBody, type EncodedKind, prepareHeaders, respondEncoded } from './encoding.ts';
import type { ErrorMapper } from './error-handler.ts';
import type { RateLimitDecision, RateLimiter } from './limits/rate-limiter.ts';
import { parseParameters } from './parameters.ts';
import {
  commonHeaders,
  ERROR_CACHE_CONTROL,
  JSON_TYPE,
  type Policy,
  type ProtectedResponse,
  type RateLimits,
  respondError,
  respondProtected,
  SUCCESS_CACHE_CONTROL,
  setRemaining,
} from './responses.ts';
import type { Pipeline } from './route-definition.ts';
import { whenSettled } from './when-settled.ts';

/** Records a request in the metrics. `route`: an `operationId`, the path template of a page, or `unknown`. */
export type RecordRequest = (request: {
  kind: Policy | 'page';
  method: string;
  route: string;
  status: number;
  seconds: number;
}) => void;

export type PipelineDeps = {
  toErrorResponse: ErrorMapper;
  tokens: TokenChecker;
  limiters: Record<Policy, RateLimiter>;
  /** In requests a minute, as the OpenAPI document states them. */
  limits: RateLimits;
  clientKey: ClientKey;
  now: () => Date;
  recordRequest: RecordRequest;
};

/**
 * Wraps a handler in the steps of every route, in this order: rate limit, token, scope, parameters. Not by Elysia's macros
 * and schemas: `resolve` runs after validation, so that a request without a token would get 400, not 401; `t.Numeric`
 * accepts `1e3` and blanks; and NUL, which PostgreSQL refuses, passes them all. The routes behind it share its limits.
 */
export function createPipeline(deps: PipelineDeps): Pipeline {
  const { toErrorResponse, clientKey: addressOf } = deps;
  /** Hashes of tokens that are not cached and are being looked up, by address: several requests of one token are one lookup. */
  const pendingLookups = new Map<string, Set<string>>();
  /** Of public routes. Copying prepared headers takes a quarter of the time of converting an object. */
  const preparedHeaders = new WeakMap<EncodedBody, Map<EncodedKind, Headers>>();

  function publicHeaders(
    kind: EncodedKind,
    body: EncodedBody,
    decision: RateLimitDecision,
    cacheControl: string,
  ): Headers {
    const headers = preparedHeaders
      .getOrInsertComputed(body, () => new Map())
      .getOrInsertComputed(kind, () =>
        prepareHeaders(kind, body, {
          ...commonHeaders('public', decision, cacheControl),
          'Content-Type': JSON_TYPE,
        }),
      );
    return setRemaining(headers, 'public', decision);
  }

  function record(response: Response, { request, route, kind, sinceMs }: Begun): Response {
    const seconds = (performance.now() - sinceMs) / 1000;
    deps.recordRequest({ kind, method: request.method, route, status: response.status, seconds });
    return response;
  }

  const handlePublic: Pipeline['handlePublic'] = (incoming, route, work) => {
    const { request } = incoming;
    const begun: Begun = { request, route: route.id, kind: 'public', sinceMs: performance.now() };
    const { cacheControl = SUCCESS_CACHE_CONTROL.public } = route;
    const address = addressOf(incoming);
    return whenSettled(deps.limiters.public.take(address, deps.limits.public), (decision) => {
      const respond = (body: EncodedBody) =>
        record(
          respondEncoded(request, body, (kind) => publicHeaders(kind, body, decision, cacheControl)),
          begun,
        );
      const fail = (error: unknown) => {
        const headers = commonHeaders('public', decision, ERROR_CACHE_CONTROL.public);
        return record(respondError(toErrorResponse(error, request, deps.now()), headers), begun);
      };
      try {
        requireAllowed(decision);
        const values = parseParameters(route, incoming);
        const worked = asRequest(address, () => work(values), { sinceMs: begun.sinceMs, client: request });
        return worked instanceof Promise ? worked.then(respond, fail) : respond(worked);
      } catch (error) {
        return fail(error);
      }
    });
  };

  const handleProtected: Pipeline['handleProtected'] = (incoming, route, work, guests) => {
    const sinceMs = performance.now();
    const { request } = incoming;
    const address = addressOf(incoming);
    const handle = async () => {
      const { scope, cacheControl = SUCCESS_CACHE_CONTROL.protected, hasEtag } = route;
      const isHead = request.method === 'HEAD';
      const now = deps.now();
      const presented = readPresentedToken(request);
      const guestWork = !presented && guests?.isFor(request) ? guests.work : undefined;
      const policy = guestWork ? 'public' : 'protected';
      const lookup = lookUpToken(hashPresentedToken(presented), { address, now });
      const { token, failure, refusal }: TokenLookup = await lookup.catch((failure) => ({ failure }));
      const owner = token ? `user ${token.userId}` : address;
      const limit = deps.limits[policy];
      const decision = refusal ?? (await deps.limiters[policy].take(owner, limit));

      async function respond(): Promise<ProtectedResponse> {
        requireAllowed(decision);
        if (guestWork) return guestWork(parseParameters(route, incoming), { address, isHead });
        if (failure) throw failure;
        if (!presented) throw TOKEN_REQUIRED.error();
        if (!token) throw TOKEN_INVALID.error();
        if (scope) requireScope(token, scope);
        const values = parseParameters(route, incoming);
        return asOwner(owner, () => work(values, { token, limit, now, isHead }));
      }

      const response = await respond()
        .then((content) => {
          const headers = commonHeaders(policy, decision, cacheControl);
          return respondProtected(request, content, { headers, hasEtag });
        })
        .catch((error: unknown) => {
          // Without a valid token, an error is as private as the other errors of the route.
          const headers = commonHeaders(policy, decision, ERROR_CACHE_CONTROL.protected);
          return respondError(toErrorResponse(error, request, now), headers);
        });
      return record(response, { request, route: route.id, kind: policy, sinceMs });
    };
    return asRequest(address, handle, { sinceMs, client: request });
  };

  /**
   * Looks up a token. Tokens that are not cached may be made up: each made-up one counts against the limit of its address, and
   * so does each pending lookup, so that a burst stays within the limit too.
   */
  async function lookUpToken(hash: string | undefined, { address, now }: { address: string; now: Date }) {
    if (hash === undefined) return {};
    if (deps.tokens.isCached(hash)) return { token: await deps.tokens.find(hash, now) };
    const key = `lookup ${address}`;
    const pending = pendingLookups.getOrInsertComputed(address, () => new Set());
    const isFirst = !pending.has(hash);
    const others = isFirst ? pending.size : pending.size - 1;
    pending.add(hash);
    try {
      const decision = await deps.limiters.protected.check(key, deps.limits.protected);
      if (decision.remaining <= others) return { refusal: { ...decision, isAllowed: false, remaining: 0 } };
      const token = await deps.tokens.find(hash, now);
      if (isFirst && !token) await deps.limiters.protected.take(key, deps.limits.protected);
      return { token };
    } finally {
      if (isFirst) {
        pending.delete(hash);
        if (pending.size === 0) pendingLookups.delete(address);
      }
    }
  }

  return { handlePublic, handleProtected };
}

/** A request that is recorded when it has its response. `sinceMs`: when it began, by `performance.now()`. */
type Begun = { request: Request; route: string; kind: Policy; sinceMs: number };

/** @throws {LimitReached} over the limit. */
function requireAllowed({ isAllowed, resetSeconds }: RateLimitDecision): void {
  if (!isAllowed) throw new LimitReached('Too many requests', resetSeconds);
}

/** `refusal`: the address has used up its lookups. */
type TokenLookup = { token?: ApiToken | undefined; failure?: unknown; refusal?: RateLimitDecision };

/** @throws {Forbidden} when the token lacks the scope. */
export function requireScope(token: Pick<ApiToken, 'scopes'>, scope: TokenScope): void {
  if (!token.scopes.includes(scope)) throw scopeMissing(scope).error();
}
