import type { Server } from 'bun';
import type { Logger } from 'pino';
import { createWaitLimit, REQUEST_LIMITS } from '../../src/db/connection/wait-limit.ts';
import type { TokenScope } from '../../src/domain/rights/token-scope.ts';
import type { ApiToken } from '../../src/queries/users/api-tokens.ts';
import { hashPresentedToken, readPresentedToken, type TokenChecker } from './authentication.ts';
import { findClientAddress, rateLimitKey } from './client-address.ts';
import { createErrorMapper } from './error-handler.ts';
import { scopeMissing, TOKEN_INVALID, TOKEN_REQUIRED } from './failures.ts';
import type { JsonBody } from './json.ts';
import type { RateLimiter, RateLimitVerdict } from './limits/rate-limiter.ts';
import type { OtherKeys } from './near-misses.ts';
import { type Parameters, parseParameters, type Values } from './parameters.ts';
import {
  commonHeaders,
  ERROR_CACHE_CONTROL,
  type Policy,
  type ProtectedResponse,
  PUBLIC_CACHE_CONTROL,
  respondError,
  respondFromCache,
  respondProtected,
  tooManyRequests,
  withReset,
} from './responses.ts';

/** Records a request in the metrics. `route`: an `operationId`, the path template of a page, or `unknown`. */
export type RecordRequest = (request: {
  kind: 'public' | 'protected' | 'page';
  method: string;
  route: string;
  status: number;
  seconds: number;
}) => void;

export type PipelineDeps = {
  log: Logger;
  tokens: TokenChecker;
  limiters: { public: RateLimiter; protected: RateLimiter };
  isTrustedProxy: (address: string) => boolean;
  now: () => Date;
  recordRequest: RecordRequest;
};

/** The part of Elysia's context that routes use. With the whole of it, Elysia would parse parts that no route reads. */
export type Incoming = {
  request: Request;
  server: Server<unknown> | null;
  /** Path parameters. */
  params?: Readonly<Record<string, string>>;
};

/** The part of an operation that the pipeline uses. */
type Operation<P extends Parameters> = {
  /** Its `operationId`. */
  id: string;
  parameters: P;
  otherKeys?: readonly OtherKeys[];
  /** Of a success: by default {@link PUBLIC_CACHE_CONTROL}, for protected operations `private, no-cache`. */
  cacheControl?: string;
  /** For protected operations: with an ETag and 304, as public ones always are. */
  hasEtag?: boolean;
  /** For protected operations: exempt from the shared wait limit. */
  hasOwnTimeLimit?: boolean;
};
/** `scope`: the scope that the token needs, if any. */
type ProtectedOperation<P extends Parameters> = Operation<P> & { scope?: TokenScope };

export type PublicWork<P extends Parameters> = (values: Values<P>) => JsonBody | Promise<JsonBody>;
export type ProtectedWork<P extends Parameters> = (
  values: Values<P>,
  /**
   * `isHead`: nothing of a stream will be read, see {@link unreadStream}; `sinceMs`: when the request began, by
   * `performance.now()`.
   */
  context: { token: ApiToken; now: Date; isHead: boolean; sinceMs: number },
) => Promise<ProtectedResponse>;
/** Requests of a protected route that need no token, and count against the public limit. */
export type Guests<P extends Parameters> = {
  isFor: (request: Request) => boolean;
  /** `address`: the key of their limits. */
  work: (values: Values<P>, context: { address: string; isHead: boolean }) => ProtectedResponse;
};

/**
 * Wraps a handler in the steps of every route, in this order: rate limit, token, scope, parameters. Not by Elysia's macros
 * and schemas: `resolve` runs after validation, so that a request without a token would get 400, not 401; `t.Numeric`
 * accepts `1e3` and blanks; and NUL, which PostgreSQL refuses, passes them all.
 */
export type Pipeline = {
  /** For public routes. Synchronous for cached responses: a promise for each would cost throughput. */
  handlePublic: <P extends Parameters>(
    incoming: Incoming,
    operation: Operation<P>,
    work: PublicWork<P>,
  ) => Response | Promise<Response>;
  /** For routes that need a token. */
  handleProtected: <P extends Parameters>(
    incoming: Incoming,
    operation: ProtectedOperation<P>,
    work: ProtectedWork<P>,
    guests?: Guests<P>,
  ) => Promise<Response>;
};

