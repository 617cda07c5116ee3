import type { Logger } from 'pino';
import { createWaitLimit, REQUEST_LIMITS } from '../../src/db/connection/wait-limit.ts';
import { LimitReached } from '../../src/domain/errors.ts';
import type { TokenScope } from '../../src/domain/rights/token-scope.ts';
import type { ApiToken } from '../../src/queries/users/api-tokens.ts';
import { hashPresentedToken, readPresentedToken, type TokenChecker } from './authentication.ts';
import { clientKey } from './client-address.ts';
import { respondEncoded } from './encoding.ts';
import { createErrorMapper } from './error-handler.ts';
import { scopeMissing, TOKEN_INVALID, TOKEN_REQUIRED } from './failures.ts';
import type { RateLimiter, RateLimitVerdict } from './limits/rate-limiter.ts';
import { parseParameters } from './parameters.ts';
import {
  commonHeaders,
  ERROR_CACHE_CONTROL,
  JSON_TYPE,
  type Policy,
  respondError,
  respondProtected,
  SUCCESS_CACHE_CONTROL,
} from './responses.ts';
import type { Incoming, Pipeline } from './route.ts';

/** Records a request in the metrics. `route`: an `operationId`, the path template of a page, or `unknown`. */
export type RecordRequest = (request: {
  kind: Policy | 'page';
  method: string;
  route: string;
  status: number;
  seconds: number;
}) => void;

export type PipelineDeps = {
  log: Logger;
  tokens: TokenChecker;
  limiters: Record<Policy, RateLimiter>;
  isTrustedProxy: (address: string) => boolean;
  now: () => Date;
  recordRequest: RecordRequest;
};

/**
 * Wraps a handler in the steps of every route, in this order: rate limit, token, scope, parameters. Not by Elysia's macros
 * and schemas: `resolve` runs after validation, so that a request without a token would get 400, not 401; `t.Numeric`
 * accepts `1e3` and blanks; and NUL, which PostgreSQL refuses, passes them all. The routes behind it share its limits.
 */
export function createPipeline(deps: PipelineDeps): Pipeline {
  const toErrorResponse = createErrorMapper(deps.log);
  const limitWait = createWaitLimit(REQUEST_LIMITS);
  const addressOf = (incoming: Incoming): string => clientKey(incoming, deps.isTrustedProxy);

  /** The response of some work, or of its error; over the limit, the work is not done. */
  async function settle(
    request: Request,
    headers: { verdict: RateLimitVerdict; policy: Policy; cacheControl: string },
    work: () => Response | Promise<Response>,
  ): Promise<Response> {
    const { verdict, policy, cacheControl } = headers;
    try {
      if (!verdict.isAllowed) throw new LimitReached('Too many requests', verdict.resetSeconds);
      return await work();
    } catch (error) {
      return respondError(
        toErrorResponse(error, request, deps.now()),
        commonHeaders(policy, verdict, cacheControl),
      );
    }
  }

  function record(
    response: Response,
    { kind, method, route, sinceMs }: { kind: Policy; method: string; route: string; sinceMs: number },
  ): Response {
    const seconds = (performance.now() - sinceMs) / 1000;
    deps.recordRequest({ kind, method, route, status: response.status, seconds });
    return response;
  }

  const handlePublic: Pipeline['handlePublic'] = async (incoming, route, work) => {
    const sinceMs = performance.now();
    const { request } = incoming;
    const verdict = await deps.limiters.public.take(addressOf(incoming));
    const policy = 'public';
    const response = await settle(
      request,
      { verdict, policy, cacheControl: ERROR_CACHE_CONTROL.public },
      async () => {
        const { cacheControl = SUCCESS_CACHE_CONTROL.public } = route;
        const worked = work(parseParameters(route, incoming));
        // The work continues after the wait limit; without a handler its rejection would end the process.
        if (worked instanceof Promise) worked.catch(() => {});
        const body = worked instanceof Promise ? await limitWait(() => worked) : worked;
        const headers = commonHeaders(policy, verdict, cacheControl);
        return respondEncoded(request, body, { ...headers, 'Content-Type': JSON_TYPE });
      },
    );
    return record(response, { kind: policy, method: request.method, route: route.id, sinceMs });
  };

  const handleProtected: Pipeline['handleProtected'] = async (incoming, route, work, guests) => {
    const sinceMs = performance.now();
    const { request } = incoming;
    const { method } = request;
    const { scope, cacheControl = SUCCESS_CACHE_CONTROL.protected, hasEtag } = route;
    const isHead = method === 'HEAD';
    const presented = readPresentedToken(request);
    const address = addressOf(incoming);
    // Errors have the headers of the route's other errors: a guest's response is as private.
    const forErrors = { cacheControl: ERROR_CACHE_CONTROL.protected };

    if (guests?.isFor(request) && !presented) {
      const policy = 'public';
      const verdict = await deps.limiters.public.take(address);
      const response = await settle(request, { verdict, policy, ...forErrors }, () => {
        const given = guests.work(parseParameters(route, incoming), { address, isHead });
        return respondProtected(request, given, { headers: commonHeaders(policy, verdict, cacheControl) });
      });
      return record(response, { kind: policy, method, route: route.id, sinceMs });
    }

    const policy = 'protected';
    const now = deps.now();
    const { token, failure, refusal } = await lookUpToken(hashPresentedToken(presented), { address, now });
    const key = token ? `user ${token.userId}` : `address ${address}`;
    const verdict = refusal ?? (await deps.limiters.protected.take(key));
    const response = await settle(request, { verdict, policy, ...forErrors }, async () => {
      if (failure) throw failure;
      if (!presented) throw TOKEN_REQUIRED.error();
      if (!token) throw TOKEN_INVALID.error();
      if (scope) requireScope(token, scope);
      const values = parseParameters(route, incoming);
      const begin = () => work(values, { token, now, isHead, sinceMs });
      const given = await (route.hasOwnTimeLimit ? begin() : limitWait(begin, { sinceMs }));
      return respondProtected(request, given, {
        headers: commonHeaders(policy, verdict, cacheControl),
        hasEtag,
      });
    });
    return record(response, { kind: policy, method, route: route.id, sinceMs });
  };

  /** Looks up a token. One that is not cached may be made up: each of those that is costs its address a lookup. */
  async function lookUpToken(
    hash: string | undefined,
    { address, now }: { address: string; now: Date },
  ): Promise<TokenLookup> {
    if (hash === undefined) return {};
    const key = `lookup ${address}`;
    const isCached = deps.tokens.isCached(hash);
    if (!isCached) {
      const verdict = await deps.limiters.protected.check(key);
      if (!verdict.isAllowed) return { refusal: verdict };
    }
    try {
      const token = await limitWait(() => deps.tokens.find(hash, now));
      if (!isCached && !token) await deps.limiters.protected.take(key);
      return { token };
    } catch (failure) {
      return { failure };
    }
  }

  return { handlePublic, handleProtected };
}

/** `refusal`: the address has used up its lookups. */
type TokenLookup = { token?: ApiToken | undefined; failure?: unknown; refusal?: RateLimitVerdict };

/** @throws {Forbidden} when the token lacks the scope. */
export function requireScope(token: Pick<ApiToken, 'scopes'>, scope: TokenScope): void {
  if (!token.scopes.includes(scope)) throw scopeMissing(scope).error();
}
