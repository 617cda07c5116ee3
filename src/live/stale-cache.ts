/** A cache that loads each key once at a time and serves the last value for a while when loading fails. */
export type StaleCache<T> = { get: (key: string, load: () => Promise<T>) => Promise<T> };

type Entry<T> = { value?: { loaded: T; atMs: number }; loading?: Promise<T> };

/**
 * @param freshMs how long a value is served without loading it again.
 * @param staleMs how long after loading a value may still be served when it cannot be loaded again.
 * @param maxEntries how many keys are kept; beyond them the oldest is dropped.
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
  const entries = new Map<string, Entry<T>>();

  async function load(entry: Entry<T>, loader: () => Promise<T>): Promise<T> {
    try {
      const loaded = await loader();
      entry.value = { loaded, atMs: clockMs() };
      return loaded;
    } catch (error) {
      if (entry.value && clockMs() - entry.value.atMs < staleMs) return entry.value.loaded;
      throw error;
    } finally {
      delete entry.loading;
    }
  }

  return {
    get: async (key, loader) => {
      const entry = entries.get(key) ?? {};
      if (!entries.has(key)) {
        if (entries.size >= maxEntries) entries.delete(entries.keys().next().value ?? '');
        entries.set(key, entry);
      }
      const isFresh = entry.value !== undefined && clockMs() - entry.value.atMs < freshMs;
      onLookup(isFresh);
      if (entry.value && isFresh) return entry.value.loaded;
      entry.loading ??= load(entry, loader);
      return entry.loading;
    },
  };
}
