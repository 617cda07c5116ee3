/** Why a game server gave no usable response. */
const QUERY_FAILURE_REASONS = [
  'time-out',
  /** The response is not A2S, or incomplete. */
  'malformed',
  /** The server has no map and no slots: it is starting, or is not a game server. */
  'no-game',
  'banned-by-server',
  /** No process listens on the port. */
  'refused',
  'unreachable',
  'host-unknown',
  /** The query was aborted. */
  'aborted',
] as const;
export type QueryFailureReason = (typeof QUERY_FAILURE_REASONS)[number];

/** Thrown inside a query; `queryGameServer` turns it into a value. */
export class QueryFailure extends Error {
  override name = 'QueryFailure';

  constructor(
    readonly reason: QueryFailureReason,
    options?: ErrorOptions,
  ) {
    super(`game server query failed: ${reason}`, options);
  }
}
