import { Forbidden, InvalidToken, Unauthorized } from '../../src/domain/errors.ts';
import type { TokenScope } from '../../src/domain/rights/token-scope.ts';
import { DATABASE_UNREACHABLE, type ErrorResponse, SERVER_ERROR, toErrorResponse } from './error-handler.ts';
import { tooManyRequests } from './responses.ts';

/** One way in which a request fails, for the OpenAPI document. */
export type Failure = {
  /** The name of its example in the document. */
  name: string;
  description: string;
  /** What the client receives; where it varies, an example. */
  response: ErrorResponse;
};

/** A failure that a handler throws. */
export type ThrownFailure = Failure & { error: () => Error };

/** Describes an error that a handler throws as `failure.error()`. */
export function defineFailure(name: string, description: string, error: () => Error): ThrownFailure {
  return { name, description, error, response: toErrorResponse(error()) };
}

export const TOKEN_REQUIRED = defineFailure(
  'TokenRequired',
  'No token was given.',
  () => new Unauthorized('An API token is required'),
);
export const TOKEN_INVALID = defineFailure(
  'TokenInvalid',
  'The token is unknown, revoked or expired, or its owner is blocked.',
  () => new InvalidToken('The API token is invalid'),
);
/** The token lacks the scope. */
export function scopeMissing(scope: TokenScope): ThrownFailure {
  const error = () => new Forbidden(`This token lacks the scope "${scope}"`);
  return defineFailure(`ScopeMissing.${scope}`, `The token lacks the scope "${scope}".`, error);
}

export const TOO_MANY_REQUESTS: Failure = {
  name: 'TooManyRequests',
  description: 'The rate limit is exceeded.',
  response: tooManyRequests(
    { isAllowed: false, limit: 30, remaining: 0, resetSeconds: 12 },
    new Date('2026-11-21T10:00:00Z'),
  ),
};
export const INTERNAL_FAILURE: Failure = {
  name: 'ServerError',
  description: 'The service failed; see its log.',
  response: SERVER_ERROR,
};
export const DATABASE_OUTAGE: Failure = {
  name: 'DatabaseUnreachable',
  description: 'The database is unreachable.',
  response: DATABASE_UNREACHABLE,
};
