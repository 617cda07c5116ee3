/**
 * The errors a caller can react to, one class per reaction; no HTTP status, no embed.
 * Each transport maps them in one place: `api/error-handler.ts`, `bot/failure-notice.ts`, `src/cli.ts`.
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

/** The caller is known, and may not do this. */
export class Forbidden extends DomainError {
  override name = 'Forbidden';
}

/** The thing named does not exist. */
export class NotFound extends DomainError {
  override name = 'NotFound';
}

/** The request contradicts what is there (a slug in use, an account linked elsewhere). */
export class Conflict extends DomainError {
  override name = 'Conflict';
}

/** A part this needs (the database, Discord, ffmpeg) is out of reach now; trying again later may work. */
export class Unavailable extends DomainError {
  override name = 'Unavailable';
}
