import type { Logger } from 'pino';
import { isDatabaseOutage } from '../src/db/client.ts';
import { Conflict, Forbidden, InvalidInput, NotFound, Unauthorized, Unavailable } from '../src/errors.ts';

/** What a client is told of an error. */
export type ErrorAnswer = { status: number; message: string; headers?: Record<string, string> };

/** The path is known, and does not take this method: 405. Only HTTP knows methods, so it is no domain error. */
export class MethodNotAllowed extends Error {
  override name = 'MethodNotAllowed';

  constructor(readonly allowed: string) {
    super(`Method not allowed: use ${allowed}`);
  }
}

/** Seconds after which trying again makes sense: an outage is found and ended within two. */
const RETRY_AFTER = { 'Retry-After': '2' };

/** An outage fails every request: it is logged when it shows, and then this often. */
const OUTAGE_LOG_MS = 10_000;

export type ErrorMapper = (error: unknown) => ErrorAnswer;

/**
 * The one place where errors become HTTP. What is no expected failure is logged once, and its text stays here.
 * Contract section 3: 500 `Server error`; a database out of reach is 503 with Retry-After.
 */
export function createErrorMapper(
  log: Logger,
  { clockMs = () => performance.now() }: { clockMs?: () => number } = {},
): ErrorMapper {
  let quietUntilMs = Number.NEGATIVE_INFINITY;
  const logOutage = (error: unknown) => {
    if (clockMs() < quietUntilMs) return;
    quietUntilMs = clockMs() + OUTAGE_LOG_MS;
    log.warn({ err: error }, 'the database is out of reach');
  };
  return (error) => toErrorAnswer(error, { log, logOutage });
}

function toErrorAnswer(
  error: unknown,
  { log, logOutage }: { log: Logger; logOutage: (error: unknown) => void },
): ErrorAnswer {
  if (error instanceof MethodNotAllowed) {
    return { status: 405, message: error.message, headers: { Allow: error.allowed } };
  }
  if (error instanceof InvalidInput) return { status: 400, message: error.message };
  if (error instanceof Unauthorized) {
    return { status: 401, message: error.message, headers: { 'WWW-Authenticate': 'Bearer' } };
  }
  if (error instanceof Forbidden) return { status: 403, message: error.message };
  if (error instanceof NotFound) return { status: 404, message: error.message };
  if (error instanceof Conflict) return { status: 409, message: error.message };
  if (error instanceof Unavailable) return { status: 503, message: error.message, headers: RETRY_AFTER };
  if (isDatabaseOutage(error)) {
    logOutage(error);
    return { status: 503, message: 'The database is out of reach: try again shortly', headers: RETRY_AFTER };
  }
  log.error({ err: error }, 'a request failed');
  return { status: 500, message: 'Server error' };
}
