/** Why a poll was not answered. */
const MISS_REASONS = [
  'time-out',
  /** What came back is not a whole response. */
  'malformed',
  /** The server has no map and no slots: it is starting, or is no game server. */
  'no-game',
  'banned-by-server',
  /** Nobody listens at the port. */
  'refused',
  'unreachable',
  'host-unknown',
  /** The query was aborted. */
  'aborted',
] as const;
export type MissReason = (typeof MISS_REASONS)[number];

/** Thrown inside a query; `queryGameServer` turns it into a value. */
export class Missed extends Error {
  override name = 'Missed';

  constructor(
    readonly reason: MissReason,
    options?: ErrorOptions,
  ) {
    super(`poll missed: ${reason}`, options);
  }
}
