/**
 * The errors a caller can react to, one class per reaction; no HTTP status, no embed.
 * Each transport maps them in one place: `api/http/error-handler.ts`, `api/web/failure.tsx`,
 * `bot/interactions/dispatcher.ts`, `src/cli.ts`.
 */
export abstract class DomainError extends Error {
  override name = this.constructor.name;
}

/** The caller gave an invalid value; the message names it and says which are valid. */
export class InvalidInput extends DomainError {}

/** The caller sent no credentials. */
export class Unauthorized extends DomainError {}

/** The caller sent credentials that are not, or no longer, valid. */
export class InvalidToken extends Unauthorized {}

/** The caller is authenticated, but may not do this. */
export class Forbidden extends DomainError {}

/** An admin blocked this user; nothing can be done in their name. */
export class Blocked extends Forbidden {
  constructor(
    /** What the admin gave as the reason; may be empty. */
    readonly reason: string,
  ) {
    super(reason === '' ? 'This user is blocked' : `This user is blocked: ${reason}`);
  }
}

/** What the caller named does not exist. */
export class NotFound extends DomainError {}

/** The caller has reached a limit; the message says which. */
export class LimitReached extends DomainError {
  constructor(
    message: string,
    /** When another try can succeed. */
    readonly retryAfterSeconds: number,
  ) {
    super(message);
  }
}

/** The position that the caller resumes from is no longer kept; they have to start over. */
export class Gone extends DomainError {}

/** The request conflicts with stored data (a slug in use, an account linked elsewhere). */
export class Conflict extends DomainError {}

/** Something this depends on (the database, Discord, ffmpeg) cannot be reached now; a later try may succeed. */
export class Unavailable extends DomainError {}

/**
 * An error and its causes, the outermost first: drivers' errors arrive wrapped. Causes that are no `Error` are left out,
 * and a circular chain ends where it repeats.
 */
export function errorCauses(error: unknown): Error[] {
  const causes: Error[] = [];
  let cause = error;
  while (cause instanceof Error && !causes.includes(cause)) {
    causes.push(cause);
    cause = cause.cause;
  }
  return causes;
}

/** The `code` that drivers and Node.js set on errors; empty when there is none. */
export function errorCode(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : '';
}

/** Whether the error, or one of its causes, has one of these codes. */
export function hasErrorCode(error: unknown, codes: Iterable<string>): boolean {
  const codeSet = new Set(codes);
  return errorCauses(error).some((cause) => codeSet.has(errorCode(cause)));
}
