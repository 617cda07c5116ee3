import { DatabaseBusy } from '../../src/db/client.ts';
import { Forbidden, InvalidToken, LimitReached, Unauthorized, Unavailable } from '../../src/domain/errors.ts';
import type { TokenScope } from '../../src/domain/rights/token-scope.ts';
import { DATABASE_UNREACHABLE, type ErrorResponse, toErrorResponse } from './error-handler.ts';

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
  return { name, description, error, response: toErrorResponse(error(), new Date('2026-11-21T10:00:00Z')) };
}

export const TOKEN_REQUIRED = defineFailure(
  'TokenRequired',
  'No token was given: create one on the account page, under API tokens.',
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

export const TOO_MANY_REQUESTS = defineFailure(
  'TooManyRequests',
  'The rate limit is exceeded: try again after the seconds in Retry-After.',
  () => new LimitReached('Too many requests', 12),
);
export const INTERNAL_FAILURE = defineFailure(
  'ServerError',
  'The service failed; see its log.',
  () => new Error(),
);
export const DATABASE_OUTAGE = defineFailure(
  'DatabaseUnreachable',
  'The database is unreachable.',
  () => new Unavailable(DATABASE_UNREACHABLE),
);
export const DATABASE_BUSY = defineFailure(
  'ServiceBusy',
  "The database is overloaded, by the token's owner or by everybody.",
  () => new DatabaseBusy({ slow: [], waiting: 0 }),
);
