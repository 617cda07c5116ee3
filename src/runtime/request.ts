import { AsyncLocalStorage } from 'node:async_hooks';

/** On whose behalf statements run, and until when. */
export type Request = {
  /** The owner of the token, the user of the session, else the address. */
  owner: string;
  /** The deadline, by `performance.now()`: no statement begins after it, and none is waited for. */
  deadlineMs: number;
  isInTransaction?: boolean;
};

/** How long a request waits for the database in all. */
export const REQUEST_LIMIT_MS = 4000;

const requests = new AsyncLocalStorage<Request>();

/** Runs work that waits for the database as one request. @param options.sinceMs when it came in, by `performance.now()`. */
export function asRequest<T>(
  owner: string,
  work: () => T,
  { limitMs = REQUEST_LIMIT_MS, sinceMs = performance.now() }: { limitMs?: number; sinceMs?: number } = {},
): T {
  return requests.run({ owner, deadlineMs: sinceMs + limitMs }, work);
}

/** The request that asks; outside of any, each statement is one. */
export function currentRequest(): Request {
  return requests.getStore() ?? { owner: '', deadlineMs: performance.now() + REQUEST_LIMIT_MS };
}

/** Restarts the limit after a wait for something other than the database: an upload, Steam, Discord. */
export function restartDeadline(): void {
  const request = requests.getStore();
  if (request) request.deadlineMs = performance.now() + REQUEST_LIMIT_MS;
}
