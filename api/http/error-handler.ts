import type { Logger } from 'pino';
import { DatabaseBusy, databaseTroubleOf } from '../../src/db/client.ts';
import {
  Conflict,
  errorCauses,
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

/** During an outage every request fails: it is logged when it begins, then once per this interval. */
const TROUBLE_LOG_MS = 10_000;

/** A status for the metrics only, as in nginx: the client has disconnected. */
const CLIENT_LEFT: ErrorResponse = { status: 499, message: 'Client closed the request' };
const SERVER_ERROR: ErrorResponse = { status: 500, message: 'Server error' };
export const DATABASE_UNREACHABLE = 'The database is unreachable: try again shortly';
const SERVICE_BUSY = 'The service is busy: try again shortly';
const TROUBLES = {
  unreachable: { status: 503, message: DATABASE_UNREACHABLE, headers: RETRY_AFTER },
  busy: { status: 503, message: SERVICE_BUSY, headers: RETRY_AFTER },
} as const;

/** Logs that the database is unreachable, or busy and with what. @param request names the request in the log. */
export type LogTrouble = (error: unknown, request?: Request) => void;

/** Creates the {@link LogTrouble} that API and pages share. */
export function createTroubleLog(
  log: Logger,
  { clockMs = () => performance.now() }: { clockMs?: () => number } = {},
): LogTrouble {
  const loggedAtMs = { unreachable: Number.NEGATIVE_INFINITY, busy: Number.NEGATIVE_INFINITY };
  return (error, request) => {
    const trouble = databaseTroubleOf(error);
    if (!trouble || clockMs() - loggedAtMs[trouble] < TROUBLE_LOG_MS) return;
    loggedAtMs[trouble] = clockMs();
    const requestId = request && requestIdOf(request);
    const busy = errorCauses(error).find((cause) => cause instanceof DatabaseBusy);
    log.warn(busy ? { ...busy.load, requestId } : { err: error, requestId }, `the database is ${trouble}`);
  };
}

/** @param request names the request in the log. */
export type ErrorMapper = (error: unknown, request?: Request, now?: Date) => ErrorResponse;

/** Creates a {@link toErrorResponse} that also logs unexpected failures and database trouble. */
export function createErrorMapper(log: Logger, logTrouble = createTroubleLog(log)): ErrorMapper {
  return (error, request, now) => {
    if (request?.signal.aborted) return CLIENT_LEFT;
    const response = toErrorResponse(error, now);
    const requestId = request && requestIdOf(request);
    if (response === SERVER_ERROR) log.error({ err: error, requestId }, 'a request failed');
    logTrouble(error, request);
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
  if (status === undefined || !(error instanceof Error)) {
    const trouble = databaseTroubleOf(error);
    return trouble ? TROUBLES[trouble] : SERVER_ERROR;
  }
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
