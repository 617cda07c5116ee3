import { hasErrorCode } from '../domain/error-causes.ts';

/** The statement lost against another one and wrote nothing. https://www.postgresql.org/docs/current/mvcc-serialization-failure-handling.html */
const VICTIM_CODES = new Set([
  '40001', // serialization_failure
  '40P01', // deadlock_detected
]);

const ATTEMPTS = 5;
/** Pauses grow and differ, so that two writers do not meet again in step. */
const PAUSE_MS = 50;

/**
 * Runs a write again that PostgreSQL made the victim of a deadlock or a serialisation conflict, five times in all.
 * @param write one statement outside a transaction, or a whole transaction: each attempt begins from its start.
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
