/** Why a poll brought no answer. */
const MISS_REASONS = [
  'time-out',
  /** Something came back that is no whole answer. */
  'malformed',
  /** An answer of a server without a map and without a place: it is starting, or no game. */
  'no-game',
  'banned-by-server',
  /** Nobody listens at the port. */
  'refused',
  'unreachable',
  'host-unknown',
  /** We stopped asking. */
  'aborted',
] as const;
export type MissReason = (typeof MISS_REASONS)[number];

/** Ends a query from within; `queryGameServer` turns it into a value. */
export class Missed extends Error {
  override name = 'Missed';

  constructor(
    readonly reason: MissReason,
    options?: ErrorOptions,
  ) {
    super(`no answer: ${reason}`, options);
  }
}
