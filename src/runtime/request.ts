import { AsyncLocalStorage } from 'node:async_hooks';

/** The owner and the deadline of statements. Never changed: another owner or deadline makes another request. */
export type RequestContext = Readonly<{
  /** Connections are shared fairly among owners: the user of a token or session, or an address until it is identified. */
  owner: string;
  /** The deadline, by `performance.now()`: no statement begins after it, and no read is waited for. */
  deadlineMs: number;
  /** The HTTP request. Once its client has left, nothing more begins. */
  client?: { readonly signal: AbortSignal } | undefined;
  /** Its statements may read many rows, and use separate connections. */
  isExpensive?: boolean;
  isInTransaction?: boolean;
}>;

/** How long a request waits for the database in all. */
export const REQUEST_LIMIT_MS = 4000;

/** Work that no client waits for. */
export const BACKGROUND: RequestContext = { owner: '', deadlineMs: Number.POSITIVE_INFINITY };

/** The client closed its connection: nobody reads the response. */
export class ClientLeft extends Error {
  override name = 'ClientLeft';
}

const requests = new AsyncLocalStorage<RequestContext>();

type Options = {
  limitMs?: number | undefined;
  /** When it arrived, by `performance.now()`. */
  sinceMs?: number;
  client?: RequestContext['client'];
};

/** Runs work as a request that begins when it arrived. Also for work that several requests wait for. */
export function asRequest<T>(
  owner: string,
  work: () => T,
  { limitMs = REQUEST_LIMIT_MS, sinceMs = performance.now(), client }: Options = {},
): T {
  return requests.run({ owner, deadlineMs: sinceMs + limitMs, client }, work);
}

/** The request that the caller is part of; undefined in the background. */
export function tryCurrentRequest(): RequestContext | undefined {
  return requests.getStore();
}

/** The request that the caller is part of. @throws {Error} in the background. */
export function currentRequest(): RequestContext {
  const request = requests.getStore();
  if (!request) throw new Error('outside of a request: use the handle of the background, or asRequest');
  return request;
}

/** Runs work as part of another request; undefined: in the background. */
export function runAs<T>(request: RequestContext | undefined, work: () => T): T {
  return request ? requests.run(request, work) : requests.exit(work);
}

/** Runs the rest of a request on behalf of the identified owner. */
export function asOwner<T>(owner: string, work: () => T): T {
  return requests.run({ ...currentRequest(), owner }, work);
}

/** Runs the rest of a request after a wait for something other than the database, such as an upload, Steam or Discord. */
export function withNewDeadline<T>(work: () => T): T {
  const request = requests.getStore();
  if (!request) return work();
  const deadlineMs = Math.max(request.deadlineMs, performance.now() + REQUEST_LIMIT_MS);
  return requests.run({ ...request, deadlineMs }, work);
}
