/**
 * The errors a caller can react to, one class per reaction; no HTTP status, no embed.
 * Each transport maps them in one place: `api/http/error-handler.ts`, `api/web/failure.tsx`,
 * `bot/interactions/dispatcher.ts`, `src/cli.ts`.
 */
export abstract class DomainError extends Error {}

/** The caller gave a value that is not allowed; the message names it and says what is. */
export class InvalidInput extends DomainError {
  override name = 'InvalidInput';
}

/** The caller sent no credentials. */
export class Unauthorized extends DomainError {
  override name = 'Unauthorized';
}

/** The caller sent credentials that are not, or no longer, valid. */
export class InvalidToken extends Unauthorized {
  override name = 'InvalidToken';
}

/** The caller is authenticated, but may not do this. */
export class Forbidden extends DomainError {
  override name = 'Forbidden';
}

/** An admin blocked this user; nothing can be done in their name. */
export class Blocked extends Forbidden {
  override name = 'Blocked';

  constructor(
    /** What the admin gave as the reason; may be empty. */
    readonly reason: string,
  ) {
    super(reason === '' ? 'This user is blocked' : `This user is blocked: ${reason}`);
  }
}

/** What the caller named does not exist. */
export class NotFound extends DomainError {
  override name = 'NotFound';
}

/** The caller has reached a limit; the message says which. */
export class LimitReached extends DomainError {
  override name = 'LimitReached';

  constructor(
    message: string,
    /** When another try can succeed. */
    readonly retryAfterSeconds: number,
  ) {
    super(message);
  }
}

/** The position that the caller resumes from is no longer kept; they have to start over. */
export class Gone extends DomainError {
  override name = 'Gone';
}

/** The request conflicts with stored data (a slug in use, an account linked elsewhere). */
export class Conflict extends DomainError {
  override name = 'Conflict';
}

/** Something this depends on (the database, Discord, ffmpeg) cannot be reached now; a later try may succeed. */
export class Unavailable extends DomainError {
  override name = 'Unavailable';
}
