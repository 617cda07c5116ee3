import type { Logger } from 'pino';
import { backoffMs } from '../../src/runtime/backoff.ts';
import { isPostingForbidden } from './channel-messages.ts';

const MAX_BACKOFF_MS = 10 * 60_000;
/** After so many refusals in a row, permission is lost for good: some seven minutes, with a first pause of 30 seconds. */
const MAX_REFUSALS = 5;

/** How many feeds, live status messages or the like there are, and how they fare. */
export type PostingHealth = {
  total: number;
  /** How many of them post nothing, because Discord refused too often. */
  paused: number;
  /** How many posts and edits failed and are retried, and since when the first of them has failed. */
  behind: number;
  behindSince: Date | undefined;
};

/** Failed posts and edits, by key, and when to retry them. */
export type Attempts<Key> = {
  isBackingOff: (key: Key) => boolean;
  listBackingOff: () => Key[];
  succeeded: (key: Key) => void;
  /** Forgets the failures of something that is not to be tried any more. */
  forget: (key: Key) => void;
  /** Logs the first failure in a row. @returns whether Discord has refused permission too often. */
  failed: (key: Key, error: unknown) => { isForbidden: boolean };
  /** Forgets all failures, so that everything may be tried at once. */
  clear: () => void;
  /** Since when each failed post or edit that is still retried has failed. */
  listFailing: () => Date[];
};

type Options<Key> = {
  /** The pause after the first failure; it doubles after each further one, up to ten minutes. */
  firstMs: number;
  log: Logger;
  /** The name of the work in the log, such as `editing a message`. */
  name: string;
  /** The fields of the log. */
  describe: (key: Key) => object;
};

export function createAttempts<Key>({ firstMs, log, name, describe }: Options<Key>): Attempts<Key> {
  /** `notBeforeMs` is by `performance.now()`, since the system clock may be set back. */
  const failing = new Map<Key, { failures: number; refusals: number; notBeforeMs: number; since: Date }>();
  const isBackingOff = (key: Key) => performance.now() < (failing.get(key)?.notBeforeMs ?? 0);
  return {
    isBackingOff,
    listBackingOff: () => [...failing.keys()].filter(isBackingOff),
    succeeded: (key) => {
      if (failing.delete(key)) log.info(describe(key), `${name} works again`);
    },
    forget: (key) => void failing.delete(key),
    failed: (key, error) => {
      const previous = failing.get(key);
      const failures = (previous?.failures ?? 0) + 1;
      const refusals = isPostingForbidden(error) ? (previous?.refusals ?? 0) + 1 : 0;
      const notBeforeMs = performance.now() + backoffMs(failures, { firstMs, maxMs: MAX_BACKOFF_MS });
      failing.set(key, { failures, refusals, notBeforeMs, since: previous?.since ?? new Date() });
      if (failures === 1) log.warn({ err: error, ...describe(key) }, `${name} failed: retrying`);
      return { isForbidden: refusals >= MAX_REFUSALS };
    },
    clear: () => failing.clear(),
    listFailing: () => {
      // Others are not tried any more: their feed was stopped, or their message deleted.
      const triedSinceMs = performance.now() - MAX_BACKOFF_MS;
      return [...failing.values()].flatMap(({ notBeforeMs, since }) =>
        notBeforeMs > triedSinceMs ? [since] : [],
      );
    },
  };
}

/** The part of {@link PostingHealth} that attempts know. */
export function countFailing(
  ...attempts: readonly Pick<Attempts<never>, 'listFailing'>[]
): Pick<PostingHealth, 'behind' | 'behindSince'> {
  const times = attempts.flatMap(({ listFailing }) => listFailing());
  const [first] = times.toSorted((a, b) => a.getTime() - b.getTime());
  return { behind: times.length, behindSince: first };
}
