import { randomUUID } from 'node:crypto';

export const REQUEST_ID_HEADER = 'X-Request-Id';
/** Also safe in a log line and on a page. */
const CLIENT_ID = /^[A-Za-z0-9._-]{1,64}$/;

const ids = new WeakMap<Request, string>();

/** The id of a request, for its response and the log: the client's own `X-Request-Id`, or a random one. */
export function requestIdOf(request: Request): string {
  return ids.getOrInsertComputed(request, readOrCreateId);
}

/** The id for a response. It is not stored: storing one for each response would take a tenth of the time of a cached one. */
export function requestIdForResponse(request: Request): string {
  return ids.get(request) ?? readOrCreateId(request);
}

function readOrCreateId({ headers }: Request): string {
  const own = headers.get(REQUEST_ID_HEADER);
  return own !== null && CLIENT_ID.test(own) ? own : randomUUID();
}
