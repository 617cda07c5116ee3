/**
 * The numbers of our advisory locks, in one place so that no two rules share one. They hold in one database, between all
 * processes that use it.
 * @see https://www.postgresql.org/docs/current/explicit-locking.html#ADVISORY-LOCKS
 */
export const LOCKS = {
  /** Shared by the processes that use an embedded server; the last of them stops it. */
  embeddedServer: 727_001,
  /** Drizzle takes no lock of its own: two processes that start together would both migrate. */
  migration: 727_002,
  /** With the hash of a SteamID64: what happens to the published file of one player happens in order. */
  playerSound: 727_005,
  /** With the hash of a source's name: two imports of one source would undo each other's work. */
  importSource: 727_006,
  /** Processes that start together compare `OWNER_STEAMIDS` with the users one after another. */
  configuredOwners: 727_007,
  /**
   * Shared by what writes about people whose row in `users` it does not hold (imports, Steam's bans, own data); an
   * erasure holds it alone. Always the first lock of a transaction.
   */
  erasure: 727_009,
  /** Two demos that start together make one community. */
  demoCommunity: 727_008,
  /** Held for as long as a demo runs. */
  demo: 727_011,
} as const;

/** What one process at a time runs: the names of rows of `leases`. */
export const LEASES = ['poller', 'bot', 'mirror', 'webhooks', 'retention'] as const;

/**
 * Every writer of penalties takes it, hashed, before it touches a row: in the triggers that keep the tallies, and where
 * the tallies are recounted.
 */
export const PENALTY_TALLIES_LOCK = 'penalty_tallies';
