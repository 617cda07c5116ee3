/** How long the bot waits for what, in milliseconds; tests shorten some. */
export const TIMINGS = {
  /** The pause after a failed login; it doubles after each further failure, up to `maxBackoffMs`. */
  firstBackoffMs: 1000,
  maxBackoffMs: 300_000,
  /** How long the library may try to resume a connection. */
  resumeWithinMs: 10_000,
  /** How long a login may take. */
  readyWithinMs: 30_000,
  /** The pause after a 429 of Discord without a usable duration. */
  unnamedLimitMs: 60_000,
  /** When a response that is not ready is deferred, after the receipt of its interaction; Discord waits 3000 ms. */
  deferAfterMs: 1500,
  /** Edits of one live status message are at least this far apart. */
  liveIntervalMs: 15_000,
  /** A live status message is edited this often even without changes: "Updated 3 hours ago" would look broken. */
  liveRefreshMs: 5 * 60_000,
  /** How often feeds check without a NOTIFY, and the shortest pause of a feed after a failure. */
  feedIntervalMs: 15_000,
  /** The least time between two channels for direct messages that the bot opens. */
  inboxIntervalMs: 1000,
  /** The pause of direct messages after Discord says that the bot opens their channels too fast. */
  inboxPauseMs: 10 * 60_000,
  /** How long a command waits for Discord to take a message of it. */
  postWithinMs: 45_000,
  /** The presence changes at most this often. */
  presenceIntervalMs: 60_000,
  /** How often to look for members whose turn it is, and the shortest pause after a failure. */
  roleIntervalMs: 5000,
  /** How often the roles of each linked member are read. */
  roleSweepMs: 3_600_000,
  /** How often to check that Discord still lists the commands. */
  commandCheckMs: 60_000,
  /** How often to check that the application is still private. */
  applicationCheckMs: 60_000,
  /** How long responses under way may take once the bot stops. */
  drainMs: 700,
};

export type Timings = typeof TIMINGS;
