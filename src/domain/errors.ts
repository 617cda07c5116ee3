/**
 * The errors a caller can react to, one class per reaction; no HTTP status, no embed.
 * Each transport maps them in one place: `api/http/error-handler.ts`, `bot/failure-notice.ts`, `src/cli.ts`.
 */
export abstract class DomainError extends Error {}

/** The caller gave a value that is not allowed; the message names it and says what is. */
export class InvalidInput extends DomainError {
  override name = 'InvalidInput';
}

/** The caller has not shown who it is. */
export class Unauthorized extends DomainError {
  override name = 'Unauthorized';
}

/** The caller has shown something, and it is not or no longer good. */
export class InvalidToken extends Unauthorized {
  override name = 'InvalidToken';
}

/** The caller is known, and may not do this. */
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

/** The thing named does not exist. */
export class NotFound extends DomainError {
  override name = 'NotFound';
}

/** The caller has used up what it may; the message says how much that is. */
export class LimitReached extends DomainError {
  override name = 'LimitReached';

  constructor(
    message: string,
    /** After how long trying again makes sense. */
    readonly retryAfterSeconds: number,
  ) {
    super(message);
  }
}

/** The position that the caller resumes from is no longer kept; they have to start over. */
export class Gone extends DomainError {
  override name = 'Gone';
}

/** The request contradicts what is there (a slug in use, an account linked elsewhere). */
export class Conflict extends DomainError {
  override name = 'Conflict';
}

/** A part this needs (the database, Discord, ffmpeg) is out of reach now; trying again later may work. */
export class Unavailable extends DomainError {
  override name = 'Unavailable';
}
