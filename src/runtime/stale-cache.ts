import { LRUCache } from 'lru-cache';
import { asRequest } from './request.ts';

/** A cache that loads each key once at a time, for all who ask and in no one's name, and serves the last value for a while when loading fails. */
type StaleCache<T> = { get: (key: string, load: () => Promise<T>) => Promise<T> };

/**
 * @param freshMs how long a value is served without loading it again.
 * @param staleMs how long after loading a value may still be served when it cannot be loaded again.
 * @param maxEntries how many keys are kept; beyond them the one that was not requested for the longest time is dropped.
 * @param clockMs a monotonic clock, in milliseconds.
 * @param onLookup called with whether a fresh value was cached.
 */
export function createStaleCache<T>({
  freshMs,
  staleMs,
  maxEntries,
  clockMs = () => performance.now(),
  onLookup = () => {},
}: {
  freshMs: number;
  staleMs: number;
  maxEntries: number;
  clockMs?: () => number;
  onLookup?: ((isHit: boolean) => void) | undefined;
}): StaleCache<T> {
  const entries = new LRUCache<string, { loaded: T; atMs: number }, () => Promise<T>>({
    max: maxEntries,
    ttl: freshMs,
    ttlResolution: 0,
    perf: { now: clockMs },
    // Who waits for a value gets it, even if its entry was dropped meanwhile.
    ignoreFetchAbort: true,
    allowStaleOnFetchAbort: true,
    fetchMethod: async (_key, last, { context: load, options }) => {
      try {
        return { loaded: await asRequest('cache', load), atMs: clockMs() };
      } catch (error) {
        options.allowStaleOnFetchRejection = last !== undefined && clockMs() - last.atMs < staleMs;
        throw error;
      }
    },
  });
  return {
    get: async (key, load) => {
      onLookup(entries.has(key));
      return (await entries.forceFetch(key, { context: load })).loaded;
    },
  };
}
