/** Answers loaded once per key and time; when loading fails, what was loaded before still serves for a while. */
export type StaleCache<T> = { get: (key: string, load: () => Promise<T>) => Promise<T> };

type Entry<T> = { value?: { loaded: T; atMs: number }; loading?: Promise<T> };

/**
 * @param freshMs how long an answer is given without loading again.
 * @param staleMs how long after loading it may still stand in for one that fails.
 * @param maxEntries beyond which the oldest are dropped.
 */
export function createStaleCache<T>({
  freshMs,
  staleMs,
  maxEntries,
}: {
  freshMs: number;
  staleMs: number;
  maxEntries: number;
}): StaleCache<T> {
  const entries = new Map<string, Entry<T>>();

  async function load(entry: Entry<T>, loader: () => Promise<T>): Promise<T> {
    try {
      const loaded = await loader();
      entry.value = { loaded, atMs: Date.now() };
      return loaded;
    } catch (error) {
      if (entry.value && Date.now() - entry.value.atMs < staleMs) return entry.value.loaded;
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
      if (entry.value && Date.now() - entry.value.atMs < freshMs) return entry.value.loaded;
      entry.loading ??= load(entry, loader);
      return entry.loading;
    },
  };
}
