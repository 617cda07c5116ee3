import type { Logger } from 'pino';
import { isDatabaseOutage } from '../../src/db/client.ts';
import {
  Conflict,
  Forbidden,
  Gone,
  InvalidInput,
  InvalidToken,
  LimitReached,
  NotFound,
  Unauthorized,
  Unavailable,
} from '../../src/domain/errors.ts';
import { requestIdOf } from './request-id.ts';

/** An error as it is sent to the client. */
export type ErrorResponse = { status: number; message: string; headers?: Record<string, string> };

/** The path exists, but not for this method: 405. No domain error, since only HTTP has methods. */
export class MethodNotAllowed extends Error {
  override name = 'MethodNotAllowed';

  constructor(readonly allowed: string) {
    super(`Method not allowed: use ${allowed}`);
  }
}

/** In seconds: both the start and the end of an outage are detected within two. */
const RETRY_AFTER = { 'Retry-After': '2' };

/** Every request fails during an outage, so the outage is logged when it begins, then once per this interval. */
const OUTAGE_LOG_MS = 10_000;

const SERVER_ERROR: ErrorResponse = { status: 500, message: 'Server error' };
export const DATABASE_UNREACHABLE = 'The database is unreachable: try again shortly';
const OUTAGE: ErrorResponse = { status: 503, message: DATABASE_UNREACHABLE, headers: RETRY_AFTER };

/** @param request names the request in the log. */
type ErrorMapper = (error: unknown, request?: Request, now?: Date) => ErrorResponse;

/** Creates a {@link toErrorResponse} that also logs unexpected failures and database outages. */
export function createErrorMapper(
  log: Logger,
  { clockMs = () => performance.now() }: { clockMs?: () => number } = {},
): ErrorMapper {
  let quietUntilMs = Number.NEGATIVE_INFINITY;
  return (error, request, now) => {
    const response = toErrorResponse(error, now);
    const requestId = request && requestIdOf(request);
    if (response === SERVER_ERROR) log.error({ err: error, requestId }, 'a request failed');
    if (response === OUTAGE && clockMs() >= quietUntilMs) {
      quietUntilMs = clockMs() + OUTAGE_LOG_MS;
      log.warn({ err: error, requestId }, 'the database is unreachable');
    }
    return response;
  };
}

const STATUSES = [
  [InvalidInput, 400],
  [Unauthorized, 401],
  [Forbidden, 403],
  [NotFound, 404],
  [MethodNotAllowed, 405],
  [Conflict, 409],
  [Gone, 410],
  [LimitReached, 429],
  [Unavailable, 503],
] as const;

/**
 * The only place where errors become HTTP responses. The text of an unexpected error never leaves the process.
 * @param now from which `X-RateLimit-Reset` counts.
 */
export function toErrorResponse(error: unknown, now = new Date()): ErrorResponse {
  const [, status] = STATUSES.find(([kind]) => error instanceof kind) ?? [];
  if (status === undefined || !(error instanceof Error))
    return isDatabaseOutage(error) ? OUTAGE : SERVER_ERROR;
  const headers = headersOf(error, now);
  return { status, message: error.message, ...(headers && { headers }) };
}

function headersOf(error: Error, now: Date): Record<string, string> | undefined {
  if (error instanceof MethodNotAllowed) return { Allow: error.allowed };
  // RFC 6750 section 3.1: no error code when the request has no token.
  if (error instanceof InvalidToken) return { 'WWW-Authenticate': 'Bearer error="invalid_token"' };
  if (error instanceof Unauthorized) return { 'WWW-Authenticate': 'Bearer' };
  if (error instanceof Unavailable) return RETRY_AFTER;
  if (!(error instanceof LimitReached)) return undefined;
  const { retryAfterSeconds } = error;
  return {
    'Retry-After': String(retryAfterSeconds),
    'X-RateLimit-Reset': String(Math.ceil(now.getTime() / 1000) + retryAfterSeconds),
  };
}
