import { backoffMs } from '../../src/runtime/backoff.ts';
import { isPostingForbidden } from './channel-messages.ts';

const MAX_BACKOFF_MS = 10 * 60_000;
/** After so many refusals in a row, permission is lost for good: some seven minutes, with a first pause of 30 seconds. */
const MAX_REFUSALS = 5;

/** What has failed to be posted or edited, by key, and when to try again. */
export type Attempts<Key> = {
  isBackingOff: (key: Key) => boolean;
  succeeded: (key: Key) => void;
  /** @returns whether this is the first failure in a row, and whether Discord has refused permission too often. */
  failed: (key: Key, error: unknown) => { isFirst: boolean; isForbidden: boolean };
  /** Forgets all failures, so that everything may be tried at once. */
  clear: () => void;
};

/** @param options.firstMs the pause after the first failure; it doubles after each further one, up to ten minutes. */
export function createAttempts<Key>({ firstMs }: { firstMs: number }): Attempts<Key> {
  /** `notBeforeMs` is by `performance.now()`, since the system clock may be set back. */
  const failing = new Map<Key, { failures: number; refusals: number; notBeforeMs: number }>();
  return {
    isBackingOff: (key) => performance.now() < (failing.get(key)?.notBeforeMs ?? 0),
    succeeded: (key) => void failing.delete(key),
    failed: (key, error) => {
      const previous = failing.get(key);
      const failures = (previous?.failures ?? 0) + 1;
      const refusals = isPostingForbidden(error) ? (previous?.refusals ?? 0) + 1 : 0;
      const pauseMs = backoffMs(failures, { firstMs, maxMs: MAX_BACKOFF_MS });
      failing.set(key, { failures, refusals, notBeforeMs: performance.now() + pauseMs });
      return { isFirst: failures === 1, isForbidden: refusals >= MAX_REFUSALS };
    },
    clear: () => failing.clear(),
  };
}
