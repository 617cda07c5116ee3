import { hasErrorCode } from '../domain/error-causes.ts';

/** The transaction was rolled back in favour of another one. https://www.postgresql.org/docs/current/mvcc-serialization-failure-handling.html */
const VICTIM_CODES = new Set([
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
export async function retryVictim<T>(write: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await write();
    } catch (error) {
      if (attempt === ATTEMPTS || !hasErrorCode(error, VICTIM_CODES)) throw error;
      await Bun.sleep(PAUSE_MS * attempt * (1 + Math.random()));
    }
  }
}
