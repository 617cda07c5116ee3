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

export const SERVER_ERROR: ErrorResponse = { status: 500, message: 'Server error' };
export const DATABASE_UNREACHABLE: ErrorResponse = {
  status: 503,
  message: 'The database is unreachable: try again shortly',
  headers: RETRY_AFTER,
};

/** @param request names the request in the log. */
export type ErrorMapper = (error: unknown, request?: Request) => ErrorResponse;

/** Creates a {@link toErrorResponse} that also logs unexpected failures and database outages. */
export function createErrorMapper(
  log: Logger,
  { clockMs = () => performance.now() }: { clockMs?: () => number } = {},
): ErrorMapper {
  let quietUntilMs = Number.NEGATIVE_INFINITY;
  return (error, request) => {
    const response = toErrorResponse(error);
    const requestId = request && requestIdOf(request);
    if (response === SERVER_ERROR) log.error({ err: error, requestId }, 'a request failed');
    if (response === DATABASE_UNREACHABLE && clockMs() >= quietUntilMs) {
      quietUntilMs = clockMs() + OUTAGE_LOG_MS;
      log.warn({ err: error, requestId }, 'the database is unreachable');
    }
    return response;
  };
}

/** The only place where errors become HTTP responses. The text of an unexpected error never leaves the process. */
export function toErrorResponse(error: unknown): ErrorResponse {
  if (error instanceof MethodNotAllowed) {
    return { status: 405, message: error.message, headers: { Allow: error.allowed } };
  }
  if (error instanceof InvalidInput) return { status: 400, message: error.message };
  if (error instanceof Unauthorized) {
    // RFC 6750 section 3.1: no error code when the request has no token.
    const challenge = error instanceof InvalidToken ? 'Bearer error="invalid_token"' : 'Bearer';
    return { status: 401, message: error.message, headers: { 'WWW-Authenticate': challenge } };
  }
  if (error instanceof Forbidden) return { status: 403, message: error.message };
  if (error instanceof NotFound) return { status: 404, message: error.message };
  if (error instanceof Conflict) return { status: 409, message: error.message };
  if (error instanceof Gone) return { status: 410, message: error.message };
  if (error instanceof LimitReached) {
    return {
      status: 429,
      message: error.message,
      headers: { 'Retry-After': String(error.retryAfterSeconds) },
    };
  }
  if (error instanceof Unavailable) return { status: 503, message: error.message, headers: RETRY_AFTER };
  return isDatabaseOutage(error) ? DATABASE_UNREACHABLE : SERVER_ERROR;
}