/** The rate-limit key of a request without a token: its address, behind trusted proxies the forwarded one. */
export function clientKey(
  { request, server }: Incoming,
  { isTrustedProxy }: Pick<PipelineDeps, 'isTrustedProxy'>,
): string {
  const peer = server?.requestIP(request)?.address ?? '0.0.0.0';
  const forwardedFor = isTrustedProxy(peer) ? request.headers.get('x-forwarded-for') : null;
  return rateLimitKey(findClientAddress(peer, forwardedFor, isTrustedProxy));
}

/** Creates the pipeline; the routes behind it share its limits. */
export function createPipeline(deps: PipelineDeps): Pipeline {
  const addressOf = (incoming: Incoming): string => clientKey(incoming, deps);
  const toErrorResponse = createErrorMapper(deps.log);
  const limitWait = createWaitLimit(REQUEST_LIMITS);
  /** Pending lookups of tokens that are not cached, by address and hash: a burst of one token is one lookup. */
  const pendingLookups = new Map<string, Map<string, PendingLookup>>();

  const recorded = (
    { request }: Incoming,
    { kind, route, startedMs }: { kind: Policy; route: string; startedMs: number },
    response: Response,
  ): Response => {
    deps.recordRequest({
      kind,
      method: request.method,
      route,
      status: response.status,
      seconds: (performance.now() - startedMs) / 1000,
    });
    return response;
  };

  function handlePublic<P extends Parameters>(
    incoming: Incoming,
    operation: Operation<P>,
    work: PublicWork<P>,
  ): Response | Promise<Response> {
    const begun = { kind: 'public', route: operation.id, startedMs: performance.now() } as const;
    const taken = deps.limiters.public.take(addressOf(incoming));
    const response =
      taken instanceof Promise
        ? taken.then((verdict) => runPublic(verdict, incoming, operation, work))
        : runPublic(taken, incoming, operation, work);
    return response instanceof Promise
      ? response.then((settled) => recorded(incoming, begun, settled))
      : recorded(incoming, begun, response);
  }

  async function handleProtected<P extends Parameters>(
    incoming: Incoming,
    operation: ProtectedOperation<P>,
    work: ProtectedWork<P>,
    guests?: Guests<P>,
  ): Promise<Response> {
    const startedMs = performance.now();
    const { request } = incoming;
    const isGuest = guests?.isFor(request) && !readPresentedToken(request);
    const [kind, responding] =
      guests && isGuest
        ? (['public', runForGuest(incoming, operation, guests.work)] as const)
        : (['protected', runProtected(incoming, operation, { work, startedMs })] as const);
    return recorded(incoming, { kind, route: operation.id, startedMs }, await responding);
  }

  function runPublic<P extends Parameters>(
    verdict: RateLimitVerdict,
    incoming: Incoming,
    operation: Operation<P>,
    work: PublicWork<P>,
  ): Response | Promise<Response> {
    if (!verdict.isAllowed) return refuse('public', verdict);
    const { request } = incoming;
    const { cacheControl = PUBLIC_CACHE_CONTROL } = operation;
    try {
      const worked = work(parseParameters(operation, incoming));
      if (!(worked instanceof Promise))
        return respondFromCache(request, { body: worked, cacheControl }, verdict);
      // The work continues after the wait limit; without a handler its rejection would end the process.
      worked.catch(() => {});
      return limitWait(() => worked).then(
        (body) => respondFromCache(request, { body, cacheControl }, verdict),
        (error) => respondPublicError(error, request, verdict),
      );
    } catch (error) {
      return respondPublicError(error, request, verdict);
    }
  }

  const respondPublicError = (error: unknown, request: Request, verdict: RateLimitVerdict): Response =>
    respondError(
      toErrorResponse(error, request),
      commonHeaders('public', verdict, ERROR_CACHE_CONTROL.public),
    );

  /** Errors have the headers of the route's other errors: a guest's response is as private. */
  async function runForGuest<P extends Parameters>(
    incoming: Incoming,
    operation: ProtectedOperation<P>,
    work: Guests<P>['work'],
  ): Promise<Response> {
    const { request } = incoming;
    const address = addressOf(incoming);
    const verdict = await deps.limiters.public.take(address);
    const headers = commonHeaders('public', verdict, ERROR_CACHE_CONTROL.protected);
    if (!verdict.isAllowed) return respondError(tooManyRequests(verdict, deps.now()), headers);
    try {
      const given = parseParameters(operation, incoming);
      const response = work(given, { address, isHead: request.method === 'HEAD' });
      return respondProtected(request, response, verdict, { ...operation, policy: 'public' });
    } catch (error) {
      return respondError(withReset(toErrorResponse(error, request), deps.now()), headers);
    }
  }

  async function runProtected<P extends Parameters>(
    incoming: Incoming,
    operation: ProtectedOperation<P>,
    { work, startedMs }: { work: ProtectedWork<P>; startedMs: number },
  ): Promise<Response> {
    const { request } = incoming;
    const now = deps.now();
    const presented = readPresentedToken(request);
    const hash = hashPresentedToken(presented);
    const address = addressOf(incoming);
    const found = await lookUpToken(hash, { address, now });
    if (found.refusal) return refuse('protected', found.refusal);
    const key = found.token ? `user ${found.token.userId}` : `address ${address}`;
    const verdict = await deps.limiters.protected.take(key);
    if (!verdict.isAllowed) return refuse('protected', verdict);
    try {
      if (found.failure) throw found.failure;
      if (!presented) throw TOKEN_REQUIRED.error();
      if (!found.token) throw TOKEN_INVALID.error();
      const { token } = found;
      if (operation.scope) requireScope(token, operation.scope);
      const given = parseParameters(operation, incoming);
      const isHead = request.method === 'HEAD';
      const begin = () => work(given, { token, now, isHead, sinceMs: startedMs });
      const response = await (operation.hasOwnTimeLimit ? begin() : limitWait(begin, { sinceMs: startedMs }));
      return respondProtected(request, response, verdict, operation);
    } catch (error) {
      const headers = commonHeaders('protected', verdict, ERROR_CACHE_CONTROL.protected);
      return respondError(withReset(toErrorResponse(error, request), now), headers);
    }
  }

  /** Looks up a token. One that is not cached may be made up: then its address pays for the lookup. */
  async function lookUpToken(hash: string | undefined, { address, now }: { address: string; now: Date }) {
    if (hash === undefined) return {};
    if (deps.tokens.isCached(hash)) return findToken(hash, now);
    const key = `lookup ${address}`;
    const pending = pendingLookups.get(address) ?? new Map<string, PendingLookup>();
    const known = pending.get(hash);
    const lookup = known ?? { others: pending.size, waiting: 0, verdict: deps.limiters.protected.check(key) };
    pendingLookups.set(address, pending.set(hash, lookup));
    lookup.waiting += 1;
    try {
      const verdict = await lookup.verdict;
      if (verdict.remaining <= lookup.others) {
        return { refusal: { ...verdict, isAllowed: false, remaining: 0 } };
      }
      const found = await findToken(hash, now);
      if (!known && !found.token && !found.failure) await deps.limiters.protected.take(key);
      return found;
    } finally {
      lookup.waiting -= 1;
      if (lookup.waiting === 0) pending.delete(hash);
      if (pending.size === 0) pendingLookups.delete(address);
    }
  }

  async function findToken(hash: string, now: Date): Promise<TokenLookup> {
    try {
      return { token: await limitWait(() => deps.tokens.find(hash, now)) };
    } catch (failure) {
      return { failure };
    }
  }

  function refuse(policy: Policy, verdict: RateLimitVerdict): Response {
    const headers = commonHeaders(policy, verdict, ERROR_CACHE_CONTROL[policy]);
    return respondError(tooManyRequests(verdict, deps.now()), headers);
  }

  return { handlePublic, handleProtected };
}

type PendingLookup = {
  /** How many other tokens of the address were being looked up, each of which may turn out to be made up. */
  others: number;
  /** How many requests wait for it. */
  waiting: number;
  verdict: RateLimitVerdict | Promise<RateLimitVerdict>;
};
/** `refusal`: the address has used up its lookups. */
type TokenLookup = { token?: ApiToken | undefined; failure?: unknown; refusal?: RateLimitVerdict };

/** @throws {Forbidden} when the token lacks the scope. */
export function requireScope(token: Pick<ApiToken, 'scopes'>, scope: TokenScope): void {
  if (!token.scopes.includes(scope)) throw scopeMissing(scope).error();
}
