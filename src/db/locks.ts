import { hasErrorCode } from '../domain/errors.ts';
import { LOCKED_CODE, type Transaction, type Tx } from './client.ts';

/**
 * The numbers of advisory locks, in one place so that they are unique. They apply to all processes on one database.
 * @see https://www.postgresql.org/docs/current/explicit-locking.html#ADVISORY-LOCKS
 */
export const LOCKS = {
  /** Shared by the processes that use an embedded server; the last of them stops it. */
  embeddedServer: 727_001,
  /** Held while migrating: Drizzle takes no lock, so two processes that start together would both migrate. */
  migration: 727_002,
  /** With the hash of a SteamID64: serializes changes to the published files of one player. */
  playerSound: 727_005,
  /** With the hash of a source's name: one import of a source runs at a time. */
  importSource: 727_006,
  /** Held while the flags of a source are saved; shared by sign-ins and whatever else creates accounts (`0005_flags.sql`). */
  flags: 727_007,
  /**
   * Taken shared by whatever writes about people without locking their row in `users` (imports, Steam's bans, data
   * exports), exclusively by an erasure. Always the first lock of a transaction.
   */
  erasure: 727_009,
  /** Held while the demo creates its data: two demos that start together create it once. */
  demoCommunity: 727_008,
  /** With the hash of a Discord id: held while a notification is added, so that there are never more than allowed. */
  notifications: 727_015,
  /** Held while a webhook is added, so that there are never more than allowed. */
  newWebhook: 727_012,
  /** With the id of a user: their export of penalties. */
  penaltyExport: 727_014,
  /** Held while a demo runs. */
  demo: 727_011,
  /** With the hash of a part's name: held by the process that runs it. */
  leader: 727_013,
} as const;

/** As the triggers on penalties write it. */
const PENALTY_TALLIES = "'penalty_tallies'";

/**
 * Blocks all other writers of penalties until the transaction ends. The triggers on penalties take the same lock before a
 * row changes, so that writers change rows, tallies and events in one order.
 * @param tx with isolation level read committed: its next statement has to see what was committed while this one waited.
 */
export async function lockPenalties(tx: Tx | Pick<Transaction, 'unsafe'>): Promise<void> {
  const statement = `select pg_advisory_xact_lock(hashtext(${PENALTY_TALLIES}))`;
  await ('unsafe' in tx ? tx.unsafe(statement) : tx.execute(statement));
}

/** Fails the rest of a transaction when it waits for a lock for more than two seconds; see {@link hasWaitedForLock}. */
export async function limitLockWaits(tx: Tx): Promise<void> {
  await tx.execute("set local lock_timeout = '2s'");
}

/** Whether a statement failed because others held a lock for too long. */
export function hasWaitedForLock(error: unknown): boolean {
  return hasErrorCode(error, [LOCKED_CODE]);
}

/** The transaction was rolled back in favour of another one. https://www.postgresql.org/docs/current/mvcc-serialization-failure-handling.html */
const CONFLICT_CODES = new Set([
  '40001', // serialization_failure
  '40P01', // deadlock_detected
]);

const ATTEMPTS = 5;
/** Pauses grow and are random, so that two writers do not conflict again. */
const PAUSE_MS = 50;

/**
 * Repeats a write that PostgreSQL rolled back because of a deadlock or a serialization failure; five attempts in all.
 * @param write one statement outside a transaction, or a whole transaction.
 * @throws what the last attempt throws.
 */
export async function retryConflicts<T>(write: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await write();
    } catch (error) {
      if (attempt === ATTEMPTS || !hasErrorCode(error, CONFLICT_CODES)) throw error;
      await Bun.sleep(PAUSE_MS * attempt * (1 + Math.random()));
    }
  }
}
