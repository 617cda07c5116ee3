import { retryPauseMs } from '../../runtime/retry-pause.ts';

/** The longest pause. */
export const MAX_PAUSE_MS = 3_600_000;
const GROWING = { firstMs: 5000, maxMs: MAX_PAUSE_MS };
const RETRIED_FOR_MS = 24 * 3_600_000;

/**
 * How long to wait after a failed attempt: 5 seconds, then twice as long each time up to an hour, 24 hours in all. Downtime
 * of the service does not count.
 * @param failures how many attempts at the message have failed, at least 1.
 * @returns undefined when the message has been tried for long enough.
 */
export function pauseAfterFailureMs(failures: number): number | undefined {
  let waitedMs = 0;
  for (let failure = 1; failure < failures; failure++) waitedMs += retryPauseMs(failure, GROWING);
  const leftMs = RETRIED_FOR_MS - waitedMs;
  return leftMs > 0 ? Math.min(retryPauseMs(failures, GROWING), leftMs) : undefined;
}
